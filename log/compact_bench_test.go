package log

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path"
	"testing"
	"time"

	"brokerd/log/vfs"
)

// BenchmarkCompact compacts 64 MiB of records of 1 KiB, of which about half are replaced by newer ones. The rate counts
// the bytes before.
func BenchmarkCompact(b *testing.B) {
	for _, codec := range []Codec{NoCodec, LZ4, Zstd} {
		b.Run(codec.String(), func(b *testing.B) { benchmarkCompact(b, codec) })
	}
}

func benchmarkCompact(b *testing.B, codec Codec) {
	const records, perBatch, size = 64 << 10, 32, 1 << 10
	rng := rand.New(rand.NewPCG(1, 1))
	for range b.N {
		b.StopTimer()
		c := NewCommitter(CommitterOptions{})
		l, _, err := Open(Options{
			FS: vfs.OS{}, Dir: path.Join(b.TempDir(), "p"), Committer: c, Files: NewFiles(100),
			Config: Config{SegmentBytes: 16 << 20, IndexInterval: 4096, RetentionBytes: -1, RetentionAge: -1},
		})
		if err != nil {
			b.Fatal(err)
		}
		before := int64(0)
		for range records / perBatch {
			bld := Builder{Codec: codec}
			for i := range perBatch {
				value := make([]byte, size)
				for j := 0; j < size; j += 8 {
					value[j] = byte(rng.IntN(256)) // compresses, but not to nothing
				}
				bld.Add(Record{Timestamp: int64(i), Key: fmt.Append(nil, "key-", rng.IntN(records/2)), Value: value})
			}
			batch, err := bld.Build()
			if err != nil {
				b.Fatal(err)
			}
			if _, err := l.Append(batch); err != nil {
				b.Fatal(err)
			}
			before += batch.Size()
		}
		if err := l.Roll(); err != nil {
			b.Fatal(err)
		}
		c.drain()
		b.SetBytes(before)
		b.StartTimer()
		done, err := l.Compact(context.Background(), time.Now(), Compaction{KeyMemory: 64 << 20})
		b.StopTimer()
		if err != nil || done.Records == 0 {
			b.Fatal(done, err)
		}
		b.ReportMetric(float64(records)/b.Elapsed().Seconds()*float64(b.N), "records/s")
		if err := l.Remove(); err != nil {
			b.Fatal(err)
		}
	}
}
