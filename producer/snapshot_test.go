package producer

import (
	"bytes"
	"encoding/hex"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

// golden is version 1 of the layout: it must be readable for ever.
const golden = "0001" + "00000002" +
	"0000000000000007" + "0003" + "00000000000003e8" + "01" + "00000000" + "00000002" + "000000000000000a" +
	"00000000000003e9" + "0000" + "00000000000007d0" + "02" + "7ffffffe" + "00000001" + "0000000000000064" +
	"00000002" + "00000002" + "0000000000000068"

func goldenTable() *Table {
	table := NewTable()
	table.Commit(newBatch(1001, 0, 0x7ffffffe, 4, 100), time.UnixMilli(1500))
	table.Commit(newBatch(1001, 0, 2, 1, 104), time.UnixMilli(2000))
	table.Commit(newBatch(7, 3, 0, 3, 10), time.UnixMilli(1000))
	return table
}

func TestSnapshotGolden(t *testing.T) {
	if got := hex.EncodeToString(goldenTable().Snapshot()); got != golden {
		t.Errorf("snapshot\n%s, want\n%s", got, golden)
	}
	b, err := hex.DecodeString(golden)
	if err != nil {
		t.Fatal(err)
	}
	table := NewTable()
	if err := table.Restore(b); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(table.rows, goldenTable().rows) {
		t.Errorf("restored %+v", table.List())
	}
}

func TestRestoreNothingEmpties(t *testing.T) {
	table := goldenTable()
	if err := table.Restore(nil); err != nil || len(table.List()) != 0 {
		t.Errorf("error %v, rows %+v", err, table.List())
	}
}

func TestRestoreRefuses(t *testing.T) {
	row := "0000000000000007" + "0003" + "00000000000003e8" + "01" + "00000000" + "00000002" + "000000000000000a"
	tests := []struct{ name, hex, reason string }{
		{"nearly nothing", "0001", "2 bytes"},
		{"a newer version", "0002" + "00000000", "version 2"},
		{"more producers than bytes", "0001" + "ffffffff" + row, "producers in"},
		{"fewer producers than bytes", "0001" + "00000001" + row + "00", "1 bytes too many"},
		{"the same producer twice", "0001" + "00000002" + row + row, "producer 7 after 7"},
		{"no batches", "0001" + "00000001" + strings.Replace(row, "03e801", "03e800", 1), "0 batches"},
		{"six batches", "0001" + "00000001" + strings.Replace(row, "03e801", "03e806", 1), "6 batches"},
		{"a negative id", "0001" + "00000001" + "8" + row[1:], "producer -"},
		{"a negative sequence", "0001" + "00000001" + row[:38] + "8" + row[39:], "negative"},
		{"cut off", "0001" + "00000001" + row[:len(row)-2], "producers in"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b, err := hex.DecodeString(tt.hex)
			if err != nil {
				t.Fatal(err)
			}
			table := goldenTable()
			err = table.Restore(b)
			if !errors.Is(err, ErrBadSnapshot) || !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("error %v, want one about %q", err, tt.reason)
			}
			if !reflect.DeepEqual(table, goldenTable()) {
				t.Error("the table was changed")
			}
		})
	}
}

// FuzzRestore: Restore never panics; it takes no more rows than the bytes can hold; what it takes, Snapshot writes again
// byte for byte; what it refuses leaves the table as it was; and a restored table answers every Check.
func FuzzRestore(f *testing.F) {
	f.Add(goldenTable().Snapshot())
	f.Add(NewTable().Snapshot())
	f.Add([]byte(nil))
	f.Add([]byte("\x00\x01\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		table := NewTable()
		if err := table.Restore(b); err != nil {
			if len(table.rows) != 0 {
				t.Fatal("a refused snapshot left rows")
			}
			return
		}
		if len(table.rows)*smallestRow > len(b) {
			t.Fatalf("%d rows of %d bytes", len(table.rows), len(b))
		}
		if got := table.Snapshot(); len(b) > 0 && !bytes.Equal(got, b) {
			t.Fatalf("%x became %x", b, got)
		}
		for _, p := range table.List() {
			if _, err := table.Check(newBatch(p.ID, p.Epoch, follow(p.LastSequence), 1, 0)); err != nil {
				t.Fatal(err)
			}
		}
	})
}
