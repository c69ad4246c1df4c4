package nats

import (
	"maps"
	"slices"
	"time"

	"brokerd/topic/stream"
)

// streamInfo is what the API tells about a stream.
type streamInfo struct {
	Config  stream.Config     `json:"config"`
	Created time.Time         `json:"created"`
	State   streamState       `json:"state"`
	Domain  string            `json:"domain,omitempty"`
	Mirror  *stream.CopyInfo  `json:"mirror,omitempty"`
	Sources []stream.CopyInfo `json:"sources,omitempty"`
	Time    time.Time         `json:"ts"`
}

type streamState struct {
	Messages  uint64            `json:"messages"`
	Bytes     uint64            `json:"bytes"`
	First     uint64            `json:"first_seq"`
	FirstTime time.Time         `json:"first_ts"`
	Last      uint64            `json:"last_seq"`
	LastTime  time.Time         `json:"last_ts"`
	Subjects  int               `json:"num_subjects,omitempty"`
	Counts    map[string]uint64 `json:"subjects,omitempty"`
	Deleted   int               `json:"num_deleted,omitempty"`
	Holes     []uint64          `json:"deleted,omitempty"`
	Consumers int               `json:"consumer_count"`
}

// describe tells about a stream as it is now.
func (a *api) describe(s *stream.Stream) (streamInfo, error) {
	return a.describeWith(s, (*stream.Stream).State)
}

func (a *api) describeWith(s *stream.Stream, look func(*stream.Stream) (stream.State, error)) (streamInfo, error) {
	state, err := a.state(s, look)
	mirror, sources := a.streams.Copies(s)
	return streamInfo{
		Config: a.told(s.Config()), Created: s.Created().UTC(), State: state, Domain: a.server.domain,
		Mirror: mirror, Sources: sources, Time: time.Now().UTC(),
	}, err
}

func (a *api) state(s *stream.Stream, look func(*stream.Stream) (stream.State, error)) (streamState, error) {
	st, err := look(s)
	if err != nil {
		return streamState{}, err
	}
	return streamState{
		Messages: st.Messages, Bytes: st.Bytes,
		First: st.First, FirstTime: st.FirstTime.UTC(), Last: st.Last, LastTime: st.LastTime.UTC(),
		Subjects: st.Subjects, Deleted: st.Deleted, Consumers: len(a.consumers.List(s.Name())),
	}, nil
}

type listRequest struct {
	pageRequest
	Subject string `json:"subject"` // only streams that have a subject which overlaps with it
}

type streamNames struct {
	page
	Streams []string `json:"streams"`
}

func (a *api) streamNames(r *request) (any, error) {
	part, p, err := a.list(r, namesLimit)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(part))
	for i, s := range part {
		names[i] = s.Name()
	}
	return streamNames{p, names}, nil
}

type streamList struct {
	page
	Streams []streamInfo      `json:"streams"`
	Missing []string          `json:"missing,omitempty"`
	Offline map[string]string `json:"offline,omitempty"` // why, by name
}

// streamList leaves out streams whose log cannot be read, and says so. It has no log read: a list of all topics made through
// Kafka is no reason to keep an index of each.
func (a *api) streamList(r *request) (any, error) {
	part, p, err := a.list(r, listLimit)
	if err != nil {
		return nil, err
	}
	l := streamList{page: p, Streams: make([]streamInfo, 0, len(part))}
	for _, s := range part {
		info, err := a.describeWith(s, (*stream.Stream).Glance)
		switch {
		case err == nil:
			l.Streams = append(l.Streams, info)
		case s.Gone(): // since it was listed
		default:
			l.Missing = append(l.Missing, s.Name())
			if l.Offline == nil {
				l.Offline = make(map[string]string)
			}
			l.Offline[s.Name()] = err.Error()
		}
	}
	return l, nil
}

func (a *api) list(r *request, limit int) ([]*stream.Stream, page, error) {
	var q listRequest
	if err := r.optional(&q); err != nil {
		return nil, page{}, err
	}
	part, p := cut(a.streams.List(q.Subject), q.Offset, limit)
	return part, p, nil
}

type infoRequest struct {
	pageRequest
	Deleted  bool   `json:"deleted_details"`
	Subjects string `json:"subjects_filter"`
}

type pagedStreamInfo struct {
	page // of the subjects
	streamInfo
}

func (a *api) streamInfo(r *request) (any, error) {
	var q infoRequest
	if err := r.optional(&q); err != nil {
		return nil, err
	}
	s, err := a.flushed(r, 2)
	if err != nil {
		return nil, err
	}
	info, err := a.describe(s)
	if err != nil {
		return nil, err
	}
	out := pagedStreamInfo{streamInfo: info}
	if q.Deleted {
		if out.State.Holes, err = s.Deleted(deletedLimit); err != nil {
			return nil, err
		}
	}
	if q.Subjects != "" {
		counts, err := s.Subjects(q.Subjects)
		if err != nil {
			return nil, err
		}
		if len(counts) > 0 {
			out.State.Counts, out.page = cutCounts(counts, q.Offset)
		}
	}
	return out, nil
}

// cutCounts takes one page of the subjects, in the order of their names.
func cutCounts(counts map[string]uint64, offset int) (map[string]uint64, page) {
	if offset <= 0 && len(counts) <= subjectsLimit {
		return counts, page{Total: len(counts), Limit: subjectsLimit}
	}
	names, p := cut(slices.Sorted(maps.Keys(counts)), offset, subjectsLimit)
	part := make(map[string]uint64, len(names))
	for _, name := range names {
		part[name] = counts[name]
	}
	return part, p
}
