package topic

import "brokerd/log"

// Isolation says which records a reader may see. Until there are transactions Stable equals Durable, and both see the
// same.
type Isolation uint8

const (
	ReadUncommitted Isolation = iota // up to Durable
	ReadCommitted                    // up to Stable
)

// Read returns whole batches from the one that holds offset (log.Log.Read). The caller must call Range.Close.
// Errors: *log.RangeError, *log.CorruptError, ErrNotFound after deletion, log.ErrFailed when the partition is offline.
func (p *Partition) Read(offset, maxBytes int64, i Isolation) (log.Range, error) {
	if err := p.ready(); err != nil {
		return log.Range{}, err
	}
	found, err := p.log.Read(offset, maxBytes)
	return found, p.explain(err)
}

// OffsetForTime finds the first readable record whose time is at or after ms (log.Log.OffsetForTime). Errors as Read.
func (p *Partition) OffsetForTime(ms int64, i Isolation) (log.TimeOffset, bool, error) {
	if err := p.ready(); err != nil {
		return log.TimeOffset{}, false, err
	}
	t, found, err := p.log.OffsetForTime(ms)
	return t, found, p.explain(err)
}

// MaxTimestamp finds the first readable record with the largest time (log.Log.MaxTimestamp). Errors as Read.
func (p *Partition) MaxTimestamp(i Isolation) (log.TimeOffset, bool, error) {
	if err := p.ready(); err != nil {
		return log.TimeOffset{}, false, err
	}
	t, found, err := p.log.MaxTimestamp()
	return t, found, p.explain(err)
}
