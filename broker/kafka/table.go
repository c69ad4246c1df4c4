package kafka

import "sync/atomic"

// api is one kind of request: its versions, and who handles it.
type api struct {
	key      int16
	name     string
	min, max int16 // served
	handle   handler

	count, failed, nanos atomic.Int64
}

// maxKey bounds the keys of the table.
const maxKey = 92

// table lists what this server speaks. It feeds dispatch and ApiVersions.
func table() []*api {
	return []*api{
		{key: 3, name: "Metadata", min: 0, max: 13, handle: (*Server).metadata},
		{key: keyApiVersions, name: "ApiVersions", min: 0, max: 4, handle: (*Server).apiVersions},
	}
}

// advertisedMin is the lowest version that ApiVersions names. librdkafka turns compression off unless Produce reaches
// down to 0, although it never sends it (KAFKA-18659).
func (a *api) advertisedMin() int16 {
	if a.key == keyProduce {
		return 0
	}
	return a.min
}
