package broker

import "sync"

// health is what the broker says about itself. Each of its reasons is a sentence for people; the empty one means well.
type health struct {
	mu       sync.Mutex
	notReady string
}

func newHealth() *health { return &health{notReady: "starting"} }

// setNotReady says why requests are not served now; "" says that they are.
func (h *health) setNotReady(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notReady = reason
}

func (h *health) whyNotReady() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notReady
}
