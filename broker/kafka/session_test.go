package kafka

import (
	"fmt"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"pgregory.net/rapid"
)

// askFor makes a request for partitions of topic "t", each from an offset.
func askFor(offsets map[int32]int64, forgotten ...int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.Version = 12
	t := kmsg.FetchRequestTopic{Topic: "t"}
	indexes := make([]int32, 0, len(offsets))
	for index := range offsets {
		indexes = append(indexes, index)
	}
	slices.Sort(indexes)
	for _, index := range indexes {
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset = index, offsets[index]
		t.Partitions = append(t.Partitions, p)
	}
	req.Topics = []kmsg.FetchRequestTopic{t}
	req.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "t", Partitions: forgotten}}
	return req
}

func order(s *session) (indexes []int32) {
	for _, part := range s.parts {
		indexes = append(indexes, part.index)
	}
	return indexes
}

func TestSessionUpdate(t *testing.T) {
	s := newSession(false)
	steps := []struct {
		name   string
		req    *kmsg.FetchRequest
		order  []int32
		offset int64 // of partition 1
	}{
		{"two", askFor(map[int32]int64{0: 5, 1: 6}), []int32{0, 1}, 6},
		{"nothing new", askFor(nil), []int32{0, 1}, 6},
		{"one moves, one is new", askFor(map[int32]int64{1: 8, 2: 1}), []int32{0, 1, 2}, 8},
		{"one is forgotten, and one that is not known", askFor(nil, 0, 9), []int32{1, 2}, 8},
		{"it comes back", askFor(map[int32]int64{0: 1}), []int32{1, 2, 0}, 8},
		{"named and forgotten at once", askFor(map[int32]int64{2: 5}, 2, 2), []int32{1, 0}, 8},
	}
	for _, step := range steps {
		s.update(step.req)
		if got := order(s); !slices.Equal(got, step.order) {
			t.Errorf("%s: order %v, want %v", step.name, got, step.order)
		}
		if part := s.lookup[s.key("t", [16]byte{}, 1)]; part.offset != step.offset {
			t.Errorf("%s: offset %d, want %d", step.name, part.offset, step.offset)
		}
		if len(s.lookup) != len(s.parts) || s.weight != len(s.parts) {
			t.Errorf("%s: %d partitions, %d in the index, weight %d", step.name, len(s.parts), len(s.lookup), s.weight)
		}
	}
}

func TestSessionSettle(t *testing.T) {
	s := newSession(false)
	s.update(askFor(map[int32]int64{0: 0, 1: 0, 2: 0}))
	quiet := finding{high: 5}
	steps := []struct {
		name  string
		found []finding // of the partitions in their order
		tell  []bool
		order []int32
	}{
		{"the first answer tells all", []finding{quiet, quiet, quiet}, []bool{true, true, true}, []int32{0, 1, 2}},
		{"nothing new", []finding{quiet, quiet, quiet}, []bool{false, false, false}, []int32{0, 1, 2}},
		{"records go to the end", []finding{{high: 5, records: true}, quiet, quiet}, []bool{true, false, false}, []int32{1, 2, 0}},
		{"several in their order", []finding{{high: 5, records: true}, quiet, {high: 5, records: true}},
			[]bool{true, false, true}, []int32{2, 1, 0}},
		{"a watermark moved", []finding{{high: 6}, quiet, quiet}, []bool{true, false, false}, []int32{2, 1, 0}},
		{"the start moved", []finding{{high: 6, start: 1}, quiet, quiet}, []bool{true, false, false}, []int32{2, 1, 0}},
		{"an error", []finding{{high: 6, start: 1}, {high: 5, failed: true}, quiet}, []bool{false, true, false}, []int32{2, 1, 0}},
		{"it stays", []finding{{high: 6, start: 1}, {failed: true}, quiet}, []bool{false, true, false}, []int32{2, 1, 0}},
		{"it is over", []finding{{high: 6, start: 1}, quiet, quiet}, []bool{false, true, false}, []int32{2, 1, 0}},
		{"and told", []finding{{high: 6, start: 1}, quiet, quiet}, []bool{false, false, false}, []int32{2, 1, 0}},
	}
	for _, step := range steps {
		if tell := s.settle(step.found); !slices.Equal(tell, step.tell) {
			t.Errorf("%s: tells %v, want %v", step.name, tell, step.tell)
		}
		if got := order(s); !slices.Equal(got, step.order) {
			t.Errorf("%s: order %v, want %v", step.name, got, step.order)
		}
	}
}

// shelf is a partition of the model: records 0 to high-1 of which those below start are gone.
type shelf struct {
	start, high int64
	failed      bool
}

// TestSessionModel compares a client that works through a session with what full fetches would tell it: after every
// answer it knows the same of each of its partitions, and whoever has records waiting gets a turn within as many answers
// as there are partitions, even when an answer has room for one.
func TestSessionModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const partitions = 5
		var (
			disk    [partitions]shelf
			s       = newSession(false)
			at      = map[int32]int64{} // what the client reads, and from where
			known   = map[int32]finding{}
			hungry  = map[int32]int{} // answers since the partition had records waiting and got none
			changed = map[int32]int64{}
			limit   = rapid.IntRange(1, 2).Draw(t, "limit") // partitions with records in one answer
		)
		for range rapid.IntRange(1, 60).Draw(t, "answers") {
			for i := range disk {
				switch rapid.IntRange(0, 9).Draw(t, "event") {
				case 8:
					disk[i].start = disk[i].high
				case 9:
					disk[i].failed = !disk[i].failed
				default:
					disk[i].high++
				}
			}
			var forgotten []int32
			if i := rapid.Int32Range(0, 3*partitions).Draw(t, "toggle"); i < partitions {
				if _, reads := at[i]; reads {
					delete(at, i)
					delete(changed, i)
					delete(known, i)
					delete(hungry, i)
					forgotten = append(forgotten, i)
				} else {
					at[i] = disk[i].start
					changed[i] = at[i]
				}
			}
			s.update(askFor(changed, forgotten...))
			clear(changed)
			if len(s.parts) != len(at) {
				t.Fatalf("the session has partitions %v, the client reads %v", order(s), at)
			}

			room := limit
			found := make([]finding, len(s.parts))
			asked := slices.Clone(s.parts)
			for i, part := range s.parts {
				d := disk[part.index]
				if part.offset != at[part.index] {
					t.Fatalf("partition %d: the session is at %d, the client at %d", part.index, part.offset, at[part.index])
				}
				if d.failed || part.offset < d.start {
					found[i] = finding{failed: true}
					hungry[part.index] = 0
					continue
				}
				found[i] = finding{high: d.high, start: d.start}
				if part.offset < d.high && room > 0 {
					found[i].records, room = true, room-1
				}
				if part.offset == d.high || found[i].records {
					hungry[part.index] = 0
				} else {
					hungry[part.index]++
				}
				if hungry[part.index] > partitions {
					t.Fatalf("partition %d had no turn in %d answers", part.index, hungry[part.index])
				}
			}
			for i, tell := range s.settle(found) {
				index := asked[i].index
				full := found[i]
				if tell {
					known[index] = full
				} else if full.records || full.failed {
					t.Fatalf("partition %d: %+v is kept from the client", index, full)
				}
				if got := known[index]; got.high != full.high || got.start != full.start || got.failed != full.failed {
					t.Fatalf("partition %d: the client believes %+v, a full fetch says %+v", index, got, full)
				}
				if full.records {
					at[index]++
					changed[index] = at[index]
				}
				if full.failed && !disk[index].failed {
					at[index] = disk[index].start
					changed[index] = at[index]
				}
			}
		}
	})
}

func TestSessionKeys(t *testing.T) {
	req := askFor(map[int32]int64{0: 1})
	req.Topics[0].TopicID = [16]byte{1}
	for byID, want := range map[bool]topicKey{true: {id: [16]byte{1}}, false: {name: "t"}} {
		s := newSession(byID)
		s.update(req)
		if got := s.parts[0].topicKey; got != want {
			t.Errorf("by id %v: %+v", byID, got)
		}
	}
	long := partKey{topicKey: topicKey{name: fmt.Sprintf("%0600d", 0)}}
	if w := long.weight(); w != 3 {
		t.Errorf("a name of 600 bytes weighs %d", w)
	}
}
