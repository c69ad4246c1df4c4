package consumer

import (
	"bytes"
	"cmp"
	"slices"

	"brokerd/topic"
)

// place is one partition of one topic.
type place struct {
	topic     topic.ID
	partition int32
}

func (p place) compare(q place) int {
	return cmp.Or(bytes.Compare(p.topic[:], q.topic[:]), cmp.Compare(p.partition, q.partition))
}

// places is a set of partitions: in order, each once. It is never changed, only replaced.
type places []place

func newPlaces(list ...place) places {
	s := slices.Clone(list)
	slices.SortFunc(s, place.compare)
	return places(slices.Compact(s))
}

func (s places) has(p place) bool {
	_, ok := slices.BinarySearchFunc(s, p, place.compare)
	return ok
}

func (s places) filter(keep func(place) bool) places {
	var kept places
	for _, p := range s {
		if keep(p) {
			kept = append(kept, p)
		}
	}
	return kept
}

func (s places) and(other places) places { return s.filter(other.has) }
func (s places) minus(other places) places {
	return s.filter(func(p place) bool { return !other.has(p) })
}
func (s places) or(other places) places   { return newPlaces(slices.Concat(s, other)...) }
func (s places) within(other places) bool { return len(s.minus(other)) == 0 }
func (s places) equal(other places) bool  { return slices.Equal(s, other) }

// Assigned is partitions of one topic.
type Assigned struct {
	Topic      topic.ID
	Name       string // of the topic; only in descriptions
	Partitions []int32
}

// placesOf is the reverse of places.byTopic.
func placesOf(list []Assigned) places {
	var all []place
	for _, a := range list {
		for _, n := range a.Partitions {
			all = append(all, place{a.Topic, n})
		}
	}
	return newPlaces(all...)
}

func (s places) byTopic() []Assigned {
	list := []Assigned{}
	for _, p := range s {
		if n := len(list); n == 0 || list[n-1].Topic != p.topic {
			list = append(list, Assigned{Topic: p.topic})
		}
		last := &list[len(list)-1]
		last.Partitions = append(last.Partitions, p.partition)
	}
	return list
}
