package log

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"brokerd/log/vfs/memfs"
)

// TestEmptyingSurvivesEveryCrash empties a log in several ways, ends the process before each of its operations, and lets
// it go on: no offset is given out twice, and nothing is left when it was said to be gone.
func TestEmptyingSurvivesEveryCrash(t *testing.T) {
	tests := []struct {
		name string
		do   func(b *bench, end int64) error
		end  func(end int64) int64
	}{
		{"trim", func(b *bench, end int64) error { return b.Trim(end) }, func(end int64) int64 { return end }},
		{"advance to the end", func(b *bench, end int64) error { return b.Advance(end) }, func(end int64) int64 { return end }},
		{"advance", func(b *bench, end int64) error { return b.Advance(end + 1000) }, func(end int64) int64 { return end + 1000 }},
		{"trim, then advance", func(b *bench, end int64) error {
			return errors.Join(b.Trim(end), b.Advance(end+1000))
		}, func(end int64) int64 { return end + 1000 }},
	}
	for _, tt := range tests {
		for _, kill := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				for steps := 0; ; steps++ {
					fs := memfs.New()
					b := openBench(t, fs)
					b.fill(3)
					end := b.Bounds().End
					n := 0
					fs.Fail(func(memfs.Op) error {
						if n++; n > steps {
							return syscall.EIO
						}
						return nil
					})
					done := tt.do(b, end) == nil
					fs.Fail(nil)
					if kill {
						fs = fs.Kill()
					} else {
						fs = fs.Crash(rand.New(rand.NewPCG(uint64(steps), 1)))
					}
					b.reopen(fs)
					got := b.Bounds()
					if got.End < end || done && (got.Start != tt.end(end) || got.End != got.Start) {
						t.Fatalf("%d steps, done %v: %+v, it ended at %d", steps, done, got, end)
					}
					if got.Start == 0 && len(b.readAll(0, 1<<20)) != int(end)/2 {
						t.Fatalf("%d steps: some is lost", steps)
					}
					if a := b.append(2, 1, 10); a.Base != got.End {
						t.Fatalf("%d steps: appended at %d, want %d", steps, a.Base, got.End)
					}
					b.commit()
					if err := b.Close(); err != nil {
						t.Fatal(err)
					}
					b.reopen(fs)
					if b.Bounds().End != got.End+2 || b.Bounds().Start != got.Start || !b.Clean {
						t.Fatalf("%d steps: %+v, before the stop %+v", steps, b.Bounds(), got)
					}
					if done {
						break
					}
				}
			})
		}
	}
}

// TestEmptyLogTakesNoSpace has everything trimmed, also what was in the active segment.
func TestEmptyLogTakesNoSpace(t *testing.T) {
	b := openBench(t, memfs.New())
	b.fill(3)
	if err := b.Trim(b.Bounds().Durable); err != nil {
		t.Fatal(err)
	}
	if b.Size() != 0 || len(b.segments) != 1 {
		t.Errorf("%d bytes in %d segments", b.Size(), len(b.segments))
	}
	b.checkFiles()
	if a := b.append(1, 1, 10); a.Base != b.Bounds().Start {
		t.Errorf("appended at %d, start %d", a.Base, b.Bounds().Start)
	}
	b.commit()
	b.readAll(b.Bounds().Start, 100)
}

// TestTrimSoon moves the start at once, and on the disk with the next chores.
func TestTrimSoon(t *testing.T) {
	tests := []struct {
		name  string
		then  func(b *bench, to int64)
		start func(to int64) int64 // after a crash
	}{
		{"nothing", func(*bench, int64) {}, func(int64) int64 { return 0 }},
		{"chores", func(b *bench, _ int64) { b.chores() }, func(to int64) int64 { return to }},
		{"the same durably", func(b *bench, to int64) {
			if err := b.Trim(to); err != nil {
				b.t.Error(err)
			}
		}, func(to int64) int64 { return to }},
		{"a clean stop", func(b *bench, _ int64) {
			if err := b.Close(); err != nil {
				b.t.Error(err)
			}
		}, func(to int64) int64 { return to }},
	}
	for _, tt := range tests {
		for _, all := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, ", all ", all), func(t *testing.T) {
				fs := memfs.New()
				b := openBench(t, fs)
				b.fill(3)
				b.commit()
				end := b.Bounds().Durable
				to := b.segments[1].base + 1
				if all {
					to = end
				}
				if err := b.TrimSoon(to); err != nil || b.Bounds().Start != to {
					t.Fatalf("%v, %+v", err, b.Bounds())
				}
				var outside *RangeError
				if err := b.TrimSoon(end + 1); !errors.As(err, &outside) {
					t.Errorf("above the end: %v", err)
				}
				if _, err := b.Read(to-1, 1); !errors.As(err, &outside) {
					t.Errorf("read below the start: %v", err)
				}
				tt.then(b, to)
				b.reopen(fs.Crash(nil))
				if want := tt.start(to); b.Bounds().Start != want || b.Bounds().End != end {
					t.Errorf("%+v, want %d to %d", b.Bounds(), want, end)
				}
			})
		}
	}
}
