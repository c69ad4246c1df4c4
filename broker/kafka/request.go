package kafka

import (
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
	draining    <-chan struct{} // closed when the server stops: answers that wait for something to happen end
	answer      answer
	cost        int64 // bytes in flight until the answer is sent
}
