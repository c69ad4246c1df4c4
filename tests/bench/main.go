// Command bench measures what an acknowledged record costs: it produces records of 1 KiB with acks=all to the real
// binary, which syncs each before it answers, and sets the rate beside what the same disk takes by plain sequential
// write and fdatasync in the same minutes. It also measures one consumer. docs/performance.md explains the output.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"brokerd/tests/harness"
)

// workload is one way to produce, with the disk's way that it is compared with.
type workload struct {
	topics, partitions int
	batchBytes         int // of a producer's batch, and of each write+fdatasync of the disk beside it
}

func (w workload) String() string {
	return fmt.Sprintf("%d topic(s) of %d partition(s), batches of %d KiB", w.topics, w.partitions, w.batchBytes>>10)
}

func workloads() []workload {
	return []workload{
		{topics: 1, partitions: 1, batchBytes: 1 << 20},
		{topics: 1, partitions: 8, batchBytes: 1 << 20},
		{topics: 4, partitions: 4, batchBytes: 1 << 20},
		{topics: 1, partitions: 8, batchBytes: 64 << 10},
	}
}

// wideChunk is large enough for the disk's bandwidth, and not the time that one sync takes, to be the limit.
const wideChunk = 16 << 20

// plan says how long to measure.
type plan struct {
	dir    string
	rounds int
	each   time.Duration
}

func main() {
	var p plan
	flag.StringVar(&p.dir, "dir", os.TempDir(), "`directory` on the disk to measure")
	flag.IntVar(&p.rounds, "rounds", 5, "`number` of interleaved measurements of each kind")
	flag.DurationVar(&p.each, "each", 3*time.Second, "how long one measurement takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, p, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run starts a broker in a directory of its own and measures each workload.
func run(ctx context.Context, p plan, out io.Writer) (err error) {
	dir, err := os.MkdirTemp(p.dir, "brokerd-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := harness.Build(dir)
	if err != nil {
		return err
	}
	s, err := harness.Start(harness.Options{Binary: binary, Data: filepath.Join(dir, "data")})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Stop()) }()

	fmt.Fprintf(out, "%d rounds of %s each, disk and broker by turns, in %s; MB/s of 10^6 bytes\n", p.rounds, p.each, p.dir)
	for _, w := range workloads() {
		if err := measure(ctx, p, w, s.Kafka, dir, out); err != nil {
			return fmt.Errorf("%s: %w", w, err)
		}
	}
	return nil
}

// measure takes the rounds of one workload: disk, produce, consume, disk, ...
func measure(ctx context.Context, p plan, w workload, addr, dir string, out io.Writer) error {
	var disk, wide, produced, consumed series
	for round := range p.rounds {
		mbps, err := writeAndSync(filepath.Join(dir, "disk"), w.batchBytes, p.each)
		if err != nil {
			return err
		}
		disk = append(disk, mbps)
		if mbps, err = writeAndSync(filepath.Join(dir, "disk"), wideChunk, p.each); err != nil {
			return err
		}
		wide = append(wide, mbps)
		l, err := newLoad(ctx, addr, w, round)
		if err != nil {
			return err
		}
		if mbps, err = l.produce(ctx, p.each); err != nil {
			return err
		}
		produced = append(produced, mbps)
		if mbps, err = l.consume(ctx); err != nil {
			return err
		}
		consumed = append(consumed, mbps)
		if err := l.remove(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\n%s\n%-34s %8s %8s %8s\n", w, "", "min", "median", "max")
	disk.print(out, fmt.Sprintf("disk, write+fdatasync of %d KiB", w.batchBytes>>10))
	wide.print(out, fmt.Sprintf("disk, write+fdatasync of %d KiB", wideChunk>>10))
	produced.print(out, "produce, acks=all, synced")
	consumed.print(out, "one consumer")
	fmt.Fprintf(out, "%-34s %17.2f %17.2f\n", "produce / disk, by medians",
		produced.median()/disk.median(), produced.median()/wide.median())
	return nil
}
