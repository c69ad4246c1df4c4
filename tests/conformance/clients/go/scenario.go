package main

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	partitions = 3
	perCodec   = 100
	limit      = time.Minute
	firstTime  = 1_700_000_000_000 // ms

	tellEmptyFromNull = "tell an empty value from none when it reads"
)

// record is one record as it is sent and as it comes back. Its time (ms) is unique: it tells which record it is.
type record struct {
	key, value []byte
	headers    []header
	time       int64
}

type header struct {
	key   string
	value []byte
}

type position struct {
	partition int32
	offset    int64
}

// client is one of the clients under test. Every method panics with what went wrong.
type client interface {
	version() string
	cannot() []string // what it has no way to do
	createTopic(topic string, config map[string]string)
	describeTopic(topic string) (partitions int, config map[string]string)
	topics() []string
	produce(topic, codec string, records []record)
	member(topic, group string) member
	describeGroup(group string) (state string, members int)
	groups() []string
	committed(group, topic string) map[int32]int64
	deleteGroup(group string)
	offsetsForTime(topic string, ms int64) map[int32]int64 // -1: there is none
	readOne(topic string, partition int32, offset int64) record
	deleteTopic(topic string)
}

// member is one member of a group. poll waits a little; leave commits what was polled.
type member interface {
	poll() map[position]record
	owned() []int32
	leave()
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// scenario is one run through ../README.md.
type scenario struct {
	client client
	topic  string
	checks int
}

func (s *scenario) expect(ok bool, what string, seen ...any) {
	s.checks++
	if !ok {
		panic(fmt.Sprintf("%s: %.600s", what, fmt.Sprint(seen...)))
	}
}

func (s *scenario) until(what string, condition func() bool) {
	for deadline := time.Now().Add(limit); !condition() && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	s.expect(condition(), "not within "+limit.String()+": "+what)
}

// records makes n records of one codec, the first of them being number first of all.
func (s *scenario) records(codec string, first, n int) []record {
	all := make([]record, n)
	for i := range all {
		r := record{
			key:   fmt.Appendf(nil, "key-%d", i%10),
			value: fmt.Appendf(nil, "%s %d %s", codec, i, strings.Repeat("x", 200)),
			headers: []header{{"codec", []byte(codec)}, {"same", []byte("1")}, {"same", []byte("2")},
				{"empty", []byte{}}, {"null", nil}},
			time: firstTime + int64(first+i)*1000,
		}
		switch i % 10 {
		case 3:
			r.value = nil
		case 5:
			r.value = []byte{}
		case 7:
			r.key = nil
		}
		all[i] = r
	}
	return all
}

// compare wants everything sent, each record as it was sent, in order and without holes.
func (s *scenario) compare(read map[position]record, sent []record) {
	s.expect(len(read) == len(sent), "the number of records", len(read), " of ", len(sent))
	want := map[int64]record{}
	for _, r := range sent {
		if slices.Contains(s.client.cannot(), tellEmptyFromNull) {
			r = emptyAsNull(r)
		}
		want[r.time] = r
	}
	var order []position
	for at, r := range read {
		order = append(order, at)
		if !reflect.DeepEqual(r, want[r.time]) {
			s.expect(false, "what was read is what was sent", r, "; sent: ", want[r.time])
		}
	}
	slices.SortFunc(order, func(a, b position) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.offset, b.offset))
	})
	next := map[int32]int64{}
	last := map[string]position{} // of a key: its partition, and its newest time as offset
	for _, at := range order {
		s.mustHold(at.offset == next[at.partition], "no hole in the offsets", at)
		next[at.partition]++
		r := read[at]
		if r.key == nil {
			continue
		}
		before, seen := last[string(r.key)]
		s.mustHold(!seen || before.partition == at.partition && before.offset < r.time, "the order of a key", at)
		last[string(r.key)] = position{at.partition, r.time}
	}
	s.expect(true, "order")
}

func emptyAsNull(r record) record {
	if len(r.value) == 0 {
		r.value = nil
	}
	r.headers = slices.Clone(r.headers)
	for i, h := range r.headers {
		if len(h.value) == 0 {
			r.headers[i].value = nil
		}
	}
	return r
}

// mustHold is expect for what is asked once for each record, and counted once for all.
func (s *scenario) mustHold(ok bool, what string, seen ...any) {
	if !ok {
		s.expect(false, what, seen...)
	}
}

// reader runs a member in a goroutine of its own.
type reader struct {
	mu    sync.Mutex
	read  map[position]record
	owned []int32

	leaving, left chan struct{}
}

func (s *scenario) join(group string) *reader {
	r := &reader{read: map[position]record{}, leaving: make(chan struct{}), left: make(chan struct{})}
	go func() {
		defer close(r.left)
		defer exitOnPanic()
		m := s.client.member(s.topic, group)
		for {
			select {
			case <-r.leaving:
				m.leave()
				return
			default:
			}
			got, owned := m.poll(), m.owned()
			slices.Sort(owned)
			r.mu.Lock()
			for at, record := range got {
				r.read[at] = record
			}
			r.owned = owned
			r.mu.Unlock()
		}
	}()
	return r
}

func (s *scenario) leave(r *reader) {
	close(r.leaving)
	select {
	case <-r.left:
		s.expect(true, "left")
	case <-time.After(limit):
		s.expect(false, "a member leaves in time")
	}
}

func (r *reader) state() (map[position]record, []int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	read := map[position]record{}
	for at, record := range r.read {
		read[at] = record
	}
	return read, r.owned
}

func exitOnPanic() {
	if failure := recover(); failure != nil {
		fmt.Println("FAILED:", failure)
		os.Exit(1)
	}
}

// String is a record as a person can compare it.
func (r record) String() string {
	quote := func(b []byte) string {
		if b == nil {
			return "null"
		}
		return fmt.Sprintf("%.40q", b)
	}
	text := fmt.Sprintf("time %d, key %s, value %s", r.time, quote(r.key), quote(r.value))
	for _, h := range r.headers {
		text += fmt.Sprintf(", %s %s", h.key, quote(h.value))
	}
	return text
}
