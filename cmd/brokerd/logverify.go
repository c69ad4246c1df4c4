package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"brokerd/log"
	"brokerd/log/vfs"
)

// tornTail is how log.Scan begins the reason of what a crash leaves at the end of a log.
const tornTail = "torn tail"

// verification checks logs and keeps what it found.
type verification struct {
	fs       vfs.FS
	findings []finding
	total    atomic.Int64 // bytes to read
	read     atomic.Int64
}

// finding is what `log verify --json` prints of one log.
type finding struct {
	Log      string `json:"log"`
	Segments int    `json:"segments"`
	Batches  int64  `json:"batches"`
	Records  int64  `json:"records"`
	Bytes    int64  `json:"bytes"` // of good batches
	First    *int64 `json:"first"` // null for an empty log, as the next
	Last     *int64 `json:"last"`
	Damaged  int64  `json:"damaged"` // ranges
	Torn     bool   `json:"torn"`

	damage []log.CorruptError
}

// run checks every log below paths. An error of the disk ends one log, not the others.
func (v *verification) run(ctx context.Context, paths []string) error {
	var logs []logFiles
	for _, p := range paths {
		found, err := findLogs(v.fs, p)
		if err != nil {
			return err
		}
		logs = append(logs, found...)
	}
	for _, l := range logs {
		v.total.Add(l.bytes)
	}
	var failed []error
	for _, l := range logs {
		f := finding{Log: l.label, Segments: l.segments}
		err := log.Scan(v.fs, l.path, func(found log.Found) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			v.check(&f, found)
			return nil
		})
		v.findings = append(v.findings, f)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted in %s; what follows it was not checked", l.label)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("verify %s: %w", l.label, err))
		}
	}
	return errors.Join(failed...)
}

// check takes one thing that the scan met into f.
func (v *verification) check(f *finding, found log.Found) {
	if d := found.Damage; d != nil {
		v.read.Add(d.Length)
		f.add(*d)
		return
	}
	b := found.Batch
	v.read.Add(b.Size())
	f.Batches++
	f.Bytes += b.Size()
	base, last := b.BaseOffset(), b.LastOffset()
	if f.First == nil {
		f.First = &base
	}
	f.Last = &last
	count := int64(0)
	err := b.Each(unpackLimit, func(log.Record) bool { count++; return true })
	f.Records += count
	if err == nil && count != int64(b.Count()) {
		err = fmt.Errorf("%d records, the batch says %d", count, b.Count())
	}
	if err != nil {
		f.add(log.CorruptError{Segment: found.Segment, Position: found.Position, Length: b.Size(), First: base, Last: last,
			Reason: fmt.Sprintf("the checksum is right, the records are not: %v", err)})
	}
}

func (f *finding) add(d log.CorruptError) {
	f.damage = append(f.damage, d)
	if strings.HasPrefix(d.Reason, tornTail) {
		f.Torn = true
		return
	}
	f.Damaged++
}

// damaged is the number of damaged ranges in all logs.
func (v *verification) damaged() int64 {
	var n int64
	for _, f := range v.findings {
		n += f.Damaged
	}
	return n
}

func (v *verification) progress() string {
	return fmt.Sprintf("%s of %s checked", bytesText(v.read.Load()), bytesText(v.total.Load()))
}

// damageText is a damaged range as the log commands print it with --json.
type damageText struct {
	Log      string `json:"log"`
	Segment  string `json:"segment"`
	Position int64  `json:"position"`
	Length   int64  `json:"length"`
	First    int64  `json:"first"`
	Last     int64  `json:"last"`
	Damage   string `json:"damage"`
}

func newDamageText(label string, d log.CorruptError) damageText {
	return damageText{label, d.Segment, d.Position, d.Length, d.First, d.Last, d.Reason}
}

// damageLine is a damaged range for people.
func damageLine(d log.CorruptError) string {
	what := "DAMAGED"
	if strings.HasPrefix(d.Reason, tornTail) {
		what = "torn"
	}
	offsets := "no offset"
	if d.Last >= d.First {
		offsets = fmt.Sprintf("offsets %d to %d", d.First, d.Last)
	}
	return fmt.Sprintf("%s  %s  byte %d, %d bytes, %s: %s", what, d.Segment, d.Position, d.Length, offsets, d.Reason)
}

// print shows what was found: the damage first, then a line for each log.
func (v *verification) print(w io.Writer, asJSON bool) error {
	out := newTable("LOG", ">SEGMENTS", ">BATCHES", ">RECORDS", ">SIZE", ">FIRST", ">LAST", ">DAMAGED")
	damage := false
	for _, f := range v.findings {
		for _, d := range f.damage {
			var err error
			if asJSON {
				err = printJSON(w, newDamageText(f.Log, d))
			} else {
				damage = true
				_, err = fmt.Fprintf(w, "%s: %s\n", f.Log, damageLine(d))
			}
			if err != nil {
				return err
			}
		}
		out.add(f.Log, f.Segments, f.Batches, f.Records, bytesText(f.Bytes), orDash(f.First), orDash(f.Last), f.Damaged)
		if asJSON {
			if err := printJSON(w, f); err != nil {
				return err
			}
		}
	}
	if asJSON || len(v.findings) == 0 {
		return nil
	}
	if damage {
		fmt.Fprintln(w)
	}
	return out.print(w)
}
