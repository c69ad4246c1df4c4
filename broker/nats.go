package broker

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"time"

	"brokerd/broker/nats"
	"brokerd/topic/subject"
)

// nats checks the settings of the NATS listener but its address.
func (p problemSet) nats(c NATSConfig) {
	p.between("nats/max_payload", int64(c.MaxPayload), 1<<10, 64<<20)
	p.between("nats/max_control_line", int64(c.MaxControlLine), 512, 1<<20)
	p.between("nats/max_pending", int64(c.MaxPending), int64(c.MaxPayload), 4<<30)
	p.between("nats/max_connections", int64(c.MaxConnections), 0, 1<<20)
	p.between("nats/max_subscriptions", int64(c.MaxSubscriptions), 0, 1<<30)
	p.between("nats/in_flight", int64(c.InFlight), 64<<10, 1<<30)
	p.within("nats/ping_interval", c.PingInterval, 10*time.Millisecond, time.Hour)
	p.within("nats/write_deadline", c.WriteDeadline, 10*time.Millisecond, time.Hour)
	p.within("nats/auth/timeout", c.Auth.Timeout, 10*time.Millisecond, time.Hour)
	for key, word := range map[string]string{"server_name": c.ServerName, "domain": c.Domain} {
		p.require(!strings.ContainsAny(word, " \t\r\n.*>;"), "nats/"+key, "%q is no single word", word)
	}
	p.within("nats/tls/timeout", c.TLS.Timeout, time.Microsecond, time.Hour)
	p.require(c.TLS.Cert == "" || c.TLS.Key != "", "nats/tls/cert", "needs nats.tls.key")
	for key, set := range map[string]bool{"key": c.TLS.Key != "", "ca": c.TLS.CA != "", "handshake_first": c.TLS.HandshakeFirst} {
		p.require(c.TLS.Cert != "" || !set, "nats/tls/"+key, "needs nats.tls.cert")
	}
	p.require(!c.TLS.Verify || c.TLS.CA != "", "nats/tls/verify", "needs nats.tls.ca")
	known := map[string]bool{}
	for i, u := range c.Auth.Users {
		key := fmt.Sprintf("nats/auth/users[%d]", i)
		p.natsUser(key, u)
		name := u.User + u.NKey
		p.require(!known[name], key, "%q is there twice", name)
		known[name] = true
	}
	p.require(c.Auth.NoAuthUser == "" || known[c.Auth.NoAuthUser], "nats/auth/no_auth_user",
		"%q is none of nats.auth.users", c.Auth.NoAuthUser)
}

// natsUser checks one login.
func (p problemSet) natsUser(key string, u NATSUser) {
	p.require((u.User == "") != (u.NKey == ""), key, "wants either a user or an nkey")
	p.require(u.NKey == "" || u.Password == "", key, "an nkey has no password")
	for _, list := range [][]string{u.Publish.Allow, u.Publish.Deny, u.Subscribe.Allow, u.Subscribe.Deny} {
		for _, s := range list {
			name, _, _ := strings.Cut(s, " ") // a queue group may follow
			p.require(subject.Valid(name), key, "%q is no subject", s)
		}
	}
}

// load reads the files of the encryption; nil when there is none.
func (t NATSTLS) load() (*tls.Config, error) {
	if t.Cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
	if err != nil {
		return nil, fmt.Errorf("nats.tls.cert, nats.tls.key: %w", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if t.CA == "" {
		return c, nil
	}
	pem, err := os.ReadFile(t.CA)
	if err != nil {
		return nil, fmt.Errorf("nats.tls.ca: %w", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("nats.tls.ca: there is no certificate in %s", t.CA)
	}
	if t.Verify {
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// natsOptions are the settings of the NATS front door. Errors: those of the files that they name.
func (b *Broker) natsOptions() (nats.Options, error) {
	c := b.config.NATS
	encryption, err := c.TLS.load()
	if err != nil {
		return nats.Options{}, &ConfigError{Problems: []string{err.Error()}}
	}
	o := nats.Options{
		Logger:     b.logger,
		ServerName: c.ServerName,
		ServerID:   b.id.ClusterID,
		Domain:     c.Domain,
		Auth:       nats.Auth{Token: c.Auth.Token, NoAuth: c.Auth.NoAuthUser, Timeout: c.Auth.Timeout},
		TLS:        nats.TLS{Config: encryption, First: c.TLS.HandshakeFirst, Timeout: c.TLS.Timeout},
		Limits: nats.Limits{
			MaxPayload:       int32(c.MaxPayload),
			MaxControlLine:   int32(c.MaxControlLine),
			MaxPending:       int64(c.MaxPending),
			MaxSubscriptions: c.MaxSubscriptions,
			MaxConnections:   c.MaxConnections,
			InFlight:         int64(c.InFlight),
			Memory:           int64(b.config.Memory.Budget),
			PingInterval:     c.PingInterval,
			MaxPingsOut:      2,
			WriteDeadline:    c.WriteDeadline,
			Drain:            b.config.Shutdown.Drain,
		},
	}
	if o.ServerName == "" {
		o.ServerName = "brokerd-" + b.id.ClusterID
	}
	for _, u := range c.Auth.Users {
		o.Auth.Users = append(o.Auth.Users, nats.User{
			Name: u.User, Password: u.Password, NKey: u.NKey,
			Publish:   nats.Permission(u.Publish),
			Subscribe: nats.Permission(u.Subscribe),

			Respond:     u.Respond,
			NoJetStream: u.NoJetStream,
		})
	}
	return o, nil
}
