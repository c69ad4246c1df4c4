package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const recordBytes = 1 << 10

// load is one round of a workload, on topics of its own.
type load struct {
	addr       string
	topics     []string
	partitions int32
	batchBytes int
	acked      int64 // bytes of values
}

func newLoad(ctx context.Context, addr string, w workload, round int) (*load, error) {
	l := &load{addr: addr, partitions: int32(w.partitions), batchBytes: w.batchBytes}
	for i := range w.topics {
		l.topics = append(l.topics, fmt.Sprintf("bench-%d-%d-%d", w.batchBytes, round, i))
	}
	return l, l.admin(func(adm *kadm.Client) error {
		size := "2097152"
		created, err := adm.CreateTopics(ctx, l.partitions, 1, map[string]*string{"max.message.bytes": &size}, l.topics...)
		if err != nil {
			return err
		}
		return created.Error()
	})
}

// remove deletes the round's topics.
func (l *load) remove(ctx context.Context) error {
	return l.admin(func(adm *kadm.Client) error {
		deleted, err := adm.DeleteTopics(ctx, l.topics...)
		if err != nil {
			return err
		}
		return deleted.Error()
	})
}

func (l *load) admin(do func(*kadm.Client) error) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(l.addr))
	if err != nil {
		return err
	}
	defer cl.Close()
	return do(kadm.NewClient(cl))
}

// produce sends records to all partitions by turns for the given time, waits for the last answers, and returns the rate
// of acknowledged bytes. The producer is franz-go's, idempotent, as it is by default.
func (l *load) produce(ctx context.Context, limit time.Duration) (float64, error) {
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(l.addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerBatchMaxBytes(int32(l.batchBytes)), kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(64<<10), kgo.BrokerMaxWriteBytes(64<<20),
	)
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	value := make([]byte, recordBytes)
	rand.Read(value)
	var acked atomic.Int64
	began := time.Now()
	for i := 0; time.Since(began) < limit && ctx.Err() == nil; i++ {
		r := &kgo.Record{
			Topic:     l.topics[i%len(l.topics)],
			Partition: int32(i/len(l.topics)) % l.partitions,
			Value:     value,
		}
		cl.Produce(ctx, r, func(r *kgo.Record, err error) {
			if err != nil {
				cancel(fmt.Errorf("produce: %w", err))
				return
			}
			acked.Add(int64(len(r.Value)))
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return 0, context.Cause(ctx)
	}
	l.acked = acked.Load()
	return rate(l.acked, time.Since(began)), context.Cause(ctx)
}

// consume reads everything that was produced with one consumer and returns the rate.
func (l *load) consume(ctx context.Context) (float64, error) {
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(l.addr), kgo.ConsumeTopics(l.topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxBytes(64<<20), kgo.FetchMaxPartitionBytes(8<<20),
	)
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	var read int64
	began := time.Now()
	for read < l.acked {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return 0, fmt.Errorf("consume: %w", err)
		}
		fetches.EachRecord(func(r *kgo.Record) { read += int64(len(r.Value)) })
	}
	return rate(read, time.Since(began)), nil
}
