package kafka

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log/vfs"
	"brokerd/log/vfs/memfs"
	"brokerd/topic"
)

func TestFetchVersions(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	from := ts.create("t", 2, nil)
	c := ts.dial()
	c.produce(from, 0, batchOf(t, "a", "b"))
	c.produce(from, 0, batchOf(t, "c"))
	for version := int16(4); version <= 18; version++ {
		resp := ask[*kmsg.FetchResponse](c, fetchFrom(version, from, 0, 0))
		p, empty := resp.Topics[0].Partitions[0], resp.Topics[0].Partitions[1]
		if got := valuesOf(t, p.RecordBatches); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("version %d: %q", version, got)
		}
		if p.HighWatermark != 3 || p.LastStableOffset != 3 || p.ErrorCode != 0 || resp.SessionID != 0 {
			t.Errorf("version %d: %+v", version, p)
		}
		if empty.RecordBatches == nil || len(empty.RecordBatches) != 0 {
			t.Errorf("version %d: an empty partition has records %v, want an empty array", version, empty.RecordBatches)
		}
	}
	if out := from.Stats().RecordsOut.Load(); out != 15*3 {
		t.Errorf("%d records were counted, want %d", out, 15*3)
	}
}

// TestFetchInsideBatch: the batch that holds the offset is sent whole.
func TestFetchInsideBatch(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	from := ts.create("t", 1, nil)
	c := ts.dial()
	c.produce(from, 0, batchOf(t, "a0", "a1"))
	c.produce(from, 0, batchOf(t, "b2", "b3"))
	for offset, want := range [][]string{
		{"a0", "a1", "b2", "b3"}, {"a0", "a1", "b2", "b3"}, {"b2", "b3"}, {"b2", "b3"}, {},
	} {
		p := ask[*kmsg.FetchResponse](c, fetchFrom(12, from, int64(offset))).Topics[0].Partitions[0]
		if got := valuesOf(t, p.RecordBatches); !slices.Equal(got, want) || p.ErrorCode != 0 {
			t.Errorf("offset %d: %q, error %d, want %q", offset, got, p.ErrorCode, want)
		}
	}
}

// TestFetchSizes: the first partition with records gives at least one batch, the others keep to the limits.
func TestFetchSizes(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	from := ts.create("t", 4, map[string]string{"max.message.bytes": "20000000"})
	c := ts.dial()
	small, large := batchOf(t, "small"), batchOf(t, strings.Repeat("x", 5<<20))
	c.produce(from, 1, large)
	c.produce(from, 2, small)
	c.produce(from, 3, small)
	c.produce(from, 3, small)
	one := int32(len(small))
	tests := []struct {
		name        string
		part, total int32
		start       int64 // in partition 1
		want        [4]int
	}{
		{"tiny limits", 1, 1, 0, [4]int{0, len(large), 0, 0}},
		{"the large batch is over", 1, 1, 1, [4]int{0, 0, len(small), 0}},
		{"room for two", one, 2 * one, 1, [4]int{0, 0, len(small), len(small)}},
		{"room for all", 10 << 20, 10 << 20, 0, [4]int{0, len(large), len(small), 2 * len(small)}},
		{"zero", 0, 0, 1, [4]int{0, 0, len(small), 0}},
	}
	for _, test := range tests {
		req := fetchFrom(11, from, 0, test.start, 0, 0)
		req.MaxBytes = test.total
		for i := range req.Topics[0].Partitions {
			req.Topics[0].Partitions[i].PartitionMaxBytes = test.part
		}
		resp := ask[*kmsg.FetchResponse](c, req)
		for i, p := range resp.Topics[0].Partitions {
			if len(p.RecordBatches) != test.want[i] || p.ErrorCode != 0 {
				t.Errorf("%s: partition %d has %d bytes, error %d, want %d bytes", test.name, i, len(p.RecordBatches),
					p.ErrorCode, test.want[i])
			}
		}
	}
}

// TestFetchErrors: an error concerns its partition alone.
func TestFetchErrors(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	from := ts.create("t", 2, nil)
	c := ts.dial()
	for range 5 {
		c.produce(from, 0, batchOf(t, "v"))
		c.produce(from, 1, batchOf(t, "v"))
	}
	p, _ := from.Partition(0)
	if _, err := p.Trim(2); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		change func(*kmsg.FetchRequestTopicPartition)
		want   int16
	}{
		{"below the start", func(p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = 1 }, codeOffsetOutOfRange},
		{"negative", func(p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = -5 }, codeOffsetOutOfRange},
		{"above the end", func(p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = 6 }, codeOffsetOutOfRange},
		{"at the start", func(p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = 2 }, codeNone},
		{"at the end", func(p *kmsg.FetchRequestTopicPartition) { p.FetchOffset = 5 }, codeNone},
		{"unknown partition", func(p *kmsg.FetchRequestTopicPartition) { p.Partition = 9 }, codeUnknownTopicOrPartition},
		{"newer epoch", func(p *kmsg.FetchRequestTopicPartition) { p.CurrentLeaderEpoch = 1000 }, codeUnknownLeaderEpoch},
	}
	for _, test := range tests {
		req := fetchFrom(12, from, 2, 3)
		test.change(&req.Topics[0].Partitions[0])
		got := ask[*kmsg.FetchResponse](c, req).Topics[0].Partitions
		if got[0].ErrorCode != test.want || got[1].ErrorCode != 0 || len(got[1].RecordBatches) == 0 {
			t.Errorf("%s: errors %d and %d, want %d and 0", test.name, got[0].ErrorCode, got[1].ErrorCode, test.want)
		}
	}
	req := fetchFrom(13, from, 0)
	req.Topics[0].TopicID[3] ^= 1
	if got := ask[*kmsg.FetchResponse](c, req).Topics[0].Partitions[0].ErrorCode; got != codeUnknownTopicID {
		t.Errorf("unknown id: error %d", got)
	}
}

// TestLongPoll: a fetch waits for records, not longer than asked.
func TestLongPoll(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	from := ts.create("t", 2, nil)
	reader, writer := ts.dial(), ts.dial()
	req := fetchFrom(12, from, 0, 0)
	req.MaxWaitMillis = 15_000
	for i := range int64(3) {
		req.Topics[0].Partitions[1].FetchOffset = i
		id := reader.send(req)
		writer.produce(from, 1, batchOf(t, "v"))
		within(t, 10*time.Second, func() {
			p := reader.receive(req, id).(*kmsg.FetchResponse).Topics[0].Partitions[1]
			if len(p.RecordBatches) == 0 || p.HighWatermark != i+1 {
				t.Errorf("round %d: %d bytes, high watermark %d", i, len(p.RecordBatches), p.HighWatermark)
			}
		})
	}
	req.Topics[0].Partitions[1].FetchOffset, req.MaxWaitMillis = 3, 20
	resp := ask[*kmsg.FetchResponse](reader, req)
	if p := resp.Topics[0].Partitions[1]; p.ErrorCode != 0 || len(p.RecordBatches) != 0 {
		t.Errorf("after the wait: %+v", p)
	}
	req.Topics[0].Partitions[1].FetchOffset, req.MaxWaitMillis, req.MinBytes = 0, 15_000, 1<<20
	within(t, 10*time.Second, func() { // more is asked for than there is: an error ends the wait
		id := reader.send(req)
		ts.topics.Delete("t")
		got := reader.receive(req, id).(*kmsg.FetchResponse).Topics[0].Partitions
		if max(got[0].ErrorCode, got[1].ErrorCode) != codeUnknownTopicOrPartition { // one goes before the other
			t.Errorf("after the deletion: errors %d and %d", got[0].ErrorCode, got[1].ErrorCode)
		}
	})
}

// TestDrainWakesLongPolls: when the server stops, nobody has to wait for a parked fetch.
func TestDrainWakesLongPolls(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{Limits: Limits{Drain: time.Minute}})
	from := ts.create("t", 1, nil)
	c := ts.dial()
	req := fetchFrom(12, from, 0)
	req.MaxWaitMillis = 60_000
	id := c.send(req)
	eventually(t, func() bool { return ts.Stats().BytesIn.Load() > 0 })
	within(t, 10*time.Second, func() {
		ts.stop()
		c.receive(req, id)
		c.wantClosed()
		<-ts.done
	})
}

// TestHangupWakesLongPolls: a parked fetch ends when its client goes.
func TestHangupWakesLongPolls(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	from := ts.create("t", 1, nil)
	c := ts.dial()
	req := fetchFrom(12, from, 0)
	req.MaxWaitMillis = 60_000
	c.send(req)
	eventually(t, func() bool { return ts.Stats().BytesIn.Load() > 0 })
	c.nc.Close()
	eventually(t, func() bool { return ts.Stats().Connections.Load() == 0 })
}

// TestFetchDamaged: a damaged batch is withheld, and the offsets around it are served.
func TestFetchDamaged(t *testing.T) {
	dir := t.TempDir()
	before := openData(t, vfs.OS{}, dir)
	ts := startServer(t, Options{Topics: before.topics, IDs: before.ids})
	made := ts.create("t", 2, nil)
	c := ts.dial()
	for range 3 {
		c.produce(made, 0, batchOf(t, "value"))
	}
	c.produce(made, 1, batchOf(t, "other"))
	before.close()
	damage(t, dir, made, len(batchOf(t, "value"))+70)

	after := openData(t, vfs.OS{}, dir)
	c = startServer(t, Options{Topics: after.topics, IDs: after.ids}).dial()
	for offset, want := range []int16{codeNone, codeCorruptMessage, codeNone} {
		got := ask[*kmsg.FetchResponse](c, fetchFrom(12, made, int64(offset), 0)).Topics[0].Partitions
		if got[1].ErrorCode != 0 || len(got[1].RecordBatches) == 0 {
			t.Errorf("offset %d: the other partition has error %d", offset, got[1].ErrorCode)
		}
		values := valuesOf(t, got[0].RecordBatches)
		if got[0].ErrorCode != want || want == codeNone && !slices.Equal(values, []string{"value"}) {
			t.Errorf("offset %d: error %d, %q, want error %d", offset, got[0].ErrorCode, values, want)
		}
	}
}

// damage flips a bit at a place of the first segment of partition 0.
func damage(t *testing.T, dir string, of *topic.Topic, at int) {
	t.Helper()
	var segments []string
	filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error {
		if strings.HasSuffix(path, ".log") && strings.Contains(path, of.ID().String()) &&
			filepath.Base(filepath.Dir(path)) == "0" {
			segments = append(segments, path)
		}
		return nil
	})
	if len(segments) != 1 {
		t.Fatalf("segments: %q", segments)
	}
	b, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 4
	if err := os.WriteFile(segments[0], b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestStorageFailure: producers are told, readers go on.
func TestStorageFailure(t *testing.T) {
	disk := memfs.New()
	ts := startBroker(t, disk, Options{})
	to := ts.create("t", 1, nil)
	c := ts.dial()
	c.produce(to, 0, batchOf(t, "kept"))
	disk.Fail(memfs.From(memfs.Sync, "*", 1, syscall.EIO))
	for range 2 {
		p := ask[*kmsg.ProduceResponse](c, produceTo(9, to, 0, batchOf(t, "lost"))).Topics[0].Partitions[0]
		if p.ErrorCode != codeStorageError {
			t.Errorf("error %d, want %d", p.ErrorCode, codeStorageError)
		}
	}
	p := ask[*kmsg.FetchResponse](c, fetchFrom(12, to, 0)).Topics[0].Partitions[0]
	if got := valuesOf(t, p.RecordBatches); p.ErrorCode != 0 || !slices.Equal(got, []string{"kept"}) {
		t.Errorf("read %q, error %d", got, p.ErrorCode)
	}
}

// TestProduceTimeout: what is not durable in time is reported as such.
func TestProduceTimeout(t *testing.T) {
	disk := memfs.New()
	ts := startBroker(t, disk, Options{})
	to := ts.create("t", 1, nil)
	c := ts.dial()
	c.produce(to, 0, batchOf(t, "first"))
	release := make(chan struct{})
	disk.Fail(func(op memfs.Op) error {
		if op.Kind == memfs.Sync {
			<-release
		}
		return nil
	})
	req := produceTo(9, to, 0, batchOf(t, "late"))
	req.TimeoutMillis = 1
	p := ask[*kmsg.ProduceResponse](c, req).Topics[0].Partitions[0]
	if p.ErrorCode != codeRequestTimedOut || p.ErrorMessage == nil {
		t.Errorf("%+v", p)
	}
	if p := ask[*kmsg.FetchResponse](c, fetchFrom(12, to, 0)).Topics[0].Partitions[0]; p.HighWatermark != 1 {
		t.Errorf("a reader sees up to %d, but only 1 is durable", p.HighWatermark)
	}
	close(release)
	eventually(t, func() bool {
		return ask[*kmsg.FetchResponse](c, fetchFrom(12, to, 0)).Topics[0].Partitions[0].HighWatermark == 2
	})
}
