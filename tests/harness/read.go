package harness

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// ReadAll reads topics from their start offsets to the end offsets that they have now, without a group. The records of
// each partition are in order, and all of them are there when err is nil.
func ReadAll(ctx context.Context, addr string, topics ...string) ([]*kgo.Record, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.FetchMaxWait(500*time.Millisecond))
	if err != nil {
		return nil, fmt.Errorf("harness: make a client: %w", err)
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	starts, err := adm.ListStartOffsets(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("harness: list start offsets: %w", err)
	}
	ends, err := adm.ListEndOffsets(ctx, topics...)
	if err != nil {
		return nil, fmt.Errorf("harness: list end offsets: %w", err)
	}

	from := map[string]map[int32]kgo.Offset{}
	open := map[Position]int64{} // partition (Offset 0) -> end offset, while it is not reached
	starts.Each(func(o kadm.ListedOffset) {
		end, _ := ends.Lookup(o.Topic, o.Partition)
		if err == nil {
			err = o.Err
		}
		if err == nil {
			err = end.Err
		}
		if o.Offset >= end.Offset {
			return
		}
		if from[o.Topic] == nil {
			from[o.Topic] = map[int32]kgo.Offset{}
		}
		from[o.Topic][o.Partition] = kgo.NewOffset().At(o.Offset)
		open[Position{o.Topic, o.Partition, 0}] = end.Offset
	})
	if err != nil {
		return nil, fmt.Errorf("harness: list offsets: %w", err)
	}
	cl.AddConsumePartitions(from)
	return readUntil(ctx, cl, open)
}

// readUntil polls until each partition in open has been read up to its end offset.
func readUntil(ctx context.Context, cl *kgo.Client, open map[Position]int64) ([]*kgo.Record, error) {
	var read []*kgo.Record
	for len(open) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return read, fmt.Errorf("harness: read (%d partitions are not at their end): %w", len(open), err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			at := Position{r.Topic, r.Partition, 0}
			end, isOpen := open[at]
			if !isOpen {
				return // written after the end offset was asked for
			}
			read = append(read, r)
			if r.Offset >= end-1 {
				delete(open, at)
			}
		})
	}
	return read, nil
}
