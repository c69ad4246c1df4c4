package route

import (
	"sync"

	"brokerd/topic/subject"
)

// Watchers wait for something to change about a subject. The zero value is ready.
type Watchers struct {
	mu      sync.Mutex
	waiting map[string]map[*watch]struct{} // guarded by mu: by literal subject
}

type watch struct{ ch chan<- struct{} }

// Watch sends to ch whenever Notify is called for a filter that matches the literal subject s, until cancel is called. It
// does not block: a ch that is full knows already.
func (w *Watchers) Watch(s string, ch chan<- struct{}) (cancel func()) {
	one := &watch{ch}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting == nil {
		w.waiting = map[string]map[*watch]struct{}{}
	}
	if w.waiting[s] == nil {
		w.waiting[s] = map[*watch]struct{}{}
	}
	w.waiting[s][one] = struct{}{}
	return func() { w.forget(s, one) }
}

func (w *Watchers) forget(s string, one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting[s], one)
	if len(w.waiting[s]) == 0 {
		delete(w.waiting, s)
	}
}

// Notify tells whoever watches a subject that filter matches.
func (w *Watchers) Notify(filter string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) == 0 {
		return
	}
	tell(w.waiting[filter])
	if subject.Literal(filter) {
		return
	}
	for s, all := range w.waiting {
		if s != filter && subject.Match(filter, s) {
			tell(all)
		}
	}
}

func tell(all map[*watch]struct{}) {
	for one := range all {
		select {
		case one.ch <- struct{}{}:
		default:
		}
	}
}
