package topic

import (
	"fmt"
	"time"

	"brokerd/log"
)

// unpackLimit is the most bytes a compressed batch may unpack to when its records have to be looked at. A topic that
// allows larger batches allows as much for them.
const unpackLimit = 64 << 20

// Appended is what became of a batch.
type Appended struct {
	Base, Last    int64
	LogAppendTime int64 // milliseconds, when the topic stamps records; else -1
	Duplicate     bool  // it was appended before; the offsets are the first ones
}

// Append checks a producer's batch (log.CheckBatch and the topic's settings) and its sequence, and appends it. It does
// not wait: use WaitDurable(Last), also for a duplicate, before acknowledging.
// Errors: the log's, the producer's, the follower's, ErrTooLarge, ErrBadTimestamp, ErrKeyless, ErrNotFound after deletion; a
// RecordsError when the records at fault are known.
func (p *Partition) Append(b log.Batch) (Appended, error) {
	if err := p.ready(); err != nil {
		return Appended{}, err
	}
	c := p.topic.Config()
	b, err := admit(c, b, time.Now())
	if err != nil {
		return Appended{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return Appended{}, p.explain(log.ErrClosed)
	}
	duplicate, err := p.table.Check(b)
	if err != nil {
		return Appended{}, err
	}
	if duplicate != nil {
		return Appended{Base: duplicate.Base, Last: duplicate.Last, LogAppendTime: -1, Duplicate: true}, nil
	}
	if p.follower != nil {
		if err := p.follower.Admit(Tail{p}, b); err != nil {
			return Appended{}, err
		}
	}
	stamp := int64(-1)
	if c.LogAppendTime {
		stamp = p.stamp(b, time.Now())
	}
	at, err := p.append(b)
	if err != nil {
		return Appended{}, err
	}
	return Appended{Base: at.Base, Last: at.Last, LogAppendTime: stamp}, nil
}

// stamp dates b with the time of its arrival, which never falls within a log even when the clock does. p.mu is held.
func (p *Partition) stamp(b log.Batch, now time.Time) int64 {
	p.stamped = max(p.stamped, now.UnixMilli())
	b.SetLogAppendTime(time.UnixMilli(p.stamped))
	return p.stamped
}

// admit applies everything that can be decided by looking at the batch and the settings alone, and packs it anew if
// the topic wants its own compression.
func admit(c Config, b log.Batch, now time.Time) (log.Batch, error) {
	if err := checkSize(c, b); err != nil {
		return nil, err
	}
	limit := max(unpackLimit, int(c.MaxMessageBytes))
	// The header is enough for the upper bound of record times, so that batches need not be unpacked for a limit that
	// every topic has: a header that lies about it misleads only those who look for records by time.
	oldest := !c.LogAppendTime && c.TimestampBefore >= 0
	records := c.Compact || oldest
	if err := log.CheckBatch(b, records, limit); err != nil {
		return nil, err
	}
	if !c.LogAppendTime && c.TimestampAfter >= 0 && b.MaxTimestamp() > now.Add(c.TimestampAfter).UnixMilli() {
		return nil, fmt.Errorf("%w: %d ms is more than %v after the broker's clock", ErrBadTimestamp, b.MaxTimestamp(), c.TimestampAfter)
	}
	if records {
		if err := checkRecords(c, b, limit, now); err != nil {
			return nil, err
		}
	}
	if c.Compression == "producer" {
		return b, nil
	}
	packed, err := b.Recompress(codecOf(c.Compression), limit)
	if err != nil {
		return nil, err
	}
	return packed, checkSize(c, packed)
}

// checkSize compares the batch with max.message.bytes, which counts all of it, as Kafka does.
func checkSize(c Config, b log.Batch) error {
	if b.Size() > int64(c.MaxMessageBytes) {
		return fmt.Errorf("%w: %d bytes, at most %d are allowed", ErrTooLarge, b.Size(), c.MaxMessageBytes)
	}
	return nil
}

// checkRecords looks at every record for what the header does not tell: keys, and the times of CreateTime.
func checkRecords(c Config, b log.Batch, limit int, now time.Time) error {
	var bad []BadRecord
	index := 0
	err := b.Each(limit, func(r log.Record) bool {
		if err := checkRecord(c, r, now); err != nil {
			bad = append(bad, BadRecord{index, err})
		}
		index++
		return len(bad) < namedRecords
	})
	if len(bad) > 0 {
		return &RecordsError{bad}
	}
	return err
}

// checkRecord is checkRecords for one. -1 is the time of a record without one.
func checkRecord(c Config, r log.Record, now time.Time) error {
	times := !c.LogAppendTime && r.Timestamp != -1
	switch {
	case c.Compact && r.Key == nil:
		return ErrKeyless
	case times && c.TimestampBefore >= 0 && r.Timestamp < now.Add(-c.TimestampBefore).UnixMilli():
		return fmt.Errorf("%w: %d ms is more than %v before the broker's clock", ErrBadTimestamp, r.Timestamp, c.TimestampBefore)
	case times && c.TimestampAfter >= 0 && r.Timestamp > now.Add(c.TimestampAfter).UnixMilli():
		return fmt.Errorf("%w: %d ms is more than %v after the broker's clock", ErrBadTimestamp, r.Timestamp, c.TimestampAfter)
	}
	return nil
}

// codecOf is the codec of a compression.type other than producer.
func codecOf(compression string) log.Codec {
	for _, c := range []log.Codec{log.Gzip, log.Snappy, log.LZ4, log.Zstd} {
		if c.String() == compression {
			return c
		}
	}
	return log.NoCodec
}
