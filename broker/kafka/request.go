package kafka

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// request is one request on its way from the reader through its handler to the writer.
type request struct {
	conn        *conn
	api         *api
	version     int16
	correlation int32
	clientID    string       // as the client names itself; may be empty
	body        kmsg.Request // of the kind of the api's key
	arrived     time.Time
	accepting   context.Context // done when the server stops: answers that wait for something to happen end
	answer      answer
	cost        int64 // bytes in flight until the answer is sent
}

// decode reads the frame after key and version.
func (r *request) decode(frame []byte) error {
	r.body = kmsg.RequestForKey(r.api.key)
	r.body.SetVersion(r.version)
	body, err := r.decodeHeader(frame)
	if err != nil {
		return err
	}
	if r.api.key == keyProduce {
		if records, ok := recordBytes(body, r.version); !ok || int64(len(body))-records > maxDecoded {
			return refuse("a Produce request of version %d that is malformed or has too many parts", r.version)
		}
	}
	if err := r.body.ReadFrom(body); err != nil {
		return refuse("a malformed %s request of version %d: %v", r.api.name, r.version, err)
	}
	return nil
}

// decodeHeader reads what follows key and version: correlation id, client id and, in flexible versions, tags (request
// header v1 and v2; the client id is never compact). It returns the rest of b, the request's body.
func (r *request) decodeHeader(b []byte) ([]byte, error) {
	if len(b) < 6 {
		return nil, refuse("a %s header of %d bytes", r.api.name, len(b))
	}
	r.correlation = int32(binary.BigEndian.Uint32(b))
	n := int(int16(binary.BigEndian.Uint16(b[4:])))
	b = b[6:]
	if n > len(b) || n > maxClientID {
		return nil, refuse("a client id of %d bytes, %d are here", n, len(b))
	}
	if n > 0 {
		r.clientID = string(b[:n])
		b = b[n:]
	}
	if !r.body.IsFlexible() {
		return b, nil
	}
	w := walker{b: b, flexible: true, ok: true}
	if w.tags(); !w.ok {
		return nil, refuse("malformed tags in a request header")
	}
	return w.b, nil
}

// appendHeader starts a response frame in b: room for the size, the correlation id and, for flexible versions, an empty
// tag section. ApiVersions never has one, so that any client can read it (KIP-511).
func (r *request) appendHeader(b []byte) []byte {
	b = append(b, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(r.correlation))
	if r.api.key != keyApiVersions && r.body.IsFlexible() {
		b = append(b, 0)
	}
	return b
}

// finishFrame writes the size of a frame that is complete.
func finishFrame(b []byte) []byte {
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}
