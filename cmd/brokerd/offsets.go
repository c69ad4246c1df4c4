package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// partition names one partition of a topic.
type partition struct {
	topic string
	id    int32
}

func (p partition) String() string { return fmt.Sprintf("%s/%d", p.topic, p.id) }

func comparePartitions(a, b partition) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.id, b.id))
}

// span is what a partition holds: the offsets in [start, end).
type span struct{ start, end int64 }

func (s span) clamp(offset int64) int64 { return min(max(offset, s.start), s.end) }

// spans asks for the bounds of every partition of topics; of all topics when none is named.
func spans(ctx context.Context, adm *kadm.Client, topics ...string) (map[partition]span, error) {
	starts, err := listed(adm.ListStartOffsets(ctx, topics...))
	if err != nil {
		return nil, err
	}
	ends, err := listed(adm.ListEndOffsets(ctx, topics...))
	if err != nil {
		return nil, err
	}
	m := make(map[partition]span, len(starts))
	for p, start := range starts {
		m[p] = span{start, max(start, ends[p])}
	}
	return m, nil
}

// listed flattens the answer of one of kadm's List...Offsets; the first error of a partition is the error.
func listed(all kadm.ListedOffsets, err error) (map[partition]int64, error) {
	if err != nil {
		return nil, fmt.Errorf("list offsets: %w", err)
	}
	m := make(map[partition]int64)
	var failed error
	all.Each(func(o kadm.ListedOffset) {
		p := partition{o.Topic, o.Partition}
		switch {
		case errors.Is(o.Err, kerr.UnknownTopicOrPartition):
			failed = cmp.Or(failed, noTopic(o.Topic))
		case o.Err != nil:
			failed = cmp.Or(failed, fmt.Errorf("list offsets of %v: %w", p, refused(o.Err, "")))
		default:
			m[p] = o.Offset
		}
	})
	return m, failed
}

// sorted returns the partitions of m in order.
func sorted[V any](m map[partition]V) []partition {
	all := make([]partition, 0, len(m))
	for p := range m {
		all = append(all, p)
	}
	slices.SortFunc(all, comparePartitions)
	return all
}

// topicsOf returns the topics of partitions, in order, each once.
func topicsOf[V any](m map[partition]V) []string {
	var topics []string
	for _, p := range sorted(m) {
		if len(topics) == 0 || topics[len(topics)-1] != p.topic {
			topics = append(topics, p.topic)
		}
	}
	return topics
}
