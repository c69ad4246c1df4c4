// Command groupread reads a topic with a consumer group whose members come and go, and prints each record once, as its
// key, a tab and its value, in the order of its partition. It fails when a record was skipped, or came again changed.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"
)

type options struct {
	broker, topic, group string
	members              int
}

func main() {
	var o options
	flag.StringVar(&o.broker, "broker", "127.0.0.1:9092", "`address` of the broker")
	flag.StringVar(&o.topic, "topic", "", "`name` of the topic")
	flag.StringVar(&o.group, "group", "groupread", "`name` of the group")
	flag.IntVar(&o.members, "members", 3, "`number` of members")
	limit := flag.Duration("timeout", 10*time.Minute, "give up after this long")
	flag.Parse()

	ctx, cancel := context.WithTimeout(context.Background(), *limit)
	defer cancel()
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	summary, err := run(ctx, o, out)
	if err = errors.Join(err, out.Flush()); err != nil {
		fmt.Fprintln(os.Stderr, "groupread:", err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, summary)
}

// run lets members come and go until every partition is read up to the end that it has now.
func run(ctx context.Context, o options, out *bufio.Writer) (summary string, err error) {
	ledger, err := newLedger(ctx, o, out)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	members, ctx := errgroup.WithContext(ctx)
	for id := range o.members {
		members.Go(func() error {
			for visit := 0; !ledger.complete(); visit++ {
				ledger.arrive()
				enough := ledger.total()/(8*o.members) + rand.IntN(10_000)
				if err := visitGroup(ctx, o, ledger, enough, visit%3 == 2); err != nil {
					return fmt.Errorf("member %d, visit %d: %w", id, visit, err)
				}
			}
			return nil
		})
	}
	if err := members.Wait(); err != nil {
		return "", err
	}
	return ledger.summary(), nil
}

// visitGroup is one stay of a member: it joins, reads and commits until it has read enough, and leaves. A rude one never
// commits, so that what it read comes again.
func visitGroup(ctx context.Context, o options, l *ledger, enough int, rude bool) error {
	cl, err := kgo.NewClient(
		kgo.SeedBrokers(o.broker), kgo.ConsumerGroup(o.group), kgo.ConsumeTopics(o.topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.HeartbeatInterval(300*time.Millisecond), kgo.FetchMaxWait(300*time.Millisecond),
		kgo.FetchMaxPartitionBytes(256<<10),
	)
	if err != nil {
		return err
	}
	defer cl.CloseAllowingRebalance()
	for read := 0; read < enough && !l.complete(); cl.AllowRebalance() {
		fetches, err := poll(ctx, cl)
		if err != nil {
			return err
		}
		if err := l.take(fetches); err != nil {
			return err
		}
		read += fetches.NumRecords()
		if !rude {
			if err := cl.CommitUncommittedOffsets(ctx); err != nil && !rebalanced(err) {
				return fmt.Errorf("commit: %w", err)
			}
		}
	}
	return nil
}

// poll returns what there is to read soon; nothing is no error.
func poll(ctx context.Context, cl *kgo.Client) (kgo.Fetches, error) {
	soon, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	fetches := cl.PollRecords(soon, 5_000)
	for _, e := range fetches.Errors() {
		if !errors.Is(e.Err, context.DeadlineExceeded) || ctx.Err() != nil {
			return nil, fmt.Errorf("read: %w", e.Err)
		}
	}
	return fetches, nil
}

// newLedger asks how far there is to read.
func newLedger(ctx context.Context, o options, out *bufio.Writer) (*ledger, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(o.broker))
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	starts, err := adm.ListStartOffsets(ctx, o.topic)
	if err != nil {
		return nil, err
	}
	ends, err := adm.ListEndOffsets(ctx, o.topic)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(starts.Error(), ends.Error()); err != nil {
		return nil, err
	}
	l := &ledger{out: out, partitions: map[int32]*partition{}}
	ends.Each(func(end kadm.ListedOffset) {
		start, _ := starts.Lookup(end.Topic, end.Partition)
		l.partitions[end.Partition] = &partition{first: start.Offset, end: end.Offset}
	})
	return l, nil
}
