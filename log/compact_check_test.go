package log

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"brokerd/log/vfs"
)

// contents lists what can be read: "base-last:" for each batch, then "offset:key=value@time" for each of its records.
func contents(t rapid.TB, l *Log) string {
	t.Helper()
	var all []string
	for _, b := range batchesFrom(t, l, l.Bounds().Start, 500) {
		all = append(all, describe(t, b))
	}
	return strings.Join(all, " ")
}

func describe(t rapid.TB, b Batch) string {
	t.Helper()
	s := fmt.Sprintf("%d-%d[", b.BaseOffset(), b.LastOffset())
	err := b.Each(1<<20, func(r Record) bool {
		value := ""
		if r.Value != nil {
			value = "=" + string(r.Value)
		}
		s += fmt.Sprintf(" %d:%s%s@%d", r.Offset, r.Key, value, r.Timestamp)
		if len(r.Headers) != 1 || string(r.Headers[0].Value) != string(r.Key) {
			t.Errorf("headers of %d: %q", r.Offset, r.Headers)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return s + " ]"
}

func (b *bench) want(contentsWanted string) {
	b.t.Helper()
	if got := contents(b.t, b.Log); got != contentsWanted {
		b.t.Errorf("contents\n got %s\nwant %s", got, contentsWanted)
	}
}

// checkFiles makes sure that the directory holds what the log has in memory, and nothing else.
func (b *bench) checkFiles() {
	b.t.Helper()
	checkSegments(b.t, b.Log)
}

func checkSegments(t rapid.TB, l *Log) {
	t.Helper()
	entries, err := l.o.FS.List(l.o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if s := path.Ext(e.Name); s == cleanedSuffix || s == swapSuffix || s == tempSuffix {
			t.Errorf("left behind: %s", e.Name)
		}
		if _, ok := segmentBase(e.Name); ok {
			names = append(names, e.Name)
		}
	}
	var want []string
	for i, s := range l.segments {
		want = append(want, s.name())
		if s.finished {
			checkSegment(t, l, piece{s, l.segments[i+1].base})
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("segment files %v, want %v", names, want)
	}
}

// checkSegment compares a finished segment and its index with what a look at every batch finds.
func checkSegment(t rapid.TB, l *Log, p piece) {
	t.Helper()
	file, err := l.o.FS.OpenRead(p.path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if size, err := file.Size(); err != nil || size != p.size {
		t.Fatalf("%s has %d bytes, want %d; %v", p.name(), size, p.size, err)
	}
	found, err := walkAll(file, make([]byte, readBuffer), p.segment, p.size, p.end, l.config.IndexInterval)
	if err != nil {
		t.Fatal(err)
	}
	withBytes := slices.DeleteFunc(slices.Clone(p.damage), func(d CorruptError) bool { return d.Length == 0 })
	if !slices.Equal(withBytes, found.damage) {
		t.Errorf("damage of %s: %v, want %v", p.name(), withBytes, found.damage)
	}
	for _, s := range p.checked {
		if !slices.ContainsFunc(found.checked, func(f span) bool { return f.from <= s.from && s.to <= f.to }) {
			t.Errorf("%s: %v was checked, but only %v is good", p.name(), s, found.checked)
		}
	}
	if len(found.damage) > 0 {
		return // its index is made anew by each process
	}
	x, err := readIndex(l.o.FS, p.segment, file, make([]byte, headerWindow), p.size, p.end, l.config.IndexInterval)
	if err != nil {
		t.Errorf("index of %s: %v", p.name(), err)
		return
	}
	if !slices.Equal(x.offsets, found.indexer.offsets) {
		t.Errorf("index of %s: %v, want %v", p.name(), x.offsets, found.indexer.offsets)
	}
	checkTimes(t, file, p, x.times)
}

// checkTimes makes sure that each entry names the first batch with the largest time of a record so far, and the last one
// that of the segment. A log that was closed meanwhile may have some more than are due.
func checkTimes(t rapid.TB, file vfs.File, p piece, entries []timeEntry) {
	t.Helper()
	last, newest := timeEntry{time: -1}, timeEntry{time: -1}
	if len(entries) > 0 {
		last = entries[len(entries)-1]
	}
	w := walkFile(file, make([]byte, readBuffer), p.size, p.base, p.end)
	for st, err := w.step(); err != io.EOF; st, err = w.step() {
		if err != nil {
			t.Fatal(err)
		}
		if st.header == nil || st.header.newestTime() <= newest.time {
			continue
		}
		newest = timeEntry{st.header.newestTime(), int32(st.header.LastOffset() - p.base)}
		if len(entries) > 0 && entries[0].last < newest.last {
			t.Errorf("time index of %s: entry %v, the next larger time is %v", p.name(), entries[0], newest)
		}
		if len(entries) > 0 && entries[0] == newest {
			entries = entries[1:]
		}
	}
	if len(entries) > 0 || last != newest {
		t.Errorf("time index of %s: no batch for %v; the last entry is %v, the newest batch %v", p.name(), entries, last, newest)
	}
}
