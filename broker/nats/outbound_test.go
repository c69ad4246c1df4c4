package nats

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Whatever is queued comes out, in order, in whatever batches; what is taken is given back; there is never more than may
// be, and what ends the queue is told to those who wait.
func TestOutboundAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := int64(rapid.SampledFrom([]int{100, 10_000, 1 << 20}).Draw(t, "limit"))
		b := newBuffers()
		o := newOutbound(Limits{MaxPending: limit, Memory: 1 << 30}, &b)
		killed := false
		o.kill = func(error) { killed = true }
		o.understandHeaders(true)
		sub := &subscription{sid: []byte("1")}
		var want, got bytes.Buffer
		var eased <-chan struct{}
		var out []*chunk
		give := func() { o.written(out); out = nil }
		t.Repeat(map[string]func(*rapid.T){
			"message": func(t *rapid.T) {
				header := bytes.Repeat([]byte("h"), rapid.IntRange(0, 20).Draw(t, "header"))
				data := bytes.Repeat([]byte("d"), rapid.SampledFrom([]int{0, 1, 50, 5_000, 200_000}).Draw(t, "data"))
				wait, ok, _ := o.message(sub, &publication{subject: []byte("s"), header: header, data: data}, nil)
				if ok {
					line := fmt.Sprintf("MSG s 1 %d\r\n", len(data))
					if len(header) > 0 {
						line = fmt.Sprintf("HMSG s 1 %d %d\r\n", len(header), len(header)+len(data))
					}
					want.WriteString(line)
					want.Write(header)
					want.Write(data)
					want.WriteString("\r\n")
				} else if !killed {
					t.Fatal("a message was refused and the connection goes on")
				}
				if wait != nil {
					eased = wait
				}
			},
			"take": func(t *rapid.T) {
				give()
				out, _ = o.take(nil)
				for _, c := range out {
					got.Write(c.b)
				}
			},
			"": func(t *rapid.T) {
				if pending, _ := o.state(); !killed && (pending > limit || b.taken.Load() != pending) {
					t.Fatalf("%d bytes are pending of %d, %d are taken", pending, limit, b.taken.Load())
				}
				if !bytes.HasPrefix(want.Bytes(), got.Bytes()) {
					t.Fatal("what came out is not what went in")
				}
			},
		})
		give()
		for more, _ := o.take(nil); len(more) > 0; more, _ = o.take(nil) {
			for _, c := range more {
				got.Write(c.b)
			}
			o.written(more)
		}
		if !bytes.Equal(want.Bytes(), got.Bytes()) {
			t.Fatalf("%d bytes came out of %d", got.Len(), want.Len())
		}
		o.close()
		if eased != nil {
			<-eased
		}
		if n := b.taken.Load(); n != 0 {
			t.Fatalf("%d bytes are still taken", n)
		}
	})
}

func TestSlowClientsAreClosedSoonerWhenMemoryIsShort(t *testing.T) {
	b := newBuffers()
	o := newOutbound(Limits{MaxPending: 64 << 20, Memory: 4 << 20}, &b)
	var why error
	o.kill = func(err error) { why = err }
	b.taken.Add(4 << 20) // of others
	sub := &subscription{sid: []byte("1")}
	m := &publication{subject: []byte("s"), data: make([]byte, 100<<10)}
	for range 10 {
		if _, ok, _ := o.message(sub, m, nil); !ok {
			t.Fatal("closed with less than its share")
		}
	}
	if _, ok, _ := o.message(sub, m, nil); ok || why != errSlow || o.why() != errSlow {
		t.Errorf("goes on with more than its share: %v", why)
	}
}

func TestConsumersHearOfRoom(t *testing.T) {
	b := newBuffers()
	o := newOutbound(Limits{MaxPending: 64 << 20, Memory: 1 << 30}, &b)
	sub := &subscription{sid: []byte("1")}
	for o.room("in.box") > 0 {
		o.message(sub, &publication{subject: []byte("s"), data: make([]byte, 100<<10)}, nil)
	}
	told := false
	for more, _ := o.take(nil); len(more) > 0; more, _ = o.take(nil) {
		if _, yes := o.written(more)["in.box"]; yes {
			told = true
			if o.room("in.box") < comfortable/2 {
				t.Error("told before there is room")
			}
		}
	}
	if !told {
		t.Error("not told")
	}
	o.room("in.box")
	if pending := o.close(); len(pending) != 0 {
		t.Errorf("there was room, and %v waits", pending)
	}
}
