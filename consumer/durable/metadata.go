package durable

import "strconv"

// Keys of metadata that the broker writes, and nobody sets (ADR-44): the level of the API that the configuration needs,
// and on output the version and the level of the broker.
const (
	levelKey       = "_nats.req.level"
	versionKey     = "_nats.ver"
	brokerLevelKey = "_nats.level"
)

func stripMetadata(m map[string]string) {
	delete(m, levelKey)
	delete(m, versionKey)
	delete(m, brokerLevelKey)
}

// level is the level of JetStream's API that knows of everything in the configuration.
func (c *Config) level() int {
	if c.PauseUntil != nil && !c.PauseUntil.IsZero() || c.PriorityPolicy != PriorityNone {
		return 1
	}
	return 0
}

// stampLevel notes the level with the configuration, which has a copy of its metadata afterwards.
func (c *Config) stampLevel() {
	*c = c.clone()
	if c.Metadata == nil {
		c.Metadata = map[string]string{}
	}
	stripMetadata(c.Metadata)
	c.Metadata[levelKey] = strconv.Itoa(c.level())
}
