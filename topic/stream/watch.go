package stream

import "sync"

// watchers are the channels of those who watch a stream.
type watchers struct {
	mu  sync.Mutex
	all map[chan<- struct{}]int // guarded by mu: how often each was registered
}

// tell sends to all of them.
func (w *watchers) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ch := range w.all {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
}

func (w *watchers) add(ch chan<- struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all == nil {
		w.all = make(map[chan<- struct{}]int)
	}
	w.all[ch]++
}

func (w *watchers) remove(ch chan<- struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all[ch]--; w.all[ch] <= 0 {
		delete(w.all, ch)
	}
}

// Watch sends to ch (which has room for one value, without blocking) after every change of what can be read, a change of
// the configuration, and the deletion, until cancel is called.
func (s *Stream) Watch(ch chan<- struct{}) (cancel func()) {
	s.watchers.add(ch)
	stop := func() {}
	if s.part != nil {
		stop = s.part.Watch(ch)
	}
	return func() {
		stop()
		s.watchers.remove(ch)
	}
}
