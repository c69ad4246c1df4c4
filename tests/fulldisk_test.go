//go:build conformance

package tests

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"golang.org/x/sys/unix"

	"brokerd/tests/harness"
)

// smallDiskEnv names a directory on a file system of some 64 MB that belongs to this test.
const smallDiskEnv = "BROKERD_TEST_SMALL_DISK"

// The disk runs full while the broker serves, stays full over a crash, and gets space again: producers get a storage
// error in time, reads go on, nothing acknowledged is lost, and writes resume by themselves.
func TestFullDisk(t *testing.T) {
	const topic = "full"
	disk := os.Getenv(smallDiskEnv)
	if disk == "" {
		t.Fatalf("%s is not set", smallDiskEnv)
	}
	ballast := filepath.Join(disk, "ballast")
	store(t, ballast, make([]byte, 24<<20))
	o := harness.Options{Binary: os.Getenv(binaryEnv), Data: filepath.Join(disk, "data")}
	s := start(t, o)
	create(t, client(t, s), topic, 1, settings{"segment.bytes": smallSegment})
	d := &diskFiller{topic: topic, ledger: harness.NewLedger(), m: newMaker(90)}

	d.fill(t, s)
	t.Logf("full after %d batches; %d bytes are free", d.ledger.Len(), free(t, disk))
	for range 5 {
		if err := d.produce(t, s); !errors.Is(err, kerr.KafkaStorageError) {
			t.Errorf("while the disk is full: %v, want a storage error", err)
		}
		verify(t, s, d.ledger, topic)
		time.Sleep(time.Second)
	}
	remove(t, ballast)
	d.heals(t, s)
	verify(t, s, d.ledger, topic)

	d.fill(t, s)
	kill(t, s)
	consume(t, filepath.Join(disk, "rest"))
	t.Logf("killed and stuffed: %d bytes are free", free(t, disk))
	startOnFullDisk(t, o, d)
	remove(t, filepath.Join(disk, "rest"))
	s = start(t, o)
	verify(t, s, d.ledger, topic)
	s = restart(t, s)
	read := verify(t, s, d.ledger, topic)
	report(t, harness.Duplicates(read, faultLimit))
}

// startOnFullDisk starts a broker without a free byte: either it serves reads, or it ends by itself with a message.
func startOnFullDisk(t *testing.T, o harness.Options, d *diskFiller) {
	t.Helper()
	s, err := harness.Launch(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AwaitReady(); err != nil {
		code, stuck := s.Wait()
		t.Logf("with a full disk the broker ended with code %d:\n%s", code, s.Log())
		if stuck != nil || code <= 0 || code > 3 || len(s.Faults()) > 0 {
			t.Errorf("exit code %d, %v", code, stuck)
		}
		return
	}
	verify(t, s, d.ledger, d.topic)
	if err := d.produce(t, s); err != nil && !errors.Is(err, kerr.KafkaStorageError) {
		t.Errorf("after a start on a full disk: %v, want a storage error", err)
	}
	stopOnFullDisk(t, s)
}

// stopOnFullDisk stops a broker that may lack the space to leave everything as after a clean stop. Then it must say so
// by its exit code; the next start recovers.
func stopOnFullDisk(t *testing.T, s *harness.Server) {
	t.Helper()
	if err := s.Terminate(); err != nil {
		t.Fatal(err)
	}
	code, err := s.Wait()
	if err != nil || code != 0 && code != 1 {
		t.Errorf("stopped on a full disk: exit code %d, %v", code, err)
	}
}

// diskFiller produces batches of one record, with plain requests, so that it sees each answer as it is.
type diskFiller struct {
	topic  string
	ledger *harness.Ledger
	m      *maker
}

// produce sends one batch and enters it into the ledger if it is acknowledged.
func (d *diskFiller) produce(t *testing.T, s *harness.Server) error {
	t.Helper()
	r := d.m.records(d.topic, 0, 1, 100_000)[0]
	r.Key, r.Timestamp = nil, time.Now().Truncate(time.Millisecond)
	w := dial(t, s)
	defer w.Close()
	began := time.Now()
	answer := w.produce(t, d.topic, 0, newBatch(0, nil, r.Timestamp.UnixMilli(), r.Value))
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the answer took %s", took)
	}
	if answer.ErrorCode != 0 {
		return kerr.ErrorForCode(answer.ErrorCode)
	}
	r.Offset = answer.BaseOffset
	return d.ledger.Ack(r)
}

// fill produces until the disk is full.
func (d *diskFiller) fill(t *testing.T, s *harness.Server) {
	t.Helper()
	for range 2000 {
		if err := d.produce(t, s); err != nil {
			if !errors.Is(err, kerr.KafkaStorageError) {
				t.Fatalf("when the disk ran full: %v, want a storage error", err)
			}
			return
		}
	}
	t.Fatal("the disk never ran full")
}

// heals waits until a record is taken again, and checks that the offsets have no gap.
func (d *diskFiller) heals(t *testing.T, s *harness.Server) {
	t.Helper()
	eventually(t, 30*time.Second, "writes resume after there is space again", func() bool { return d.produce(t, s) == nil })
	for range 20 {
		if err := d.produce(t, s); err != nil {
			t.Errorf("after there was space again: %v", err)
		}
	}
	offsets := d.ledger.Offsets(d.topic, 0)
	for i, o := range offsets {
		if o != int64(i) {
			t.Fatalf("offset %d was skipped: %v", i, offsets[max(0, i-3):min(len(offsets), i+3)])
		}
	}
}

// consume takes the rest of a file system into a file.
func consume(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

func free(t *testing.T, path string) uint64 {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		t.Fatal(err)
	}
	return s.Bavail * uint64(s.Bsize)
}
