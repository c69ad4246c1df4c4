package kafka

import (
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log/vfs"
	"brokerd/log/vfs/memfs"
	"brokerd/producer"
)

// garbage are the ways in which the clients of TestFlood misbehave.
func garbage() []string {
	return []string{
		"",
		"GET / HTTP/1.1\r\nHost: broker\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"\x7f\xff\xff\xff", "\x00\x00\x00\x00", "\xff\xff\xff\xff",
		"\x06\x3f\xff\xff\x00\x00\x00\x09\x00\x00\x00\x01", // Produce of 100 MiB, of which nothing comes
		"\x00\x00\x00\x10\x00\x03\x00\x01\x00\x00\x00\x01\xff\xff\x7f\xff\xff\xff\x00\x00",
		"\x06\x3f\xff\xff\x00\x00\x00\x09" + strings.Repeat("x", 10_000), // the same, and a little comes
		"\x00\x00\x00\x40\x00\x03\x00\x01\x00\x00\x00\x01",               // cut off after half
	}
}

// TestFlood: hundreds of clients that send garbage cost neither memory nor the others' service.
func TestFlood(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{
		Budget: producer.NewBudget(256 << 20), Limits: Limits{Frame: 50 * time.Millisecond, FirstRequest: 100 * time.Millisecond},
	})
	to := ts.create("t", 1, nil)
	good := ts.dial()
	good.produce(to, 0, batchOf(t, "v"))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 25 {
		for _, bytes := range garbage() {
			ts.dial().nc.Write([]byte(bytes))
		}
		good.produce(to, 0, batchOf(t, "v"))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// What large frames may take, twice: a frame may have been let go, and its memory taken anew, since the collection.
	if limit := before.HeapAlloc + 2*uint64(ts.largeLimit()) + 16<<20; after.HeapAlloc > limit {
		t.Errorf("the heap is %d bytes, more than %d", after.HeapAlloc, limit)
	}
	if offset := good.produce(to, 0, batchOf(t, "v")); offset != 26 {
		t.Errorf("the last batch is at %d", offset)
	}
}

// TestTooManyParts: a request whose parts would take much memory is refused before it is decoded.
func TestTooManyParts(t *testing.T) {
	ts := startServer(t, Options{})
	records := make([][]byte, 800_000)
	body := produceBody(9, records...)
	frame := binary.BigEndian.AppendUint32(nil, uint32(len(body)+11))
	frame = append(frame, 0, keyProduce, 0, 9, 0, 0, 0, 1, 0xff, 0xff, 0)
	c := ts.dial()
	c.nc.Write(append(frame, body...))
	c.wantClosed()
	eventually(t, func() bool { return strings.Contains(ts.log.String(), "too many parts") })
}

// TestBudget: a frame waits until the memory for it is there; nobody else's answer waits with it.
func TestBudget(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{Budget: producer.NewBudget(1 << 20)})
	to := ts.create("t", 1, nil)
	holder, waiter := ts.dial(), ts.dial()
	large := batchOf(t, strings.Repeat("x", 600<<10))
	frame, _ := holder.frame(produceTo(9, to, 0, large))
	holder.nc.Write(frame[:10_000])
	eventually(t, func() bool { return ts.o.Budget.InUse() > 0 })
	req := produceTo(9, to, 0, large)
	sent := make(chan int32)
	go func() { sent <- waiter.send(req) }()
	eventually(t, func() bool { return ts.o.Budget.Waiting() == 1 })
	holder.nc.Close()
	if p := waiter.receive(req, <-sent).(*kmsg.ProduceResponse).Topics[0].Partitions[0]; p.ErrorCode != 0 {
		t.Errorf("error %d", p.ErrorCode)
	}
	eventually(t, func() bool { return ts.o.Budget.InUse() == 0 })
}

// TestFilesAreLetGo: however a fetch ends, it does not keep the segment open.
func TestFilesAreLetGo(t *testing.T) {
	disk := memfs.New()
	ts := startBroker(t, disk, Options{})
	from := ts.create("t", 2, map[string]string{"max.message.bytes": "20000000"})
	writer := ts.dial()
	writer.produce(from, 0, batchOf(t, strings.Repeat("x", 15<<20)))
	writer.produce(from, 1, batchOf(t, "v"))

	ask[*kmsg.FetchResponse](ts.dial(), fetchFrom(12, from, 0, 0)) // sent
	late := fetchFrom(12, from, 1, 0)                              // waited, in vain
	late.MinBytes, late.MaxWaitMillis = 1<<20, 10
	ask[*kmsg.FetchResponse](ts.dial(), late)
	partly := fetchFrom(12, from, 0, 99) // one partition has an error
	ask[*kmsg.FetchResponse](ts.dial(), partly)
	gone := ts.dial() // the client goes in the middle
	sent := ts.Stats().BytesOut.Load()
	gone.send(fetchFrom(12, from, 0, 0))
	eventually(t, func() bool { return ts.Stats().BytesOut.Load() > sent })
	gone.nc.Close()

	ts.topics.Delete("t")
	eventually(t, func() bool {
		return !slices.ContainsFunc(disk.OpenFiles(), func(name string) bool { return strings.HasSuffix(name, ".log") })
	})
}
