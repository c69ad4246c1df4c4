package topic

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"

	"brokerd/log"
)

func TestReportRecovery(t *testing.T) {
	tests := []struct {
		name  string
		found log.Recovery
		want  []string // parts of what is logged; none for silence
	}{
		{"a clean start", log.Recovery{Segments: 3, Clean: true}, nil},
		{"a replay alone", log.Recovery{Segments: 3, Replayed: 9}, nil},
		{"a scan", log.Recovery{ScannedBytes: 100}, []string{`"level":"info"`, `"scanned_bytes":100`, "nothing is missing"}},
		{"an index", log.Recovery{Clean: true, IndexesRebuilt: 1}, []string{`"level":"info"`, `"indexes_rebuilt":1`, "repaired files"}},
		{"a torn tail", log.Recovery{ScannedBytes: 100, CutBytes: 7, SkippedOffsets: 2}, []string{
			`"level":"warn"`, `"cut_bytes":7`, `"skipped_offsets":2`, "was cut off"}},
		{"damage", log.Recovery{CutBytes: 7, Damaged: []log.CorruptError{{First: 8, Last: 9}}}, []string{
			`"level":"error"`, `"damaged_ranges":1`, "withheld", "restore", `"offset":8,"last_offset":9`}},
	}
	made := &Topic{name: "orders"}
	for _, tt := range tests {
		var out bytes.Buffer
		reportRecovery(zerolog.New(&out), newPartition(made, 3), tt.found)
		line := out.String()
		if len(tt.want) == 0 && line != "" || strings.Count(line, "\n") > 1+len(tt.found.Damaged) {
			t.Errorf("%s: logged %s", tt.name, line)
		}
		for _, part := range tt.want {
			if !strings.Contains(line, part) || !strings.Contains(line, `"topic":"orders","partition":3`) {
				t.Errorf("%s: %q is missing in %s", tt.name, part, line)
			}
		}
	}
}

// TestDamageIsContained flips a bit in the middle batch of three, while no process runs.
func TestDamageIsContained(t *testing.T) {
	w := newWorld(t)
	id := w.create("a", 1).ID()
	var ends []int64
	for _, v := range []string{"x", "y", "z"} {
		w.produce(w.partition("a", 0), batchOf(t, v))
		ends = append(ends, w.partition("a", 0).Size())
	}
	w.kill()
	w.complaints()
	name := "data/topics/" + id.String() + "/0/00000000000000000000.log"
	f, err := w.disk.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, ends[1]-1); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := f.WriteAt(b, ends[1]-1); err != nil {
		t.Fatal(err)
	}
	f.Close()
	w.open()
	p := w.partition("a", 0)
	var damage *log.CorruptError
	if r, err := p.Read(1, 1<<20, ReadCommitted); !errors.As(err, &damage) || damage.First != 1 || damage.Last != 1 {
		r.Close()
		t.Fatalf("read of the damaged batch: %v", err)
	}
	if got := w.records(p, 2); !slices.Equal(got, []string{"2 z"}) {
		t.Errorf("records behind it %v", got)
	}
	if at := w.produce(p, batchOf(t, "next")); at.Base != 3 {
		t.Errorf("the next batch went to %d", at.Base)
	}
	if got := p.Damaged(); len(got) != 1 || p.Err() != nil {
		t.Errorf("damaged %v, error %v", got, p.Err())
	}
	lines := w.complaints()
	if !slices.ContainsFunc(lines, func(line string) bool {
		return strings.Contains(line, `"offset":1,"last_offset":1`) && strings.Contains(line, "withheld")
	}) {
		t.Errorf("logged %s", lines)
	}
}

func TestNames(t *testing.T) {
	w := newWorld(t)
	id := w.create("orders", 1).ID()
	names, err := Names(w.db)
	if err != nil || len(names) != 1 || names[id] != "orders" {
		t.Errorf("names %v, %v", names, err)
	}
	empty, err := bbolt.Open(filepath.Join(t.TempDir(), "empty.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Close()
	if names, err := Names(empty); err != nil || len(names) != 0 {
		t.Errorf("names of an empty database %v, %v", names, err)
	}
}
