package nats

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"brokerd/broker/nats/wire"
)

// connectOptions is what a client says of itself.
type connectOptions struct {
	Verbose      bool   `json:"verbose"`
	Pedantic     bool   `json:"pedantic"`
	User         string `json:"user"`
	Password     string `json:"pass"`
	Token        string `json:"auth_token"`
	NKey         string `json:"nkey"`
	Signature    string `json:"sig"`
	Name         string `json:"name"`
	Lang         string `json:"lang"`
	Version      string `json:"version"`
	Protocol     int    `json:"protocol"`
	Account      string `json:"account"`
	NewAccount   bool   `json:"new_account"`
	Echo         bool   `json:"echo"`
	Headers      bool   `json:"headers"`
	NoResponders bool   `json:"no_responders"`

	introduced bool // there was a CONNECT
}

// introduction is what holds for clients that did not say otherwise.
func introduction() connectOptions { return connectOptions{Verbose: true, Pedantic: true, Echo: true} }

var (
	errProtocolVersion = errors.New("nats: the client speaks a protocol that does not exist")
	errNeedsHeaders    = errors.New("nats: no_responders without headers")
)

// connect does CONNECT. A second one adds to what the first one said.
func (c *conn) connect(text []byte) error {
	o := introduction()
	if s := c.session.Load(); s != nil {
		o = s.options
	}
	if err := json.Unmarshal(text, &o); err != nil {
		return fmt.Errorf("nats: read CONNECT: %w", err)
	}
	o.introduced = true
	u, err := c.s.logins.login(&o, c.nonce)
	if err != nil || o.Account != "" || o.NewAccount {
		c.sayError("Authorization Violation")
		return errLogin
	}
	switch {
	case o.Protocol < 0 || o.Protocol > 1:
		c.sayError("invalid client protocol")
		return errProtocolVersion
	case o.NoResponders && !o.Headers:
		c.sayError("no responders requires headers support")
		return errNeedsHeaders
	}
	if c.in.ConnectFirst {
		c.in.ConnectFirst = false
		if err := c.nc.SetReadDeadline(time.Time{}); err != nil {
			return err
		}
		if c.accept.Err() != nil { // the deadline that ended the reading is gone now
			return errShutdown
		}
	}
	c.session.Store(&session{options: o, user: u})
	c.targets.forget()
	c.out.understandHeaders(o.Headers)
	c.ok(&o)
	return nil
}

// ok confirms a command, to clients that want that.
func (c *conn) ok(o *connectOptions) {
	if o.Verbose {
		c.say([]byte(wire.OKLine))
	}
}

// name is what the client calls itself; "" for a client that was not let in.
func (s *session) name() string {
	if s == nil {
		return ""
	}
	return s.options.Name
}

// client implements peer.
func (c *conn) client() clientInfo {
	host, _ := addressOf(c.remote)
	i := clientInfo{
		Start: &c.began, Host: host, ID: c.id, Account: account, RTT: c.pulse.roundTrip(), Server: c.s.who.name,
		Kind: "Client", Type: "nats",
	}
	if s := c.session.Load(); s != nil {
		i.User, i.Name, i.Lang, i.Version = s.user.label(), s.options.Name, s.options.Lang, s.options.Version
	}
	return i
}

// user implements peer.
func (c *conn) user() userInfo {
	s := c.session.Load()
	if s == nil {
		return infoOf(User{})
	}
	return infoOf(s.user.User)
}

// barred implements peer.
func (c *conn) barred() bool {
	s := c.session.Load()
	return s != nil && s.user.NoJetStream
}

// label is what the user is called.
func (u *user) label() string { return or(u.Name, u.NKey) }
