package broker

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"brokerd/log"
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

// whyUnhealthy names the logs that failed for good, one a line, if there are any.
func (h *health) whyUnhealthy() string {
	h.mu.Lock()
	topics := h.topics
	h.mu.Unlock()
	if topics == nil {
		return ""
	}
	var lines []string
	for _, t := range topics.List() {
		for _, p := range t.Partitions() {
			if err := p.Err(); err != nil && !errors.Is(err, topic.ErrNotFound) && !errors.Is(err, log.ErrClosed) {
				lines = append(lines, fmt.Sprintf("topic %s partition %d takes no records until the broker is started again: %v",
					t.Name(), p.Index(), err))
			}
		}
	}
	return strings.Join(lines, "\n")
}
