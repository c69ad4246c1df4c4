package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// group is the subject of the service itself; suites ask at ntf.DefaultGroup.
const group = "servers"

// names stands between the suites and the service, and gives each server a name of its own. The suites name a server that
// they want stopped by nothing else, and the service refuses a name that two servers have.
type names struct {
	conn *nats.Conn
	from string
	next atomic.Int64
}

// relay passes requests on until the connection closes.
func relay(url, from string) (*nats.Conn, error) {
	conn, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	n := &names{conn: conn, from: from}
	if _, err := conn.Subscribe(from+".>", func(m *nats.Msg) { go n.pass(m) }); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, conn.Flush()
}

func (n *names) pass(m *nats.Msg) {
	verb := strings.TrimPrefix(m.Subject, n.from)
	request := &nats.Msg{Subject: group + verb, Header: m.Header, Data: n.named(verb, m.Data)}
	answer, err := n.conn.RequestMsg(request, time.Minute)
	if err != nil {
		answer = &nats.Msg{Header: nats.Header{"Nats-Service-Error": {err.Error()}, "Nats-Service-Error-Code": {"500"}}}
	}
	_ = m.RespondMsg(&nats.Msg{Header: answer.Header, Data: answer.Data}) // the suite sees that none came
}

// named adds the name to a request for a server.
func (n *names) named(verb string, body []byte) []byte {
	if verb != ".create.server" {
		return body
	}
	var fields map[string]any
	if json.Unmarshal(body, &fields) != nil || fields["name"] != nil {
		return body
	}
	fields["name"] = fmt.Sprintf("server-%d", n.next.Add(1))
	named, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return named
}
