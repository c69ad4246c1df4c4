package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	pollRecords   = 10_000
	idlePoll      = 500 * time.Millisecond // after this long without records, look whether the end was reached
	stallTimeout  = 30 * time.Second       // without progress on the way to the end
	commitTimeout = 10 * time.Second
)

// consumption is a consumeJob under way.
type consumption struct {
	job    consumeJob
	plan   plan
	out    *bufio.Writer
	stderr io.Writer
	began  time.Time
	told   string // the last trouble that was told, so as not to repeat it

	printed atomic.Int64
	bytes   atomic.Int64

	mu     sync.Mutex          // guards what follows: a group's callbacks come on goroutines of the client
	next   map[partition]int64 // offset to read next, of each partition that is ours
	joined bool                // the group has given us our part, which may be nothing
}

func newConsumption(job consumeJob, p plan, out, stderr io.Writer) *consumption {
	return &consumption{
		job: job, plan: p, out: bufio.NewWriterSize(out, 64<<10), stderr: stderr, began: time.Now(),
		next: make(map[partition]int64),
	}
}

// options are those of the client that reads.
func (c *consumption) options() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.WithHooks(&outage{w: c.stderr}),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), // retention overtook us: go on with what is left
		kgo.KeepControlRecords(),                          // they are not printed, but they may be the last offset
		kgo.KeepRetryableFetchErrors(),                    // tell about them
	}
	if c.job.group == "" {
		return append(opts, kgo.ConsumePartitions(c.assignAll()))
	}
	return append(opts,
		kgo.ConsumeTopics(c.job.topics...),
		kgo.ConsumerGroup(c.job.group),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, added map[string][]int32) { c.assigned(added) }),
		kgo.AdjustFetchOffsetsFn(c.adjust),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { c.revoked(lost) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { c.revoked(lost) }),
	)
}

// assignAll makes every partition of the plan ours, without a group. Those with nothing to read are left out.
func (c *consumption) assignAll() map[string]map[int32]kgo.Offset {
	all := make(map[string]map[int32]kgo.Offset)
	for p, start := range c.plan.starts {
		if !c.job.follow && start >= c.plan.ends[p] {
			continue
		}
		if all[p.topic] == nil {
			all[p.topic] = make(map[int32]kgo.Offset)
		}
		all[p.topic][p.id] = kgo.NewOffset().At(start)
		c.next[p] = start
	}
	c.joined = true
	return all
}

// unknown is the next offset of a partition whose committed offset is still to come: below every end.
const unknown = -1

// assigned notes what the group gave us; adjust follows for each partition.
func (c *consumption) assigned(added map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for topic, ids := range added {
		for _, id := range ids {
			c.next[partition{topic, id}] = unknown
		}
	}
	c.joined = true
}

// adjust learns where a partition given to us starts: at what the group committed, or where the plan says.
func (c *consumption) adjust(_ context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for topic, partitions := range offsets {
		for id, o := range partitions {
			p := partition{topic, id}
			committed := o.EpochOffset().Offset
			if start, planned := c.plan.starts[p]; committed < 0 && planned {
				committed = start
				partitions[id] = kgo.NewOffset().At(start)
			}
			c.next[p] = max(committed, 0) // one that was made since the plan starts at 0
		}
	}
	return offsets, nil
}

func (c *consumption) revoked(lost map[string][]int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for topic, ids := range lost {
		for _, id := range ids {
			delete(c.next, partition{topic, id})
		}
	}
}

// finished says whether all that is ours was read to the end of the plan.
func (c *consumption) finished() bool {
	if c.job.count > 0 && c.printed.Load() >= c.job.count {
		return true
	}
	if c.job.follow {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for p, next := range c.next {
		if next < c.plan.ends[p] {
			return false
		}
	}
	return c.joined
}

// run reads until the job is done or ctx is.
func (c *consumption) run(ctx context.Context, cl *kgo.Client) error {
	moved := time.Now()
	for !c.finished() {
		fetches := c.poll(ctx, cl)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		read, err := c.print(fetches)
		if err == nil {
			err = c.out.Flush()
		}
		if err != nil {
			return fmt.Errorf("write: %w", err)
		}
		if err := c.commit(ctx, cl, read); err != nil {
			return err
		}
		cl.AllowRebalance()
		if err := c.fetchErrors(fetches); err != nil {
			return err
		}
		switch {
		case len(read) > 0:
			moved, c.told = time.Now(), ""
			c.pause(cl, read)
		case !c.job.follow:
			if err := c.skipDeleted(ctx, cl); err != nil {
				return err
			}
			if !c.reading() {
				moved = time.Now() // the group is still being formed
			}
			if time.Since(moved) > stallTimeout {
				return fmt.Errorf("no record came for %v although there are more; see the broker's log", stallTimeout)
			}
		}
	}
	return nil
}

// poll waits for records: for ever when following, else so long that the end may have been reached.
func (c *consumption) poll(ctx context.Context, cl *kgo.Client) kgo.Fetches {
	if !c.job.follow {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, idlePoll)
		defer cancel()
	}
	return cl.PollRecords(ctx, pollRecords)
}

// fetchErrors tells about what may pass and returns what will not.
func (c *consumption) fetchErrors(fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		p := partition{e.Topic, e.Partition}
		var lost *kgo.ErrDataLoss
		switch {
		case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, context.Canceled):
		case errors.As(e.Err, &lost):
			c.tell(fmt.Sprintf("%v: %v", p, lost))
		case errors.Is(e.Err, kerr.CorruptMessage):
			return fmt.Errorf("%v: the record at offset %d is damaged on the broker's disk; `brokerd log verify` names the damage, --from reads behind it",
				p, c.offsetOf(p))
		case kerr.IsRetriable(e.Err) || kgo.IsRetryableBrokerErr(e.Err):
			c.tell(fmt.Sprintf("%v: %v; trying again", p, refused(e.Err, "")))
		case errors.Is(e.Err, kerr.InconsistentGroupProtocol):
			return fmt.Errorf("group %s cannot be joined: it has members that assign otherwise, or is a durable consumer of NATS clients; `brokerd group describe %s` shows it; use another group",
				c.job.group, c.job.group)
		default:
			return fmt.Errorf("%v: %w", p, refused(e.Err, ""))
		}
	}
	return nil
}

// tell writes what a person may want to know, once while it lasts.
func (c *consumption) tell(trouble string) {
	if trouble != c.told {
		c.told = trouble
		fmt.Fprintln(c.stderr, "brokerd:", trouble)
	}
}

func (c *consumption) offsetOf(p partition) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.next[p]
}

// reading says whether any partition is ours.
func (c *consumption) reading() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.next) > 0
}

// print renders records up to the plan's ends and the count, and returns where each partition goes on.
func (c *consumption) print(fetches kgo.Fetches) (map[partition]kgo.EpochOffset, error) {
	read := make(map[partition]kgo.EpochOffset)
	for it := fetches.RecordIter(); !it.Done(); {
		r := it.Next()
		if c.job.count > 0 && c.printed.Load() >= c.job.count {
			break
		}
		p := partition{r.Topic, r.Partition}
		if !c.job.follow && r.Offset >= c.plan.ends[p] {
			c.moveTo(p, r.Offset)
			continue
		}
		if !r.Attrs.IsControl() {
			if err := c.job.render(c.out, r); err != nil {
				return nil, err
			}
			c.printed.Add(1)
			c.bytes.Add(int64(len(r.Key) + len(r.Value)))
		}
		read[p] = kgo.EpochOffset{Epoch: r.LeaderEpoch, Offset: r.Offset + 1}
		c.moveTo(p, r.Offset+1)
	}
	return read, nil
}

func (c *consumption) moveTo(p partition, next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ours := c.next[p]; ours {
		c.next[p] = max(c.next[p], next)
	}
}

// pause stops fetching partitions that came to their end.
func (c *consumption) pause(cl *kgo.Client, read map[partition]kgo.EpochOffset) {
	if c.job.follow {
		return
	}
	for p, o := range read {
		if o.Offset >= c.plan.ends[p] {
			cl.PauseFetchPartitions(map[string][]int32{p.topic: {p.id}})
		}
	}
}

// commit stores the group's progress: only what was written before. It also runs when ctx has just ended.
func (c *consumption) commit(ctx context.Context, cl *kgo.Client, read map[partition]kgo.EpochOffset) error {
	if c.job.group == "" || len(read) == 0 {
		return nil
	}
	offsets := make(map[string]map[int32]kgo.EpochOffset)
	for p, o := range read {
		if offsets[p.topic] == nil {
			offsets[p.topic] = make(map[int32]kgo.EpochOffset)
		}
		offsets[p.topic][p.id] = o
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitTimeout)
	defer cancel()
	var failed error
	cl.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		failed = err
		if resp == nil {
			return
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				failed = errors.Join(failed, kerr.ErrorForCode(p.ErrorCode))
			}
		}
	})
	switch {
	case failed == nil:
		return nil
	case errors.Is(failed, kerr.RebalanceInProgress), errors.Is(failed, kerr.IllegalGeneration), errors.Is(failed, kerr.UnknownMemberID):
		fmt.Fprintf(c.stderr, "brokerd: the group moved on before a commit; some records may come again: %v\n", refused(failed, ""))
		return nil
	}
	return fmt.Errorf("commit for group %s: %w; the last records printed will come again", c.job.group, refused(failed, ""))
}

// skipDeleted moves over what retention deleted since the plan was made, so that its end is still reached.
func (c *consumption) skipDeleted(ctx context.Context, cl *kgo.Client) error {
	if !c.reading() {
		return nil
	}
	starts, err := listed(kadm.NewClient(cl).ListStartOffsets(ctx, c.job.topics...))
	if err != nil {
		if kerr.IsRetriable(err) || ctx.Err() != nil {
			return nil
		}
		return err
	}
	for p, start := range starts {
		c.moveTo(p, start)
	}
	return nil
}

func (c *consumption) progress() string {
	n, b := c.printed.Load(), c.bytes.Load()
	return fmt.Sprintf("%s, %s, %s", plural(n, "record"), bytesText(b), rate(b, time.Since(c.began)))
}
