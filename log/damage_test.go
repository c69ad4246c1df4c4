package log

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"brokerd/log/vfs/memfs"
)

// edit changes a file of a log that is not open, behind its back.
func edit(t *testing.T, fs *memfs.FS, name string, change func(b []byte) []byte) {
	t.Helper()
	b, err := readFile(fs, name, 1<<30)
	if err != nil && !isNotExist(err) {
		t.Fatal(err)
	}
	b = change(slices.Clone(b))
	if err == nil {
		if err := fs.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if b == nil {
		return
	}
	file, err := fs.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = file.WriteAt(b, 0); err == nil {
		err = errors.Join(file.Sync(), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func zero(b []byte) []byte   { return make([]byte, len(b)) }
func remove(b []byte) []byte { return nil }

// TestDerivedDataDamaged spoils what can be made anew. Nothing is lost, and readers do not notice.
func TestDerivedDataDamaged(t *testing.T) {
	const sealed, active = "t/p/00000000000000000022", "t/p/00000000000000000088"
	for name, c := range map[string]struct {
		file    string
		change  func([]byte) []byte
		rebuilt bool // by a reader
	}{
		"index deleted":          {sealed + ".index", remove, true},
		"time index deleted":     {sealed + ".timeindex", remove, true},
		"index empty":            {sealed + ".index", func([]byte) []byte { return []byte{} }, true},
		"index zeros":            {sealed + ".index", zero, true},
		"time index zeros":       {sealed + ".timeindex", zero, true},
		"index cut in an entry":  {sealed + ".index", func(b []byte) []byte { return b[:len(b)-3] }, true},
		"index cut":              {sealed + ".index", func(b []byte) []byte { return b[:offsetEntrySize] }, true},
		"time index cut":         {sealed + ".timeindex", func(b []byte) []byte { return b[:timeEntrySize] }, true},
		"index past the end":     {sealed + ".index", func(b []byte) []byte { b[len(b)-4] = 1; return b }, true},
		"index between batches":  {sealed + ".index", func(b []byte) []byte { b[len(b)-1]++; return b }, true},
		"index of other offsets": {sealed + ".index", func(b []byte) []byte { b[3]++; return b }, true},
		"index grows":            {sealed + ".index", func(b []byte) []byte { return append(b, b...) }, true},
		"time index too late":    {sealed + ".timeindex", func(b []byte) []byte { b[len(b)-5] = 0; return b }, true},
		"index without segment":  {"t/p/00000000000000000777.index", func([]byte) []byte { return []byte("orphan") }, false},
		"temporary file":         {"t/p/checkpoint.tmp", func([]byte) []byte { return []byte("half") }, false},
		"active index deleted":   {active + ".index", remove, false},
		"active index zeros":     {active + ".index", zero, false},
		"checkpoint deleted":     {"t/p/checkpoint", remove, false},
		"checkpoint zeros":       {"t/p/checkpoint", zero, false},
		"checkpoint flipped":     {"t/p/checkpoint", func(b []byte) []byte { b[20] ^= 4; return b }, false},
		"snapshot flipped":       {"t/p/00000000000000000110.snapshot", func(b []byte) []byte { b[20] ^= 4; return b }, false},
	} {
		t.Run(name, func(t *testing.T) {
			fs := memfs.New()
			table := &countTable{}
			b := openBench(t, fs, func(o *Options) { o.Projection = table })
			for b.Bounds().End < 110 {
				b.append(2, 1000+b.Bounds().End, 50)
				table.Replay(timedBatch(t, 2, 0, 50))
			}
			b.commit()
			want := b.readAll(0, 1)
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			edit(t, fs, c.file, c.change)
			b.reopen(fs)
			if len(b.Log.Damaged()) > 0 || b.CutBytes > 0 || b.SkippedOffsets > 0 || b.Bounds() != (Bounds{0, 110, 110, 110}) {
				t.Fatalf("%+v %+v", b.Recovery, b.Bounds())
			}
			if table.count != 55 {
				t.Errorf("projection: %v", table)
			}
			if lost := b.Checkpoint != nil; lost != strings.HasPrefix(name, "checkpoint") {
				t.Error("checkpoint:", b.Checkpoint)
			}
			if orphan := len(b.Orphans) > 0; orphan != (name == "index without segment" || name == "temporary file") {
				t.Error("orphans:", b.Orphans)
			}
			if got := b.readAll(0, 700); !slices.Equal(got, want) {
				t.Errorf("read %v, want %v", got, want)
			}
			for ms := int64(999); ms < 1111; ms++ {
				at, found, err := b.OffsetForTime(ms)
				if want := max(ms-1000, 0); found != (want < 110) || err != nil || found && at.Offset != want {
					t.Fatalf("time %d: %+v %v %v", ms, at, found, err)
				}
			}
			if n := b.o.Files.IndexesRebuilt(); n > 0 != c.rebuilt {
				t.Errorf("readers had %d indexes rebuilt", n)
			}
			// What was made anew is on the disk again.
			b.append(2, 3000, 50)
			b.commit()
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			b.reopen(fs)
			b.readAll(0, 700)
			if n := b.o.Files.IndexesRebuilt(); n > 0 || !b.Clean || b.IndexesRebuilt > 0 || b.Checkpoint != nil {
				t.Errorf("next start: %d indexes rebuilt, %+v", n, b.Recovery)
			}
		})
	}
}

// TestStoredDataDamaged spoils batches of a sealed segment (base 22, eleven batches of two records). Exactly the damaged
// offsets are withheld, in each process anew.
func TestStoredDataDamaged(t *testing.T) {
	const sealed = "t/p/00000000000000000022.log"
	size := len(timedBatch(t, 2, 1000, 50))
	flip := func(batch, at int, bit byte) func([]byte) []byte {
		return func(b []byte) []byte { b[batch*size+at] ^= bit; return b }
	}
	for name, c := range map[string]struct {
		change      func([]byte) []byte
		first, last int64 // withheld
	}{
		"record":            {flip(4, 100, 1), 30, 31},
		"first record":      {flip(0, 100, 1), 22, 23},
		"last record":       {flip(10, 100, 1), 42, 43},
		"crc":               {flip(4, posCRC, 1), 30, 31},
		"magic":             {flip(4, posMagic, 1), 30, 31},
		"length larger":     {flip(4, posLength+1, 1), 30, 31},
		"length huge":       {flip(4, posLength, 0x40), 30, 31},
		"length negative":   {flip(4, posLength, 0x80), 30, 31},
		"length one less":   {flip(4, posLength+3, 1), 30, 31},
		"length of last":    {flip(10, posLength+1, 1), 42, 43},
		"base offset":       {flip(4, posBaseOffset+7, 0x40), 30, 31},
		"base offset lower": {flip(4, posBaseOffset+7, 0x20), 30, 31},
		"base of the last":  {flip(10, posBaseOffset+5, 1), 42, 43},
		"offset delta":      {flip(4, posLastOffsetDelta+3, 1), 30, 31},
		"count":             {flip(4, posCount, 0x80), 30, 31},
		"two batches zero":  {func(b []byte) []byte { clear(b[4*size : 6*size]); return b }, 30, 33},
		"bytes removed":     {func(b []byte) []byte { return slices.Delete(b, 4*size+20, 5*size+20) }, 30, 33},
		"end removed":       {func(b []byte) []byte { return b[:10*size+30] }, 42, 43},
		"end zeros":         {func(b []byte) []byte { clear(b[9*size:]); return b }, 40, 43},
	} {
		t.Run(name, func(t *testing.T) {
			fs := memfs.New()
			var reported []CorruptError
			b := openBench(t, fs, func(o *Options) { o.OnDamage = func(d CorruptError) { reported = append(reported, d) } })
			for b.Bounds().End < 110 {
				b.append(2, 1000+b.Bounds().End, 50)
			}
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			edit(t, fs, sealed, c.change)
			files := segmentFiles(t, fs)
			for range 2 {
				reported = nil
				b.reopen(fs)
				var got []int64
				for offset := int64(0); offset < 110; {
					r, err := b.Read(offset, 500)
					var corrupt *CorruptError
					if errors.As(err, &corrupt) {
						if corrupt.First != c.first || corrupt.Last != c.last || corrupt.Segment != "00000000000000000022.log" {
							t.Fatal("read:", corrupt)
						}
						offset = corrupt.Last + 1
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, r.Base)
					offset = r.Next
					r.Close()
				}
				for o := int64(0); o < 110; o++ {
					_, err := b.Read(o, 1)
					if bad := o >= c.first && o <= c.last; bad != (err != nil) {
						t.Errorf("read %d: %v", o, err)
					}
				}
				if len(reported) != 1 || len(b.Log.Damaged()) != 1 || reported[0] != b.Log.Damaged()[0] {
					t.Errorf("reported %v, damaged %v", reported, b.Log.Damaged())
				}
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if got := segmentFiles(t, fs); got != files {
				t.Errorf("files changed:\n%s\nwant\n%s", got, files)
			}
		})
	}
}

// segmentFiles returns the segment files and their contents.
func segmentFiles(t *testing.T, fs *memfs.FS) string {
	t.Helper()
	entries, err := fs.List("t/p")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, e := range entries {
		if strings.HasSuffix(e.Name, segmentSuffix) {
			b, err := readFile(fs, "t/p/"+e.Name, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&out, e.Name, len(b), bytes.Count(b, []byte("a")))
		}
	}
	return out.String()
}

// TestTail spoils the end of the last segment (base 0, ten batches of two records) as crashes do.
func TestTail(t *testing.T) {
	size := len(timedBatch(t, 2, 1000, 500))
	for name, c := range map[string]struct {
		clean   bool // after a clean stop, everything is known to have been durable
		change  func([]byte) []byte
		end     int64
		cut     bool
		skipped int64
		damaged string
	}{
		"nothing":         {false, func(b []byte) []byte { return b }, 20, false, 0, ""},
		"zeros":           {false, func(b []byte) []byte { return append(b, make([]byte, 5000)...) }, 20, false, 0, ""},
		"37 bytes cut":    {false, func(b []byte) []byte { return b[:len(b)-37] }, 20, true, 2, ""},
		"a header":        {false, func(b []byte) []byte { return b[:9*size+HeaderSize] }, 20, true, 2, ""},
		"half a header":   {false, func(b []byte) []byte { return b[:9*size+30] }, 18 + skipBlind, true, skipBlind, ""},
		"garbage":         {false, func(b []byte) []byte { return append(b, "garbage"...) }, 20 + skipBlind, true, skipBlind, ""},
		"a batch cut":     {false, func(b []byte) []byte { return b[:9*size] }, 18, false, 0, ""},
		"sectors missing": {false, func(b []byte) []byte { clear(b[7*size+200 : 8*size]); return b }, 20, true, 6, ""},
		"header missing":  {false, func(b []byte) []byte { clear(b[6*size : 7*size]); return b }, 20, true, 8, ""},
		"last one zeros":  {false, func(b []byte) []byte { clear(b[9*size:]); return b }, 18, false, 0, ""},
		"bit in the last": {false, func(b []byte) []byte { b[len(b)-100] ^= 1; return b }, 20, true, 2, ""},
		"bit before":      {false, func(b []byte) []byte { b[len(b)-100-size] ^= 1; return b }, 20, false, 0, "16 to 17"},
		"clean, zeros":    {true, func(b []byte) []byte { return append(b, make([]byte, 5000)...) }, 20, false, 0, ""},
		"clean, 37 cut":   {true, func(b []byte) []byte { return b[:len(b)-37] }, 20, false, 0, "18 to 19"},
		"clean, one cut":  {true, func(b []byte) []byte { return b[:9*size] }, 20, false, 0, "18 to 19"},
		"clean, sectors":  {true, func(b []byte) []byte { clear(b[7*size+200 : 8*size]); return append(b, 1) }, 20 + skipBlind, true, skipBlind, ""},
	} {
		t.Run(name, func(t *testing.T) {
			fs := memfs.New()
			b := openBench(t, fs, func(o *Options) { o.Config.SegmentBytes = 1 << 20 })
			for range 10 {
				b.append(2, 1000, 500)
			}
			b.commit()
			if c.clean {
				if err := b.Close(); err != nil {
					t.Fatal(err)
				}
			} else {
				fs = fs.Crash(nil)
			}
			edit(t, fs, "t/p/00000000000000000000.log", func(b []byte) []byte { return c.change(b[:10*size]) })
			b.reopen(fs)
			if b.Bounds().End != c.end || b.CutBytes > 0 != c.cut || b.SkippedOffsets != c.skipped {
				t.Errorf("end %d, %+v", b.Bounds().End, b.Recovery)
			}
			if (b.Epoch() > 0) != (c.skipped > 0) {
				t.Errorf("epoch %d", b.Epoch())
			}
			damaged := ""
			for _, d := range b.Recovery.Damaged {
				damaged += fmt.Sprintf("%d to %d", d.First, d.Last)
				if _, err := b.Read(d.First, 1); !errors.As(err, new(*CorruptError)) {
					t.Error("read damage:", err)
				}
			}
			if damaged != c.damaged {
				t.Errorf("damaged %v", b.Recovery.Damaged)
			}
			// It goes on, and the next starts find nothing new.
			a := b.append(2, 2000, 500)
			if a.Base != c.end {
				t.Errorf("next offset %d", a.Base)
			}
			b.commit()
			for _, next := range []*memfs.FS{fs.Kill(), nil} {
				if next == nil {
					if err := b.Close(); err != nil {
						t.Fatal(err)
					}
					next = fs
				}
				fs = next
				b.reopen(fs)
				if b.Bounds().End != c.end+2 || b.CutBytes > 0 || b.SkippedOffsets > 0 {
					t.Errorf("again: end %d, %+v", b.Bounds().End, b.Recovery)
				}
			}
			if epoch, end := b.EpochEnd(0); c.skipped > 0 && (epoch != 0 || end != c.end) {
				t.Errorf("epoch 0 ends at %d", end)
			}
		})
	}
}

func TestNewerFormat(t *testing.T) {
	fs := memfs.New()
	b := openBench(t, fs)
	b.fill(3)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	edit(t, fs, "t/p/checkpoint", func(b []byte) []byte {
		binary.BigEndian.PutUint16(b[4:], checkpointVersion+1)
		return b
	})
	edit(t, fs, "t/p/00000000000000000777.index", func([]byte) []byte { return []byte("its own") })
	if _, _, err := Open(b.o); !errors.Is(err, ErrNewerFormat) {
		t.Fatal("open:", err)
	}
	if _, err := readFile(fs, "t/p/00000000000000000777.index", 100); err != nil {
		t.Error("changed by a refused open:", err)
	}
}
