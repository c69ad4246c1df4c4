package main

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats-server/v2/conf"
)

// settings are the broker's, as far as a suite sets them; config.yaml explains each one.
type settings struct {
	Data  string   `json:"data"`
	Kafka listen   `json:"kafka"`
	HTTP  listen   `json:"http"`
	NATS  natsPart `json:"nats"`
	Log   logPart  `json:"log"`
}

type listen struct {
	Listen string `json:"listen"`
}

type logPart struct {
	Format string `json:"format"`
	Level  string `json:"level"`
}

type natsPart struct {
	Listen       string `json:"listen"`
	ServerName   string `json:"server_name,omitempty"`
	JetStream    *bool  `json:"jetstream,omitempty"`
	Domain       string `json:"domain,omitempty"`
	MaxPayload   int64  `json:"max_payload,omitempty"`
	MaxConns     int64  `json:"max_connections,omitempty"`
	MaxSubs      int64  `json:"max_subscriptions,omitempty"`
	PingInterval string `json:"ping_interval,omitempty"`
	Auth         auth   `json:"auth"`
	TLS          *tls   `json:"tls,omitempty"`
}

type tls struct {
	Cert           string `json:"cert,omitempty"`
	Key            string `json:"key,omitempty"`
	CA             string `json:"ca,omitempty"`
	Verify         bool   `json:"verify,omitempty"`
	HandshakeFirst bool   `json:"handshake_first,omitempty"`
	Timeout        string `json:"timeout,omitempty"`
}

type auth struct {
	Token      string `json:"token,omitempty"`
	Users      []user `json:"users,omitempty"`
	NoAuthUser string `json:"no_auth_user,omitempty"`
	Timeout    string `json:"timeout,omitempty"`
}

type user struct {
	User      string      `json:"user,omitempty"`
	Password  string      `json:"password,omitempty"`
	NKey      string      `json:"nkey,omitempty"`
	Publish   *permission `json:"publish,omitempty"`
	Subscribe *permission `json:"subscribe,omitempty"`

	NoJetStream bool `json:"no_jetstream,omitempty"`
}

type permission struct {
	Allow []string `json:"allow,omitempty"`
	Deny  []string `json:"deny,omitempty"`
}

// absent are the blocks of a configuration that ask for what a broker has not.
func absent() map[string]string {
	return map[string]string{
		"cluster": "clusters", "gateway": "gateways", "leafnodes": "leaf nodes", "leafnode": "leaf nodes",
		"websocket": "websocket", "mqtt": "MQTT",
		"trusted_keys": "JWT", "trusted": "JWT", "operator": "JWT", "resolver": "JWT", "resolver_preload": "JWT",
	}
}

// translate makes the broker's settings of a configuration of nats-server. What the broker does not have is an error, so
// that a test that needs it fails for that reason.
//
// port is taken where the configuration names none; 0 makes that an error.
func translate(path string, port int) (*settings, error) {
	parsed, err := conf.ParseFile(path)
	if err != nil {
		return nil, err
	}
	s := &settings{
		Kafka: listen{net.JoinHostPort(host, "0")},
		HTTP:  listen{net.JoinHostPort(host, "0")},
		Log:   logPart{Format: "json", Level: "debug"},
	}
	off := false
	s.NATS.JetStream = &off
	for _, key := range slices.Sorted(maps.Keys(parsed)) {
		if what, ok := absent()[strings.ToLower(key)]; ok {
			return nil, fmt.Errorf("the broker has no %s (%s)", what, key)
		}
		if err := s.NATS.set(strings.ToLower(key), parsed[key]); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	if s.NATS.Listen == "" && port > 0 {
		s.NATS.Listen = net.JoinHostPort(host, strconv.Itoa(port))
	}
	if s.NATS.Listen == "" {
		return nil, fmt.Errorf("the configuration names no port")
	}
	return s, nil
}

// set takes over one entry.
func (n *natsPart) set(key string, value any) error {
	switch key {
	case "port", "listen":
		n.Listen = net.JoinHostPort(host, portOf(value))
	case "server_name":
		n.ServerName = fmt.Sprint(value)
	case "max_payload":
		n.MaxPayload = number(value)
	case "max_connections", "max_conn":
		n.MaxConns = number(value)
	case "max_subscriptions", "max_subs":
		n.MaxSubs = number(value)
	case "no_auth_user":
		n.Auth.NoAuthUser = fmt.Sprint(value)
	case "ping_interval":
		n.PingInterval = seconds(value)
	case "jetstream":
		return n.setJetStream(value)
	case "tls":
		return n.setTLS(block(value))
	case "authorization":
		return n.setAuthorization(block(value))
	case "accounts":
		return n.setAccounts(block(value))
	case "system_account", "client_advertise", "host", "http", "http_port", "debug", "trace", "logtime", "log_file",
		"write_deadline", "lame_duck_duration", "lame_duck_grace_period":
	default:
		return fmt.Errorf("the broker has no such setting")
	}
	return nil
}

func (n *natsPart) setTLS(fields map[string]any) error {
	n.TLS = &tls{}
	for key, value := range fields {
		switch strings.ToLower(key) {
		case "cert_file":
			n.TLS.Cert = text(value)
		case "key_file":
			n.TLS.Key = text(value)
		case "ca_file":
			n.TLS.CA = text(value)
		case "verify":
			n.TLS.Verify = value == true
		case "handshake_first":
			n.TLS.HandshakeFirst = value == true
		case "timeout":
			n.TLS.Timeout = seconds(value)
		default:
			return fmt.Errorf("the broker has no setting tls.%s", key)
		}
	}
	return nil
}

func (n *natsPart) setJetStream(value any) error {
	on := true
	switch v := value.(type) {
	case bool:
		on = v
	case string:
		on = v == "enabled" || v == "true"
	case map[string]any:
		for key, value := range v {
			switch strings.ToLower(key) {
			case "enabled":
				on = value == true
			case "domain":
				n.Domain = fmt.Sprint(value)
			case "store_dir", "max_mem", "max_file", "max_memory_store", "max_file_store":
			default:
				return fmt.Errorf("the broker has no setting jetstream.%s", key)
			}
		}
	}
	n.JetStream = &on
	return nil
}

func (n *natsPart) setAuthorization(auth map[string]any) error {
	var single user
	for key, value := range auth {
		switch strings.ToLower(key) {
		case "user", "username":
			single.User = fmt.Sprint(value)
		case "pass", "password":
			single.Password = fmt.Sprint(value)
		case "token":
			n.Auth.Token = fmt.Sprint(value)
		case "timeout":
			n.Auth.Timeout = seconds(value)
		case "users":
			if err := n.addUsers(value, block(auth["default_permissions"])); err != nil {
				return err
			}
		case "default_permissions":
		default:
			return fmt.Errorf("the broker has no setting authorization.%s", key)
		}
	}
	if single.User != "" {
		n.Auth.Users = append(n.Auth.Users, single)
	}
	return nil
}

// setAccounts takes the users of all accounts; they share one space of subjects.
func (n *natsPart) setAccounts(accounts map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		first, jetStream := len(n.Auth.Users), false
		for key, value := range block(accounts[name]) {
			switch strings.ToLower(key) {
			case "users":
				if err := n.addUsers(value, nil); err != nil {
					return err
				}
			case "jetstream":
				if _, limits := value.(map[string]any); limits {
					return fmt.Errorf("the broker has no limits of accounts")
				}
				jetStream = value == true || value == "enabled" || value == "enable"
			default:
				return fmt.Errorf("the broker has no accounts with %s", key)
			}
		}
		for i := range n.Auth.Users[first:] {
			n.Auth.Users[first+i].NoJetStream = !jetStream
		}
	}
	return nil
}

func (n *natsPart) addUsers(value any, defaults map[string]any) error {
	list, _ := value.([]any)
	for _, item := range list {
		fields := block(item)
		u := user{
			User:     text(cmp.Or[any](fields["user"], fields["username"])),
			Password: text(cmp.Or[any](fields["pass"], fields["password"])),
			NKey:     text(fields["nkey"]),
		}
		permissions := block(fields["permissions"])
		if permissions == nil {
			permissions = defaults
		}
		for key, value := range permissions {
			switch strings.ToLower(key) {
			case "publish", "pub", "import":
				u.Publish = permissionOf(value)
			case "subscribe", "sub", "export":
				u.Subscribe = permissionOf(value)
			default:
				return fmt.Errorf("the broker has no permissions.%s", key)
			}
		}
		n.Auth.Users = append(n.Auth.Users, u)
	}
	return nil
}

func permissionOf(value any) *permission {
	if fields, ok := value.(map[string]any); ok {
		return &permission{Allow: list(fields["allow"]), Deny: list(fields["deny"])}
	}
	return &permission{Allow: list(value)}
}

func list(value any) []string {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, fmt.Sprint(item))
		}
		return all
	}
	return nil
}

func block(value any) map[string]any {
	m, _ := value.(map[string]any)
	return m
}

func text(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

func number(value any) int64 {
	n, _ := strconv.ParseInt(fmt.Sprint(value), 10, 64)
	return n
}

// portOf is the port of "host:port", or of a number.
func portOf(value any) string {
	s := fmt.Sprint(value)
	return s[strings.LastIndex(s, ":")+1:]
}

// seconds is a duration, which a number without a unit gives in seconds.
func seconds(value any) string {
	switch v := value.(type) {
	case int64:
		return fmt.Sprintf("%ds", v)
	case float64:
		return fmt.Sprintf("%gs", v)
	}
	return fmt.Sprint(value)
}
