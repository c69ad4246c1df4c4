package client_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	client "brokerd/clients/go"
)

// read reads to the bound, and returns the offsets.
func read(t *testing.T, nc *nats.Conn, config client.ReaderConfig) (offsets []int64) {
	t.Helper()
	r, err := client.NewReader(within(t, 10*time.Second), nc, config)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		record, err := r.Next(within(t, 20*time.Second))
		if err == io.EOF {
			return offsets
		}
		if err != nil {
			t.Fatal(err)
		}
		if string(record.Data) != fmt.Sprint(record.Offset()) {
			t.Fatalf("message %d is %q", record.Offset(), record.Data)
		}
		offsets = append(offsets, record.Offset())
	}
}

func TestRanges(t *testing.T) {
	nc := connect(t)
	name := stream(t, nc)
	if got := read(t, nc, client.ReaderConfig{Stream: name}); len(got) > 0 {
		t.Errorf("an empty stream has %v", got)
	}
	fill(t, nc, name, 10)
	middle := timeOf(t, nc, name, 5)
	for _, c := range []struct {
		name   string
		config client.ReaderConfig
		want   []int64
	}{
		{"all", client.ReaderConfig{}, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"from an offset", client.ReaderConfig{From: client.Offset(7)}, []int64{7, 8, 9}},
		{"to an offset", client.ReaderConfig{To: client.Offset(2)}, []int64{0, 1}},
		{"between offsets", client.ReaderConfig{From: client.Offset(3), To: client.Offset(5)}, []int64{3, 4}},
		{"an empty range", client.ReaderConfig{From: client.Offset(5), To: client.Offset(5)}, nil},
		{"beyond the end", client.ReaderConfig{From: client.Offset(8), To: client.Offset(100)}, []int64{8, 9}},
		{"only beyond the end", client.ReaderConfig{From: client.Offset(50)}, nil},
		{"from the end", client.ReaderConfig{From: client.End()}, nil},
		{"to the end", client.ReaderConfig{From: client.Offset(9), To: client.End()}, []int64{9}},
		{"some subjects", client.ReaderConfig{Subjects: []string{name + ".odd"}, To: client.Offset(6)}, []int64{1, 3, 5}},
		{"before all times", client.ReaderConfig{To: client.At(middle.Add(-time.Hour))}, nil},
		{"after all times", client.ReaderConfig{From: client.At(middle.Add(time.Hour))}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Stream = name
			if got := read(t, nc, c.config); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
	after := read(t, nc, client.ReaderConfig{Stream: name, From: client.At(middle)})
	before := read(t, nc, client.ReaderConfig{Stream: name, To: client.At(middle)})
	if all := append(before, after...); !slices.Equal(all, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) || !slices.Contains(after, 5) {
		t.Errorf("before %s: %v, then: %v", middle, before, after)
	}
}

func timeOf(t *testing.T, nc *nats.Conn, name string, offset uint64) time.Time {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	s, err := js.Stream(within(t, 10*time.Second), name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetMsg(within(t, 10*time.Second), offset+1)
	if err != nil {
		t.Fatal(err)
	}
	return m.Time
}

func TestFollow(t *testing.T) {
	nc := connect(t)
	name := stream(t, nc)
	r, err := client.NewReader(t.Context(), nc, client.ReaderConfig{Stream: name, Follow: true, To: client.Offset(3)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	fill(t, nc, name, 5)
	for want := range int64(3) {
		record, err := r.Next(within(t, 20*time.Second))
		if err != nil || record.Offset() != want {
			t.Fatalf("got %+v, %v, want offset %d", record, err, want)
		}
	}
	if _, err := r.Next(within(t, 20*time.Second)); err != io.EOF {
		t.Errorf("at the bound: %v", err)
	}
}

func TestNoStreamToRead(t *testing.T) {
	_, err := client.NewReader(t.Context(), connect(t), client.ReaderConfig{Stream: "none"})
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("got %v", err)
	}
}
