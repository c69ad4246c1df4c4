package stream

import (
	"strconv"
	"sync"
	"testing"
)

// BenchmarkPublish is what checking, indexing and writing a small message costs, without a disk.
func BenchmarkPublish(b *testing.B) {
	l := newLive(b)
	s := l.create(Config{Name: "S", Subjects: []string{"s.*"}, Storage: Memory, PersistMode: PersistDefault})
	names := make([]string, 1000)
	for i := range names {
		names[i] = "s." + strconv.Itoa(i)
	}
	data := make([]byte, 128)
	var wg sync.WaitGroup
	done := func(_ Receipt, err error) {
		if err != nil {
			b.Error(err)
		}
		wg.Done()
	}
	slots := make(chan struct{}, 50_000)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		wg.Add(1)
		slots <- struct{}{}
		s.Publish(Publication{Subject: names[i%len(names)], Data: data, Done: func(r Receipt, err error) { done(r, err); <-slots }})
		i++
	}
	wg.Wait()
}

// BenchmarkNext is what a consumer of one subject among many asks for each message.
func BenchmarkNext(b *testing.B) {
	x := newIndex()
	for i := range uint64(1_000_000) {
		id := x.subjects.intern("s." + strconv.Itoa(int(i*7919%10_000)))
		x.add(i+1, int64(i), cell{subject: id, size: 100})
	}
	for name, filters := range map[string][]string{"literal": {"s.17"}, "wildcard": {"s.*", "t"}, "rare": {"s.17.>", "s.18"}} {
		b.Run(name, func(b *testing.B) {
			at := uint64(1)
			for b.Loop() {
				m, _ := x.subjects.matcher(filters)
				if at = x.next(at, m) + 1; at == 1 {
					continue
				}
			}
		})
	}
}
