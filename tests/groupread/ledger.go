package main

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ledger is what all members together have read.
type ledger struct {
	mu         sync.Mutex
	out        *bufio.Writer        // guarded by mu, like all below
	partitions map[int32]*partition // the values too
	again      int                  // records that came more than once
	visits     int                  // of members
}

// partition is how far one partition has been read: sums holds a checksum for each offset from first on.
type partition struct {
	first, end int64
	sums       []uint32
}

// total is the number of records that there are to read.
func (l *ledger) total() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	var n int64
	for _, p := range l.partitions {
		n += p.end - p.first
	}
	return int(n)
}

// arrive counts a visit.
func (l *ledger) arrive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.visits++
}

// take enters what a member read. Records that came before must be the same; the next one must follow at once.
func (l *ledger) take(fetches kgo.Fetches) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for iter := fetches.RecordIter(); !iter.Done(); {
		r := iter.Next()
		p := l.partitions[r.Partition]
		if p == nil {
			return fmt.Errorf("a record of partition %d, which was not there", r.Partition)
		}
		sum := crc32.Update(crc32.ChecksumIEEE(r.Key), crc32.IEEETable, r.Value)
		next := p.first + int64(len(p.sums))
		switch {
		case r.Offset > next:
			return fmt.Errorf("partition %d: offset %d came, and %d was not read yet", r.Partition, r.Offset, next)
		case r.Offset < next:
			l.again++
			if p.sums[r.Offset-p.first] != sum {
				return fmt.Errorf("partition %d: offset %d came again and differs", r.Partition, r.Offset)
			}
		default:
			p.sums = append(p.sums, sum)
			l.out.Write(r.Key)
			l.out.WriteByte('\t')
			l.out.Write(r.Value)
			if err := l.out.WriteByte('\n'); err != nil { // sticky: also an error of the writes before
				return err
			}
		}
	}
	return nil
}

// complete says whether every partition has been read to its end.
func (l *ledger) complete() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.partitions {
		if p.first+int64(len(p.sums)) < p.end {
			return false
		}
	}
	return true
}

func (l *ledger) summary() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	read := 0
	for _, p := range l.partitions {
		read += len(p.sums)
	}
	return fmt.Sprintf("%d records of %d partitions in %d visits of members; %d came again",
		read, len(l.partitions), l.visits, l.again)
}

// rebalanced says that a commit failed because the group is about to change: what was not committed comes again.
func rebalanced(err error) bool {
	return errors.Is(err, kerr.RebalanceInProgress) || errors.Is(err, kerr.IllegalGeneration) || errors.Is(err, kerr.UnknownMemberID)
}
