package stream

import "time"

// State is what a stream holds.
type State struct {
	Messages  uint64 // that can be read
	Bytes     uint64
	First     uint64 // sequence; Last+1 when there are no messages, 0 when there never were any
	FirstTime time.Time
	Last      uint64 // sequence of the last message, whether it is still there or not
	LastTime  time.Time
	Subjects  int // different ones
	Deleted   int // sequences between First and Last that hold nothing
}

// State counts what can be read now. Errors: those of reading the log while the index is made.
func (s *Stream) State() (State, error) { panic("stream: State") }

// Deleted lists the sequences between First and Last that hold nothing, at most max of them.
func (s *Stream) Deleted(max int) ([]uint64, error) { panic("stream: Deleted") }

// Subjects returns the number of messages of each subject that matches filter.
func (s *Stream) Subjects(filter string) (map[string]uint64, error) { panic("stream: Subjects") }

// Next is the sequence of the first readable message at or above from whose subject one of the filters matches; no filter
// matches all. False when there is none yet.
func (s *Stream) Next(from uint64, filters []string) (uint64, bool) { panic("stream: Next") }

// Pending counts the readable messages at or above from that the filters match.
func (s *Stream) Pending(from uint64, filters []string) uint64 { panic("stream: Pending") }

// LastPerSubject lists the sequence of the newest message, at or below upTo, of each subject that the filters match, in
// rising order.
func (s *Stream) LastPerSubject(filters []string, upTo uint64) []uint64 {
	panic("stream: LastPerSubject")
}

// AtTime is the sequence of the first message at or after t; State().Last+1 when there is none.
func (s *Stream) AtTime(t time.Time) (uint64, error) { panic("stream: AtTime") }

// Watch sends to ch (which has room for one value, without blocking) after every change of what can be read, a change of
// the configuration, and the deletion, until cancel is called.
func (s *Stream) Watch(ch chan<- struct{}) (cancel func()) { panic("stream: Watch") }
