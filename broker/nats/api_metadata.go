package nats

import (
	"maps"
	"strconv"

	"brokerd/consumer/durable"
	"brokerd/topic/stream"
)

// Entries of the metadata of streams and consumers that say which version of the API they need, and which they have
// (ADR-44). They are told, and not stored: clients send back what they were told.
const (
	metaNeeds   = "_nats.req.level"
	metaVersion = "_nats.ver"
	metaHas     = "_nats.level"
)

// withoutVersions leaves those entries out.
func withoutVersions(metadata map[string]string) map[string]string {
	m := maps.Clone(metadata)
	for _, key := range []string{metaNeeds, metaVersion, metaHas} {
		delete(m, key)
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

func (a *api) withVersions(metadata map[string]string, needs int) map[string]string {
	m := make(map[string]string, len(metadata)+3)
	m[metaNeeds] = strconv.Itoa(needs)
	maps.Copy(m, metadata)
	m[metaVersion] = a.server.version
	m[metaHas] = strconv.Itoa(apiLevel)
	return m
}

// told is a stream's configuration as clients see it.
func (a *api) told(c stream.Config) stream.Config {
	c.Metadata = a.withVersions(c.Metadata, c.Level())
	return c
}

// toldConsumer is what clients see of a consumer, whose configuration has its level already.
func (a *api) toldConsumer(i durable.Info) durable.Info {
	i.Config.Metadata = a.withVersions(i.Config.Metadata, 0)
	return i
}
