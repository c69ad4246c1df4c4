package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"brokerd/log"
	"brokerd/log/vfs"
)

// unpackLimit bounds the memory that one batch may take when its records are unpacked.
const unpackLimit = 256 << 20

// errEnough ends a scan early.
var errEnough = errors.New("enough")

// dumpJob prints the batches of logs.
type dumpJob struct {
	fs      vfs.FS
	path    string
	records bool
	from    int64
	count   int64 // 0: no limit
	json    bool
	out     io.Writer

	w       *bufio.Writer
	printed int64
}

func (j *dumpJob) run(ctx context.Context) error {
	logs, err := findLogs(j.fs, j.path)
	if err != nil {
		return err
	}
	j.w = bufio.NewWriter(j.out)
	for _, l := range logs {
		if !j.json && len(logs) > 1 {
			fmt.Fprintf(j.w, "== %s\n", l.label)
		}
		segment := ""
		err := log.Scan(j.fs, l.path, func(f log.Found) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !j.json && f.Segment != segment {
				segment = f.Segment
				fmt.Fprintln(j.w, segment)
				fmt.Fprintln(j.w, batchHeading())
			}
			return j.found(l.label, f)
		})
		if errors.Is(err, errEnough) {
			break
		}
		if err != nil {
			return errors.Join(j.w.Flush(), fmt.Errorf("dump %s: %w", l.label, err))
		}
	}
	return j.w.Flush()
}

// found prints one thing that the scan met.
func (j *dumpJob) found(label string, f log.Found) error {
	if f.Damage != nil {
		return j.damage(label, *f.Damage)
	}
	if f.Batch.LastOffset() < j.from {
		return nil
	}
	if err := j.batch(label, f); err != nil || !j.records {
		return err
	}
	stop := error(nil)
	err := f.Batch.Each(unpackLimit, func(r log.Record) bool {
		if r.Offset < j.from {
			return true
		}
		if stop = j.record(label, r, slices.Contains(f.Erased, r.Offset)); stop == nil {
			stop = j.enough()
		}
		return stop == nil
	})
	if stop != nil {
		return stop
	}
	if err != nil {
		_, err = fmt.Fprintf(j.w, "  records cannot be read: %v\n", err)
	}
	return err
}

// enough counts what was printed against the limit.
func (j *dumpJob) enough() error {
	j.printed++
	if j.count > 0 && j.printed >= j.count {
		return errEnough
	}
	return nil
}

func (j *dumpJob) damage(label string, d log.CorruptError) error {
	if j.json {
		return printJSON(j.w, newDamageText(label, d))
	}
	_, err := fmt.Fprintln(j.w, damageLine(d))
	return err
}

// batchText is a batch as `log dump --json` prints it.
type batchText struct {
	Log           string `json:"log"`
	Segment       string `json:"segment"`
	Position      int64  `json:"position"`
	Size          int64  `json:"size"`
	Base          int64  `json:"base"`
	Last          int64  `json:"last"`
	Records       int32  `json:"records"`
	Codec         string `json:"codec"`
	BaseTime      string `json:"base_time"`
	MaxTime       string `json:"max_time"`
	LeaderEpoch   int32  `json:"leader_epoch"`
	Producer      int64  `json:"producer"` // -1 for none, as the two below
	ProducerEpoch int16  `json:"producer_epoch"`
	Sequence      int32  `json:"sequence"`
	Transactional bool   `json:"transactional"`
	Control       bool   `json:"control"`
	Deleted       int    `json:"deleted"` // records that readers do not get any more
}

func (j *dumpJob) batch(label string, f log.Found) error {
	b := f.Batch
	var err error
	if j.json {
		err = printJSON(j.w, batchText{
			Log: label, Segment: f.Segment, Position: f.Position, Size: b.Size(), Base: b.BaseOffset(), Last: b.LastOffset(),
			Records: b.Count(), Codec: b.Codec().String(), BaseTime: timeText(b.BaseTimestamp()), MaxTime: timeText(b.MaxTimestamp()),
			LeaderEpoch: b.LeaderEpoch(), Producer: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), Sequence: b.BaseSequence(),
			Transactional: b.Transactional(), Control: b.Control(), Deleted: len(f.Erased),
		})
	} else {
		_, err = fmt.Fprintf(j.w, batchLine, strconv.FormatInt(f.Position, 10), strconv.FormatInt(b.Size(), 10),
			strconv.FormatInt(b.BaseOffset(), 10), strconv.FormatInt(b.LastOffset(), 10), strconv.Itoa(int(b.Count())),
			b.Codec().String(), timeText(b.MaxTimestamp()), strconv.Itoa(int(b.LeaderEpoch())), "ok", producerText(b)+deletedText(len(f.Erased)))
	}
	if err != nil || j.records {
		return err
	}
	return j.enough()
}

// batchLine lays out one batch, and the heading; logs are longer than memory, so that widths are fixed.
const batchLine = "%12s  %9s  %12s  %12s  %7s  %-6s  %-24s  %5s  %-3s  %s\n"

func batchHeading() string {
	line := fmt.Sprintf(batchLine, "POSITION", "SIZE", "BASE", "LAST", "RECORDS", "CODEC", "NEWEST TIME", "EPOCH", "CRC", "PRODUCER")
	return line[:len(line)-1]
}

// producerText is id:epoch:sequence, and what kind of batch it is when it is a special one.
func producerText(b log.Batch) string {
	text := "-"
	if b.ProducerID() >= 0 {
		text = fmt.Sprintf("%d:%d:%d", b.ProducerID(), b.ProducerEpoch(), b.BaseSequence())
	}
	if b.Transactional() {
		text += " transactional"
	}
	if b.Control() {
		text += " control"
	}
	return text
}

// deletedText says how many records of a batch were deleted one by one.
func deletedText(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" %d deleted", n)
}

// storedText is a record as `log dump --records --json` prints it.
type storedText struct {
	Log         string       `json:"log"`
	Offset      int64        `json:"offset"`
	Timestamp   string       `json:"timestamp"`
	Key         any          `json:"key,omitempty"`
	KeyBase64   []byte       `json:"key_base64,omitempty"`
	Value       any          `json:"value,omitempty"`
	ValueBase64 []byte       `json:"value_base64,omitempty"`
	Headers     []headerText `json:"headers,omitempty"`
	Deleted     bool         `json:"deleted,omitempty"` // readers do not get it any more
}

func (j *dumpJob) record(label string, r log.Record, deleted bool) error {
	if !j.json {
		fmt.Fprintf(j.w, "  %d  %s  key %s  value %s", r.Offset, timeText(r.Timestamp), quoted(r.Key), quoted(r.Value))
		for _, h := range r.Headers {
			fmt.Fprintf(j.w, "  %s=%s", h.Key, quoted(h.Value))
		}
		if deleted {
			j.w.WriteString("  deleted")
		}
		return j.w.WriteByte('\n')
	}
	t := storedText{Log: label, Offset: r.Offset, Timestamp: timeText(r.Timestamp), Deleted: deleted}
	t.Key, t.KeyBase64 = textOrBytes(r.Key)
	t.Value, t.ValueBase64 = textOrBytes(r.Value)
	for _, h := range r.Headers {
		ht := headerText{Key: h.Key}
		ht.Value, ht.ValueBase64 = textOrBytes(h.Value)
		t.Headers = append(t.Headers, ht)
	}
	return printJSON(j.w, t)
}

// quoted is b as a Go string, or null.
func quoted(b []byte) string {
	if b == nil {
		return "null"
	}
	return strconv.Quote(string(b))
}
