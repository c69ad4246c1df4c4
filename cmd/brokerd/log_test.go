package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"brokerd/log"
	"brokerd/log/vfs"
)

// writeLog makes a directory with one segment of three batches, two records each, and returns it with the position of
// each batch. The offsets are 0 to 5.
func writeLog(t *testing.T) (dir string, positions []int64) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "topics", "id", "0")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	var file []byte
	for n, codec := range []log.Codec{log.NoCodec, log.Gzip, log.Zstd} {
		b := log.Builder{Codec: codec}
		for i := range 2 {
			b.Add(log.Record{Timestamp: 1767225600000 + int64(n), Key: []byte{byte('a' + i)}, Value: []byte("value \xff"[:6+n/2]),
				Headers: []log.Header{{Key: "h", Value: []byte("1")}}})
		}
		batch, err := b.Build()
		if err != nil {
			t.Fatal(err)
		}
		batch[7] = byte(2 * n) // base offset
		positions = append(positions, int64(len(file)))
		file = append(file, batch...)
	}
	writeFile(t, filepath.Join(dir, "00000000000000000000.log"), file)
	return dir, positions
}

func writeFile(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o640); err != nil {
		t.Fatal(err)
	}
}

// damage flips a byte of the only segment in dir.
func damage(t *testing.T, dir string, at int64) {
	t.Helper()
	name := filepath.Join(dir, "00000000000000000000.log")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 0x40
	writeFile(t, name, b)
}

func dump(t *testing.T, job dumpJob) []map[string]any {
	t.Helper()
	var out bytes.Buffer
	job.fs, job.out, job.json = vfs.OS{}, &out, true
	if err := job.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return objects(t, out.String())
}

// objects parses JSON, one object per line.
func objects(t *testing.T, lines string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(lines) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, o)
	}
	return all
}

func TestDumpPrintsBatchesAndRecords(t *testing.T) {
	dir, positions := writeLog(t)
	for _, name := range []string{dir, filepath.Join(dir, "00000000000000000000.log"), filepath.Join(dir, "../../..")} {
		batches := dump(t, dumpJob{path: name})
		if len(batches) != 3 {
			t.Fatalf("%s: %d batches: %v", name, len(batches), batches)
		}
		for i, codec := range []string{"none", "gzip", "zstd"} {
			b := batches[i]
			if b["base"] != float64(2*i) || b["last"] != float64(2*i+1) || b["codec"] != codec ||
				b["position"] != float64(positions[i]) || b["records"] != 2.0 || b["producer"] != -1.0 {
				t.Errorf("%s: batch %d is %v", name, i, b)
			}
		}
	}
	records := dump(t, dumpJob{path: dir, records: true, from: 3, count: 2})
	if len(records) != 4 { // two batches, a record of each
		t.Fatalf("from offset 3, two records: %v", records)
	}
	if records[1]["offset"] != 3.0 || records[1]["key"] != "b" || records[1]["value"] != "value " || records[3]["offset"] != 4.0 ||
		records[3]["value_base64"] == nil {
		t.Errorf("records: %v", records)
	}
}

func TestDumpForPeople(t *testing.T) {
	dir, positions := writeLog(t)
	damage(t, dir, positions[1]+log.HeaderSize)
	var out bytes.Buffer
	job := dumpJob{fs: vfs.OS{}, path: dir, records: true, out: &out}
	if err := job.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"POSITION", `value "value \xff"  h="1"`, "DAMAGED  00000000000000000000.log", "offsets 2 to 3"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func verify(t *testing.T, path string) (*verification, string) {
	t.Helper()
	v := &verification{fs: vfs.OS{}}
	if err := v.run(t.Context(), []string{path}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := v.print(&out, true); err != nil {
		t.Fatal(err)
	}
	return v, out.String()
}

func TestVerify(t *testing.T) {
	dir, positions := writeLog(t)
	t.Run("sound", func(t *testing.T) {
		v, out := verify(t, dir)
		got := objects(t, out)
		if v.damaged() != 0 || len(got) != 1 || got[0]["batches"] != 3.0 || got[0]["records"] != 6.0 || got[0]["last"] != 5.0 {
			t.Errorf("got %s", out)
		}
	})
	t.Run("torn", func(t *testing.T) {
		name := filepath.Join(dir, "00000000000000000000.log")
		whole, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, name, append(whole[:len(whole):len(whole)], whole[:40]...))
		v, out := verify(t, dir)
		got := objects(t, out)
		if v.damaged() != 0 || len(got) != 2 || got[1]["torn"] != true || got[0]["position"] != float64(len(whole)) {
			t.Errorf("got %s", out)
		}
		writeFile(t, name, whole)
	})
	t.Run("damaged", func(t *testing.T) {
		damage(t, dir, positions[1]+log.HeaderSize)
		v, out := verify(t, dir)
		got := objects(t, out)
		if v.damaged() != 1 || len(got) != 2 || got[0]["first"] != 2.0 || got[0]["last"] != 3.0 ||
			got[0]["position"] != float64(positions[1]) || got[1]["records"] != 4.0 || got[1]["last"] != 5.0 {
			t.Errorf("got %s", out)
		}
	})
}

func TestLogCommandsNameWhatIsMissing(t *testing.T) {
	empty := t.TempDir()
	for path, want := range map[string]string{empty: "there is no log below", filepath.Join(empty, "x"): "does not exist"} {
		if _, err := findLogs(vfs.OS{}, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// TestDumpTellsOfDeletedRecords prints them, since they are still in the file, but says what they are.
func TestDumpTellsOfDeletedRecords(t *testing.T) {
	dir, _ := writeLog(t)
	l, _, err := log.Open(log.Options{FS: vfs.OS{}, Dir: dir, Committer: log.NewCommitter(log.CommitterOptions{}), Files: log.NewFiles(4)})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Erase([]int64{2, 3, 4}, true); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for i, b := range dump(t, dumpJob{path: dir}) {
		if want := []float64{0, 2, 1}[i]; b["deleted"] != want {
			t.Errorf("batch %d: %v deleted, want %v", i, b["deleted"], want)
		}
	}
	var out bytes.Buffer
	job := dumpJob{fs: vfs.OS{}, path: dir, records: true, out: &out}
	if err := job.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "deleted"); n != 2+3 { // two batches, three records
		t.Errorf("deleted is said %d times in\n%s", n, out.String())
	}
}
