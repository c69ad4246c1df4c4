package client

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrClosed says that the producer, group or reader was closed, or its connection was.
	ErrClosed = errors.New("client: closed")
	// ErrNoStream says that no stream has the subject of a message; it is stored nowhere.
	ErrNoStream = errors.New("client: no stream has the subject")
	// ErrUnknown says that a message was not acknowledged in time. It may be stored, or not: publishing it again with the
	// same Nats-Msg-Id header stores it once.
	ErrUnknown = errors.New("client: not known whether the message is stored")
	// ErrSettled says that a message was acknowledged, given back or discarded before.
	ErrSettled = errors.New("client: the message is settled")
)

// HeldError says that a producer's window had no room until the context was done, or until a message was given up. It wraps
// the context's error, or ErrUnknown.
type HeldError struct {
	By       string        // who holds the producer: the connection, a slow group that the broker names, or the broker
	Messages int           // on their way
	Bytes    int64         // of theirs
	Oldest   time.Duration // how long the oldest of them has been on its way
	err      error
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("client: held by %s, %d messages (%d bytes) on their way, the oldest for %s: %v",
		e.By, e.Messages, e.Bytes, e.Oldest.Round(time.Millisecond), e.err)
}

func (e *HeldError) Unwrap() error { return e.err }

// RefusedError says that the broker refused a message, which is not stored. The code is JetStream's, such as 10071 for an
// expected sequence that is not the last one, 10077 for a stream that is full and discards what is new.
type RefusedError struct {
	Subject string
	Stream  string // that refused it; "" if none did
	Code    int    // 0 if the message never left, because it is too large or its subject is none
	Reason  string
}

func (e *RefusedError) Error() string {
	where := ""
	if e.Stream != "" {
		where = " by stream " + e.Stream
	}
	return fmt.Sprintf("client: %s was refused%s: %s (%d)", e.Subject, where, e.Reason, e.Code)
}
