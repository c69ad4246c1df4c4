package stream

import (
	"encoding/json"
	"maps"
)

// withoutVersions leaves out of metadata what the broker tells with it, and clients send back: which level of the API the
// configuration needs, and the version and level of the broker (ADR-44).
func withoutVersions(metadata map[string]string) map[string]string {
	m := maps.Clone(metadata)
	for _, key := range []string{"_nats.req.level", "_nats.ver", "_nats.level"} {
		delete(m, key)
	}
	if len(m) == 0 {
		return nil
	}
	return m
}

// Level is the lowest level of JetStream's API that knows of everything in the configuration (ADR-44).
func (c Config) Level() int {
	switch {
	case c.AllowBatched:
		return 4
	case c.AllowCounter, c.AllowAtomic, c.Schedules, c.PersistMode == PersistAsync:
		return 2
	case c.AllowTTL, c.MarkerTTL > 0:
		return 1
	}
	return 0
}

func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // nothing in a configuration cannot be encoded
	}
	return b
}
