package kafka

import (
	"fmt"

	"brokerd/topic"
)

// fault is an error that lies in the request itself, with the code that a client shall see.
type fault struct {
	code int16
	text string
}

func (f *fault) Error() string { return f.text }

func faultf(code int16, format string, args ...any) error {
	return &fault{code, fmt.Sprintf(format, args...)}
}

// finder finds the topic that a request means: by id where its version names topics by id, else by name.
type finder struct {
	topics *topic.Registry
	byID   bool
}

func (f finder) topic(name string, id topic.ID) (*topic.Topic, error) {
	if f.byID {
		if t, ok := f.topics.ByID(id); ok {
			return t, nil
		}
		return nil, faultf(codeUnknownTopicID, "no topic has the id %x", id)
	}
	if t, ok := f.topics.Get(name); ok {
		return t, nil
	}
	return nil, topic.ErrNotFound
}

func (f finder) partition(name string, id topic.ID, n int32) (*topic.Partition, error) {
	t, err := f.topic(name, id)
	if err != nil {
		return nil, err
	}
	return t.Partition(n)
}

// checkEpoch compares the leader epoch that a client believes in, -1 for none, with the partition's (KIP-320). After
// either error clients refresh their metadata. A partition that cannot be read says so first.
func checkEpoch(p *topic.Partition, epoch int32) error {
	if _, err := p.Bounds(); err != nil {
		return err
	}
	ours := p.Epoch()
	switch {
	case epoch == -1 || epoch == ours:
		return nil
	case epoch < ours:
		return faultf(codeFencedLeaderEpoch, "leader epoch %d is older than %d", epoch, ours)
	}
	return faultf(codeUnknownLeaderEpoch, "leader epoch %d is newer than %d", epoch, ours)
}
