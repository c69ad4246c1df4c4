package kafka

import (
	"sync/atomic"
	"time"
)

// Stats are counters, safe for concurrent use.
type Stats struct {
	Connections atomic.Int64 // open now
	Accepted    atomic.Int64 // since the start
	Refused     atomic.Int64 // closed because of what the client sent
	BytesIn     atomic.Int64 // request frames
	BytesOut    atomic.Int64 // answers
}

// Stats returns the server's counters.
func (s *Server) Stats() *Stats { return &s.stats }

// FetchSessions is the number of open fetch sessions.
func (s *Server) FetchSessions() int { return s.sessions.count() }

// RequestStats are the counters of one kind of request.
type RequestStats struct {
	Name   string        // as the protocol names it, such as "Produce"
	Count  int64         // answered
	Failed int64         // ended without an answer
	Time   time.Duration // sum, from the frame's arrival until its answer was sent
}

// Requests returns the counters of every kind of request served, in the order of the keys.
func (s *Server) Requests() []RequestStats {
	var all []RequestStats
	for _, a := range s.apis {
		if a != nil {
			all = append(all, RequestStats{a.name, a.count.Load(), a.failed.Load(), time.Duration(a.nanos.Load())})
		}
	}
	return all
}
