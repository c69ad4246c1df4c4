package nats

import (
	"crypto/tls"
	"encoding/json"
	"net"
	"runtime"
	"strconv"
)

// serverGreeting is the options of INFO.
type serverGreeting struct {
	ID         string `json:"server_id"`
	Name       string `json:"server_name"`
	Version    string `json:"version"`
	Proto      int    `json:"proto"`
	GoVersion  string `json:"go"`
	Host       string `json:"host"`
	Port       int    `json:"port"`
	Headers    bool   `json:"headers"`
	MaxPayload int32  `json:"max_payload"`
	JetStream  bool   `json:"jetstream,omitempty"`
	Level      int    `json:"api_lvl,omitempty"`
	Domain     string `json:"domain,omitempty"`
	ClientID   uint64 `json:"client_id"`
	ClientIP   string `json:"client_ip"`
	Auth       bool   `json:"auth_required,omitempty"`
	Nonce      string `json:"nonce,omitempty"`
	TLS        bool   `json:"tls_required,omitempty"`
	TLSVerify  bool   `json:"tls_verify,omitempty"`

	Connected bool   `json:"connect_info,omitempty"`
	Account   string `json:"remote_account,omitempty"`
}

// info is the options of INFO for this client; connected says that it has logged in.
func (c *conn) info(connected bool) []byte {
	host, port := addressOf(c.local)
	ip, _ := addressOf(c.remote)
	g := serverGreeting{
		ID: c.s.who.id, Name: c.s.who.name, Version: c.s.who.version, Proto: 1, GoVersion: runtime.Version(),
		Host: host, Port: port, Headers: true, MaxPayload: c.s.o.Limits.MaxPayload,
		ClientID: c.id, ClientIP: ip, Auth: c.s.logins.required(), Nonce: c.nonce, Connected: connected,
	}
	if t := c.s.o.TLS.Config; t != nil {
		g.TLS, g.TLSVerify = true, t.ClientAuth == tls.RequireAndVerifyClientCert
	}
	if c.s.streams != nil {
		g.JetStream, g.Level, g.Domain = true, apiLevel, c.s.who.domain
	}
	if connected {
		g.Account = account
	}
	b, err := json.Marshal(g)
	if err != nil {
		panic("nats: INFO cannot be encoded: " + err.Error()) // it has only texts and numbers
	}
	return b
}

// addressOf splits an address; what is no host with a port is all host.
func addressOf(a net.Addr) (host string, port int) {
	host, text, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String(), 0
	}
	port, _ = strconv.Atoi(text) // a listener's port is a number
	return host, port
}
