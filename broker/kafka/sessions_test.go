package kafka

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log/vfs"
)

// sized makes a session of n partitions.
func sized(n int) *session {
	s := newSession(false)
	for i := range n {
		s.put(s.key("t", [16]byte{}, int32(i)))
	}
	return s
}

// continues makes a request of a session.
func continues(id, epoch int32) *kmsg.FetchRequest {
	req := askFor(nil)
	req.SessionID, req.SessionEpoch = id, epoch
	return req
}

func TestSessionEpochs(t *testing.T) {
	all := newSessions()
	start := time.Unix(1000, 0)
	id := all.keep(sized(1), start)
	if id <= 0 {
		t.Fatalf("id %d", id)
	}
	byID := continues(id, 1)
	byID.Version = 13
	steps := []struct {
		req  *kmsg.FetchRequest
		want int16
	}{
		{continues(id+1, 1), codeFetchSessionIDNotFound},
		{continues(id, 2), codeInvalidFetchSessionEpoch},
		{byID, codeFetchSessionTopicID},
		{continues(id, 1), codeNone},
		{continues(id, 1), codeInvalidFetchSessionEpoch},
		{continues(id, 2), codeNone},
	}
	for i, step := range steps {
		held, err := all.hold(step.req)
		if codeOf(err) != step.want {
			t.Errorf("step %d: %v, want code %d", i, err, step.want)
		}
		if err != nil {
			continue
		}
		if _, err := all.hold(continues(id, held.epoch)); codeOf(err) != codeInvalidFetchSessionEpoch {
			t.Errorf("step %d: a session in use was handed out again: %v", i, err)
		}
		all.release(held, start)
	}
	all.open[id].epoch = math.MaxInt32
	held, err := all.hold(continues(id, math.MaxInt32))
	if err != nil || held.epoch != 1 {
		t.Errorf("after the last epoch comes %d, %v", held.epoch, err)
	}
	all.drop(id)
	all.drop(id)
	all.release(held, start)
	if all.count() != 0 || all.weight != 0 {
		t.Errorf("%d sessions, weight %d", all.count(), all.weight)
	}
}

// TestSessionRoom: who gives way to a new session when all slots are taken.
func TestSessionRoom(t *testing.T) {
	start := time.Unix(1000, 0)
	young, old := start.Add(sessionPatience), start.Add(sessionPatience+1)
	tests := []struct {
		name   string
		weight int // of the new one; the others have 2, but the first 1
		used   time.Time
		held   bool
		now    time.Time
		gone   int // which one of the others, -1: the new one gets none
	}{
		{"all are young", 9, start, false, young, -1},
		{"the first is idle", 1, start, false, old, 0},
		{"the first is the smallest", 1, old, false, old, 0},
		{"the first is the smallest, though in use", 1, start, true, old, 0},
	}
	for _, test := range tests {
		all := newSessions()
		var ids []int32
		for i := range maxSessions {
			ids = append(ids, all.keep(sized(min(i+1, 2)), start))
			if i > 0 {
				all.open[ids[i]].used = old
			}
		}
		all.open[ids[0]].used, all.open[ids[0]].held = test.used, test.held
		id := all.keep(sized(test.weight), test.now)
		if (id == 0) != (test.gone < 0) || all.count() != maxSessions {
			t.Errorf("%s: id %d, %d sessions", test.name, id, all.count())
		}
		gone := slices.IndexFunc(ids, func(id int32) bool { return all.open[id] == nil })
		if gone != test.gone {
			t.Errorf("%s: number %d is gone, want %d", test.name, gone, test.gone)
		}
	}
}

// TestSmallestStays: a new session that is smaller than all others gets no place.
func TestSmallestStays(t *testing.T) {
	all := newSessions()
	start := time.Unix(1000, 0)
	old := start.Add(time.Hour)
	for range maxSessions {
		id := all.keep(sized(2), start)
		all.open[id].used = old
	}
	if id := all.keep(sized(1), old); id != 0 {
		t.Error("a larger session gave way to a smaller one")
	}
}

// TestSessionMemory: large sessions are not kept, whether they come large or grow, and neither are too many of them.
func TestSessionMemory(t *testing.T) {
	all := newSessions()
	now := time.Unix(1000, 0)
	if id := all.keep(sized(maxSessionWeight+1), now); id != 0 {
		t.Error("a session that is too large was kept")
	}
	if id := all.keep(sized(0), now); id != 0 {
		t.Error("an empty session was kept")
	}
	var last int32
	for range maxSessionsTotal / maxSessionWeight {
		if last = all.keep(sized(maxSessionWeight), now); last == 0 {
			t.Fatal("there is room, but the session was not kept")
		}
	}
	if id := all.keep(sized(1), now); id != 0 || all.weight != maxSessionsTotal {
		t.Errorf("id %d, weight %d", id, all.weight)
	}
	held, err := all.hold(continues(last, 1))
	if err != nil {
		t.Fatal(err)
	}
	held.put(partKey{index: math.MaxInt32})
	if all.resize(held) || all.open[last] != nil {
		t.Error("a session grew beyond its bound")
	}
	all.release(held, now)
	if id := all.keep(sized(1), now); id == 0 {
		t.Error("the room of a closed session is not free")
	}
	later := now.Add(2 * sessionPatience)
	if id := all.keep(sized(maxSessionWeight), later); id == 0 || all.count() != 10 {
		t.Errorf("no idle session gave way: id %d, %d sessions", id, all.count())
	}
}

// dialogue is a client that reads by sessions.
type dialogue struct {
	*client
	version   int16
	id, epoch int32
}

// ask sends a request as the next one of the session, and returns what it tells, as "partition:error:bytes>0".
func (d *dialogue) ask(req *kmsg.FetchRequest) []string {
	d.t.Helper()
	req.Version, req.SessionID, req.SessionEpoch = d.version, d.id, d.epoch
	resp := ask[*kmsg.FetchResponse](d.client, req)
	told := []string{}
	if resp.ErrorCode != 0 {
		return []string{fmt.Sprint("error ", resp.ErrorCode)}
	}
	d.id = resp.SessionID
	d.epoch++
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			told = append(told, fmt.Sprintf("%d:%d:%v", p.Partition, p.ErrorCode, len(p.RecordBatches) > 0))
		}
	}
	return told
}

// TestFetchSession: a session from its first request to its end, in the first version that has them and by topic ids.
func TestFetchSession(t *testing.T) {
	for _, version := range []int16{7, 12, 13, 18} {
		ts := startBroker(t, vfs.OS{}, Options{})
		from := ts.create("t", 3, nil)
		c := ts.dial()
		d := &dialogue{client: ts.dial(), version: version}
		nothing := func() *kmsg.FetchRequest { r := fetchFrom(version, from); r.Topics = nil; return r }
		just := func(partition int32, offset int64) *kmsg.FetchRequest {
			r := fetchFrom(version, from, offset)
			r.Topics[0].Partitions[0].Partition = partition
			return r
		}
		forget := func(partitions ...int32) *kmsg.FetchRequest {
			r := nothing()
			r.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "t", TopicID: from.ID(), Partitions: partitions}}
			return r
		}
		step := func(name string, req *kmsg.FetchRequest, want ...string) {
			t.Helper()
			if got := d.ask(req); !slices.Equal(got, want) {
				t.Errorf("version %d, %s: %q, want %q", version, name, got, want)
			}
		}
		step("open", fetchFrom(version, from, 0, 0, 0), "0:0:false", "1:0:false", "2:0:false")
		if d.id == 0 || d.epoch != 1 {
			t.Fatalf("version %d: session %d", version, d.id)
		}
		step("nothing new", nothing())
		c.produce(from, 1, batchOf(t, "a"))
		step("records", nothing(), "1:0:true")
		step("not yet read", nothing(), "1:0:true")
		step("read", just(1, 1))
		step("a bad position", just(2, 7), "2:1:false")
		step("it stays bad", nothing(), "2:1:false")
		step("it is mended", just(2, 0), "2:0:false")
		step("forget", forget(0, 2))
		c.produce(from, 0, batchOf(t, "b"))
		step("it is forgotten", nothing())
		step("it comes back", just(0, 0), "0:0:true")
		wrong := *d
		wrong.epoch += 2
		if got := wrong.ask(nothing()); !slices.Equal(got, []string{fmt.Sprint("error ", codeInvalidFetchSessionEpoch)}) {
			t.Errorf("version %d: a wrong epoch gives %q", version, got)
		}
		other := *d
		other.version = 25 - version // 7 and 18, 12 and 13
		if got := other.ask(nothing()); !slices.Equal(got, []string{fmt.Sprint("error ", codeFetchSessionTopicID)}) {
			t.Errorf("version %d: version %d in its session gives %q", version, other.version, got)
		}
		old := d.id
		d.epoch = epochNone
		step("close", just(1, 0), "1:0:true")
		if d.id != 0 || ts.sessions.count() != 0 {
			t.Errorf("version %d: session %d, %d are open", version, d.id, ts.sessions.count())
		}
		d.id, d.epoch = old, 1
		step("it is closed", nothing(), fmt.Sprint("error ", codeFetchSessionIDNotFound))
	}
}

// TestReopenSession: a full request that names a session replaces it; one whose last partition is forgotten ends.
func TestReopenSession(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	from := ts.create("t", 1, nil)
	d := &dialogue{client: ts.dial(), version: 12}
	d.ask(fetchFrom(12, from, 0))
	first := d.id
	d.epoch = epochOpen
	d.ask(fetchFrom(12, from, 0))
	if d.id == 0 || d.id == first || ts.sessions.count() != 1 {
		t.Errorf("session %d became %d, %d are open", first, d.id, ts.sessions.count())
	}
	last := fetchFrom(12, from)
	last.Topics = nil
	last.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "t", Partitions: []int32{0}}}
	if told := d.ask(last); len(told) != 0 || d.id != 0 || ts.sessions.count() != 0 {
		t.Errorf("told %q, session %d, %d are open", told, d.id, ts.sessions.count())
	}
}

// TestSessionLongPoll: a parked request of a session is woken, and tells what is new at that time.
func TestSessionLongPoll(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	from := ts.create("t", 3, nil)
	d := &dialogue{client: ts.dial(), version: 13}
	d.ask(fetchFrom(13, from, 0, 0, 0))
	writer := ts.dial()
	for i := range int64(3) {
		req := fetchFrom(13, from, i)
		req.Topics[0].Partitions[0].Partition = 2
		req.MaxWaitMillis, req.SessionID, req.SessionEpoch = 15_000, d.id, d.epoch
		id := d.send(req)
		writer.produce(from, 2, batchOf(t, "v"))
		within(t, 10*time.Second, func() {
			resp := d.receive(req, id).(*kmsg.FetchResponse)
			if resp.SessionID != d.id || len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
				t.Fatalf("round %d: %+v", i, resp)
			}
			if p := resp.Topics[0].Partitions[0]; p.Partition != 2 || p.HighWatermark != i+1 || len(p.RecordBatches) == 0 {
				t.Errorf("round %d: %+v", i, p)
			}
		})
		d.epoch++
	}
}

// TestSessionFairness: with room for one batch per answer, every partition has its turn.
func TestSessionFairness(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	from := ts.create("t", 4, nil)
	d := &dialogue{client: ts.dial(), version: 12}
	for p := range int32(4) {
		for range 3 {
			d.produce(from, p, batchOf(t, "v"))
		}
	}
	offsets := []int64{0, 0, 0, 0}
	req := fetchFrom(12, from, offsets...)
	var turns []int32
	for range 12 {
		req.MaxBytes, req.SessionID, req.SessionEpoch = 1, d.id, d.epoch
		resp := ask[*kmsg.FetchResponse](d.client, req)
		d.id, d.epoch = resp.SessionID, d.epoch+1
		req = fetchFrom(12, from)
		req.Topics[0].Partitions = nil
		for _, topic := range resp.Topics {
			for _, p := range topic.Partitions {
				if len(p.RecordBatches) == 0 {
					continue
				}
				turns = append(turns, p.Partition)
				offsets[p.Partition]++
				next := kmsg.NewFetchRequestTopicPartition()
				next.Partition, next.FetchOffset, next.PartitionMaxBytes = p.Partition, offsets[p.Partition], 1<<20
				req.Topics[0].Partitions = append(req.Topics[0].Partitions, next)
			}
		}
	}
	if want := []int32{0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3}; !slices.Equal(turns, want) {
		t.Errorf("turns %v, want %v", turns, want)
	}
}
