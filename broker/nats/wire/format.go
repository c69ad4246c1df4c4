package wire

import "strconv"

// Lines without arguments.
const (
	OKLine   = "+OK\r\n"
	PingLine = "PING\r\n"
	PongLine = "PONG\r\n"
)

// AppendInfo appends INFO with its options in JSON.
func AppendInfo(b, options []byte) []byte {
	b = append(b, "INFO "...)
	b = append(b, options...)
	return append(b, "\r\n"...)
}

// AppendErr appends -ERR.
func AppendErr(b []byte, text string) []byte {
	b = append(b, "-ERR '"...)
	b = append(b, text...)
	return append(b, "'\r\n"...)
}

// AppendMsg appends the line before a message: MSG, or HMSG if it has a header block. What follows is the header block, the
// data, and CR LF.
func AppendMsg(b, subject, sid, reply []byte, header, data int) []byte {
	if header > 0 {
		b = append(b, 'H')
	}
	b = append(b, "MSG "...)
	b = append(b, subject...)
	b = append(b, ' ')
	b = append(b, sid...)
	b = append(b, ' ')
	if len(reply) > 0 {
		b = append(b, reply...)
		b = append(b, ' ')
	}
	if header > 0 {
		b = strconv.AppendInt(b, int64(header), 10)
		b = append(b, ' ')
	}
	b = strconv.AppendInt(b, int64(header+data), 10)
	return append(b, "\r\n"...)
}
