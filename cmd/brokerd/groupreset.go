package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"brokerd/consumer"
)

// resetJob says which offsets of a group to move, and where.
type resetJob struct {
	group  string
	topics []topicPartitions // none: all in which the group has committed
	to     position
	by     *int64 // relative to the committed offset, instead of to
	dryRun bool
}

// topicPartitions names partitions of one topic; none means all.
type topicPartitions struct {
	topic string
	ids   []int32
}

// maxRange bounds the ranges that parseTopicPartitions writes out.
const maxRange = 100_000

// parseTopicPartitions reads "topic", "topic:3" and "topic:0,2-4".
func parseTopicPartitions(s string) (topicPartitions, error) {
	topic, list, some := strings.Cut(s, ":")
	t := topicPartitions{topic: topic}
	bad := fmt.Errorf("%q: want topic or topic:partitions, such as orders:0,2-4", s)
	if topic == "" {
		return t, bad
	}
	if !some {
		return t, nil
	}
	for part := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		first, err1 := strconv.ParseInt(low, 10, 32)
		last, err2 := strconv.ParseInt(high, 10, 32)
		if err1 != nil || err2 != nil || first < 0 || last < first || last-first > maxRange {
			return t, bad
		}
		for id := first; id <= last; id++ {
			t.ids = append(t.ids, int32(id))
		}
	}
	return t, nil
}

// move is one partition's line of the table that `group reset` prints.
type move struct {
	Group     string `json:"group"`
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	Before    *int64 `json:"before"`
	After     int64  `json:"after"`
	Start     int64  `json:"start"`
	End       int64  `json:"end"`
	Moved     bool   `json:"moved"` // false for a dry run
}

// resetGroup moves the offsets and prints them.
func resetGroup(ctx context.Context, adm *kadm.Client, w io.Writer, asJSON bool, job resetJob) error {
	if err := checkIdle(ctx, adm, job.group); err != nil {
		return err
	}
	moves, err := planReset(ctx, adm, job)
	if err != nil {
		return err
	}
	if !job.dryRun {
		if err := commitMoves(ctx, adm, job.group, moves); err != nil {
			return err
		}
	}
	return printMoves(w, asJSON, job.dryRun, moves)
}

// checkIdle refuses a group with active members: they would commit over what is set here.
func checkIdle(ctx context.Context, adm *kadm.Client, group string) error {
	groups, err := adm.DescribeGroups(ctx, group)
	if err != nil {
		return fmt.Errorf("describe group %s: %w", group, err)
	}
	g := groups[group]
	members, state := len(g.Members), g.State
	switch {
	case g.Err == nil && g.Protocol == consumer.DurableProtocol:
		return nil
	case errors.Is(g.Err, kerr.GroupIDNotFound):
		found, ok, err := findConsumerGroup(ctx, adm, group)
		if err != nil || !ok {
			return err // without one: it will be made
		}
		members, state = len(found.Members), found.State
	case g.Err != nil:
		return fmt.Errorf("describe group %s: %w", group, refused(g.Err, g.ErrMessage))
	}
	if members > 0 || state != "Empty" && state != "Dead" {
		return fmt.Errorf("group %s has %s (%s): stop them and try again; `brokerd group describe %s` shows them",
			group, plural(int64(members), "active member"), state, group)
	}
	return nil
}

// planReset works out where each partition goes.
func planReset(ctx context.Context, adm *kadm.Client, job resetJob) ([]move, error) {
	committed, err := committedOffsets(ctx, adm, job.group)
	if err != nil {
		return nil, err
	}
	topics := topicsOf(committed)
	if len(job.topics) > 0 {
		topics = nil
		for _, t := range job.topics {
			topics = append(topics, t.topic)
		}
	}
	if len(topics) == 0 {
		return nil, fmt.Errorf("group %s has committed nothing: name the topics with --topic", job.group)
	}
	held, err := spans(ctx, adm, topics...)
	if err != nil {
		return nil, err
	}
	if held, err = job.pick(held); err != nil {
		return nil, err
	}
	after, err := job.targets(ctx, adm, held, committed)
	if err != nil {
		return nil, err
	}
	var moves []move
	for _, p := range sorted(held) {
		m := move{Group: job.group, Topic: p.topic, Partition: p.id, After: after[p],
			Start: held[p].start, End: held[p].end, Moved: !job.dryRun}
		if before, ok := committed[p]; ok {
			m.Before = &before
		}
		moves = append(moves, m)
	}
	return moves, nil
}

// pick keeps the partitions that the job names; each must exist.
func (j resetJob) pick(held map[partition]span) (map[partition]span, error) {
	if len(j.topics) == 0 {
		return held, nil
	}
	picked := make(map[partition]span)
	for _, t := range j.topics {
		for p, s := range held {
			if p.topic == t.topic && (len(t.ids) == 0 || slices.Contains(t.ids, p.id)) {
				picked[p] = s
			}
		}
		for _, id := range t.ids {
			if _, ok := held[partition{t.topic, id}]; !ok {
				return nil, fmt.Errorf("topic %s has no partition %d", t.topic, id)
			}
		}
	}
	return picked, nil
}

// targets is the new offset of each partition. Relative moves count from the start where nothing was committed.
func (j resetJob) targets(ctx context.Context, adm *kadm.Client, held map[partition]span, committed map[partition]int64) (map[partition]int64, error) {
	if j.by == nil {
		return j.to.resolve(ctx, adm, held)
	}
	after := make(map[partition]int64, len(held))
	for p, s := range held {
		from, ok := committed[p]
		if !ok {
			from = s.start
		}
		after[p] = s.clamp(addClamped(s.clamp(from), *j.by))
	}
	return after, nil
}

// addClamped is a+b for a >= 0, without overflow.
func addClamped(a, b int64) int64 {
	if sum := a + b; b < 0 || sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// committedOffsets is what the group has committed, partition by partition.
func committedOffsets(ctx context.Context, adm *kadm.Client, group string) (map[partition]int64, error) {
	offsets, err := adm.FetchOffsets(ctx, group)
	if err != nil {
		if errors.Is(err, kerr.GroupIDNotFound) {
			return nil, nil
		}
		return nil, fmt.Errorf("fetch offsets of group %s: %w", group, refused(err, ""))
	}
	committed := make(map[partition]int64)
	var failed error
	offsets.Each(func(o kadm.OffsetResponse) {
		switch {
		case o.Err != nil:
			failed = cmp.Or(failed, fmt.Errorf("fetch offset of %s/%d: %w", o.Topic, o.Partition, refused(o.Err, "")))
		case o.At >= 0:
			committed[partition{o.Topic, o.Partition}] = o.At
		}
	})
	return committed, failed
}

func commitMoves(ctx context.Context, adm *kadm.Client, group string, moves []move) error {
	offsets := make(kadm.Offsets)
	for _, m := range moves {
		offsets.Add(kadm.Offset{Topic: m.Topic, Partition: m.Partition, At: m.After, LeaderEpoch: -1})
	}
	answers, err := adm.CommitOffsets(ctx, group, offsets)
	if err == nil {
		err = answers.Error()
	}
	switch {
	case errors.Is(err, kerr.UnknownMemberID), errors.Is(err, kerr.RebalanceInProgress), errors.Is(err, kerr.IllegalGeneration):
		return fmt.Errorf("group %s got members meanwhile: stop them and try again", group)
	case err != nil:
		return fmt.Errorf("commit offsets of group %s: %w", group, refused(err, ""))
	}
	return nil
}

func printMoves(w io.Writer, asJSON, dryRun bool, moves []move) error {
	out := newTable("TOPIC", ">PARTITION", ">BEFORE", ">AFTER", ">START", ">END")
	for _, m := range moves {
		if asJSON {
			if err := printJSON(w, m); err != nil {
				return err
			}
			continue
		}
		out.add(m.Topic, m.Partition, orDash(m.Before), m.After, m.Start, m.End)
	}
	if asJSON {
		return nil
	}
	if err := out.print(w); err != nil {
		return err
	}
	if dryRun {
		_, err := fmt.Fprintln(w, "\nnothing was moved: this was a dry run")
		return err
	}
	return nil
}
