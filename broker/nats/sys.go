package nats

import (
	"encoding/json"
	"strings"
	"time"
)

// systemPrefix is what requests about the server itself begin with. There is one account, so whoever may publish there is
// answered.
const systemPrefix = "$SYS.REQ."

// system answers requests about the server.
type system struct {
	door    door
	server  identity
	limits  Limits
	monitor monitor
	api     *api
}

// monitor is what the server counts of its connections.
type monitor interface {
	counts() counts
	connections() []connection // in the order of their ids
}

// counts is what all connections did since the start, and how many there are.
type counts struct {
	Start         time.Time
	Connections   int
	Total         uint64 // connections, with those that are gone
	Subscriptions int
	In, Out       traffic // from clients, to clients
	SlowConsumers int64   // connections that were closed because they did not read
}

// traffic is messages and their bytes.
type traffic struct {
	Messages int64 `json:"msgs"`
	Bytes    int64 `json:"bytes"`
}

// serverInfo says who answers.
type serverInfo struct {
	Name      string    `json:"name"`
	Host      string    `json:"host"`
	ID        string    `json:"id"`
	Version   string    `json:"ver"`
	JetStream bool      `json:"jetstream"`
	Flags     int       `json:"flags"`
	Sequence  uint64    `json:"seq"`
	Time      time.Time `json:"time"`
}

func (s *system) info() serverInfo {
	const jetStreamEnabled = 1
	i := serverInfo{Name: s.server.name, Host: s.server.host, ID: s.server.id, Version: s.server.version, Time: time.Now().UTC()}
	if s.api != nil {
		i.JetStream, i.Flags = true, jetStreamEnabled
	}
	return i
}

// systemAnswer is the answer to any of these requests.
type systemAnswer struct {
	Server serverInfo `json:"server"`
	Data   any        `json:"data,omitempty"`
}

// handler finds who answers a subject; nil when nobody does. The server may be called by its id, or by PING.
func (s *system) handler(subject string) func(*request) any {
	what, _ := strings.CutPrefix(subject, systemPrefix)
	if rest, ok := strings.CutPrefix(what, "SERVER."); ok {
		who, rest, _ := strings.Cut(rest, ".")
		if who != "PING" && who != s.server.id {
			return nil
		}
		what = "SERVER." + rest
	}
	switch what {
	case "USER.INFO":
		return s.userInfo
	case "ACCOUNT.PING.CONNZ", "SERVER.CONNZ":
		return s.connz
	case "ACCOUNT.PING.STATZ":
		return s.accountStatz
	case "SERVER.", "SERVER.STATSZ":
		return s.statsz
	case "SERVER.VARZ":
		return s.varz
	case "SERVER.HEALTHZ":
		return s.healthz
	case "SERVER.JSZ":
		return s.jsz
	case "SERVER.IDZ":
		return s.idz
	}
	return nil
}

// take answers a request; false when nobody does. It does not wait.
func (s *system) take(r *request) bool {
	answer := s.handler(r.subject)
	if answer == nil {
		return false
	}
	return r.from.enqueue(r, func() {
		body, err := json.Marshal(answer(r))
		if err == nil && r.reply != "" {
			s.door.Answer(r.reply, "", nil, body)
		}
	})
}

// wrap names the server in an answer.
func (s *system) wrap(data any) any { return systemAnswer{s.info(), data} }

func (s *system) userInfo(r *request) any { return s.wrap(r.from.peer.user()) }

// healthz has nothing to check: who is not well does not answer.
func (s *system) healthz(*request) any {
	return s.wrap(struct {
		Status string `json:"status"`
		Code   int    `json:"status_code"`
	}{"ok", 200})
}

func (s *system) idz(*request) any {
	return struct {
		Name string `json:"name"`
		Host string `json:"host"`
		ID   string `json:"id"`
	}{s.server.name, s.server.host, s.server.id}
}
