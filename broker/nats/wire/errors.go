package wire

import "errors"

// What ends a connection. Answer has what its client is told.
var (
	// ErrUnknown: the bytes begin no command, or a payload is longer or shorter than its line said.
	ErrUnknown = errors.New("unknown protocol operation")
	// ErrArguments: a command is known, its arguments make no sense.
	ErrArguments = errors.New("malformed arguments")
	// ErrLineTooLong: a line is longer than Limits.Line.
	ErrLineTooLong = errors.New("control line too long")
	// ErrPayloadTooLarge: a payload is larger than Limits.Payload.
	ErrPayloadTooLarge = errors.New("payload too large")
	// ErrClientFailed: the client reported an error of its own.
	ErrClientFailed = errors.New("the client reported an error")
	// ErrConnectFirst: the first command is not CONNECT, although it has to be.
	ErrConnectFirst = errors.New("the first command is not CONNECT")
)

// Answer is the text of the -ERR line that nats-server answers such an error with; "" where it closes the connection
// without a word.
func Answer(err error) string {
	switch {
	case errors.Is(err, ErrUnknown):
		return "Unknown Protocol Operation"
	case errors.Is(err, ErrLineTooLong):
		return "maximum control line exceeded"
	case errors.Is(err, ErrPayloadTooLarge):
		return "Maximum Payload Violation"
	case errors.Is(err, ErrConnectFirst):
		return "Authorization Violation"
	}
	return ""
}
