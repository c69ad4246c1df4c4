package durable

import (
	"slices"

	"brokerd/topic/stream"
)

// startOf finds where a new consumer begins. Errors: those of reading the log.
func startOf(s *stream.Stream, c *Config) (start, error) {
	state, err := s.State()
	if err != nil {
		return start{}, err
	}
	filters := c.filters()
	from := state.First
	switch c.DeliverPolicy {
	case DeliverLast:
		from = lastOf(s, filters, state.Last)
	case DeliverLastPerSubject:
		if s.Config().MaxMsgsPer != 1 {
			return lastPerSubject(s, filters, state.Last, 1), nil
		}
	case DeliverNew:
		from = state.Last + 1
	case DeliverByStartSeq:
		return start{next: max(c.StartSeq, state.First, 1)}, nil
	case DeliverByStartTime:
		if from, err = s.AtTime(*c.StartTime); err != nil {
			return start{}, err
		}
	}
	return start{next: max(min(from, state.Last+1), state.First, 1)}, nil
}

// lastOf is the newest message that the filters match; the end if there is none.
func lastOf(s *stream.Stream, filters []string, last uint64) uint64 {
	if len(filters) == 0 {
		return last
	}
	newest := s.LastPerSubject(filters, last)
	if len(newest) == 0 {
		return last + 1
	}
	return newest[len(newest)-1]
}

// lastPerSubject begins with the newest message of each subject, those from a sequence on, and goes on with what comes
// after last.
func lastPerSubject(s *stream.Stream, filters []string, last, from uint64) start {
	skip := s.LastPerSubject(filters, last)
	i, _ := slices.BinarySearch(skip, from)
	skip = skip[i:]
	if len(skip) == 0 {
		return start{next: last + 1}
	}
	return start{next: skip[0], skip: skip, resume: last}
}
