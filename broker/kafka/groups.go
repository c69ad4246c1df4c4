package kafka

import (
	"bytes"
	"context"
	"net"

	"brokerd/consumer"
	"brokerd/topic"
)

// What the requests of consumer groups share.

// groupOperations is what a client may do with a group, as in operations.go.
const groupOperations = opRead | opDelete | opDescribe

// awaitMembers waits for what the other members of a group have to bring about. A member that waits while the broker
// stops is asked to look for its coordinator again, and will find it when the broker is back.
func awaitMembers[T any](ctx context.Context, r *request, wait consumer.Wait[T]) (T, int16) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.accepting, cancel)()
	v, err := wait(ctx)
	if err != nil && ctx.Err() != nil {
		return v, codeCoordinatorNotAvailable
	}
	return v, codeOf(err)
}

// name is the name of the topic that a request means. Whether there is a topic of a name that was given is not looked at.
func (f finder) name(name string, id topic.ID) (string, error) {
	if !f.byID {
		return name, nil
	}
	t, err := f.topic("", id)
	if err != nil {
		return "", err
	}
	return t.Name(), nil
}

// clientHost is the client's address in the form in which Kafka's tools show it.
func (r *request) clientHost() string {
	addr := r.conn.nc.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(addr); err == nil {
		addr = host
	}
	return "/" + addr
}

// text is a nullable string, "" for null.
func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// nullable is the reverse of text.
func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// owned copies bytes out of a request's frame.
func owned(b []byte) []byte { return bytes.Clone(b) }
