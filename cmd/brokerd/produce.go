package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// produceFlags are the flags of `produce` as they were typed.
type produceFlags struct {
	file         string
	keySeparator string
	partition    int32
	headers      []string
	compression  string
	acks         string
	batchBytes   int32
	linger       time.Duration
	timeout      time.Duration
}

// newProduceCommand makes `brokerd produce`.
func newProduceCommand() *cobra.Command {
	var f produceFlags
	r := &remote{}
	cmd := &cobra.Command{
		Use:   "produce TOPIC",
		Short: "Write lines to a topic, each as one record",
		Long: `Write each line of the standard input, or of a file, as one record.

A record without a key goes to any partition; records with the same key go to the same one, as with every Kafka client.
The producer is idempotent: a retry never stores a record twice. With --acks all, the default, a record counts only
when the broker has it on disk.

At the end comes a summary of the records that were acknowledged. When one was not, the command stops reading, says
which line it was, and exits with 1; lines after it may have been stored too. Interrupted, it sends what it has
accepted, says how far it came, and exits with 1.

JSON: {"topic", "records", "bytes", "seconds", "partitions": [{"partition", "records", "first", "last"}]}; first and
last are offsets.`,
		Example: `  echo hello | brokerd produce greetings
  brokerd produce orders --file orders.csv --key-separator , --compression zstd
  brokerd produce orders --key-separator '\t' --header source=import < orders.tsv`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: r.completeOne(topicNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			job, opts, err := f.parse(args[0])
			if err != nil {
				return err
			}
			in, err := openInput(f.file, cmd.InOrStdin())
			if err != nil {
				return err
			}
			defer in.Close()
			cl, err := r.open(cmd.Context(), append(opts, kgo.WithHooks(&outage{w: cmd.ErrOrStderr()}))...)
			if err != nil {
				return err
			}
			defer cl.Close()
			if err := job.check(cmd.Context(), kadm.NewClient(cl)); err != nil {
				return err
			}
			sum, err := produce(cmd.Context(), cl, job, in, cmd.ErrOrStderr())
			return errors.Join(sum.print(cmd.OutOrStdout(), r.json), err)
		},
	}
	r.addFlags(cmd.Flags())
	f.addFlags(cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc("compression", oneOf("none", "gzip", "snappy", "lz4", "zstd"))
	_ = cmd.RegisterFlagCompletionFunc("acks", oneOf("all", "1", "0"))
	return cmd
}

func (f *produceFlags) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&f.file, "file", "", "read lines from `path` instead of the standard input")
	fs.StringVar(&f.keySeparator, "key-separator", "", `the key is what stands before the first `+"`text`"+` in a line, such as , or '\t'; a line without it has no key`)
	fs.Int32Var(&f.partition, "partition", -1, "write to this partition instead of choosing by key")
	fs.StringArrayVar(&f.headers, "header", nil, "header `key=value` of every record; may be given again")
	fs.StringVar(&f.compression, "compression", "none", "none, gzip, snappy, lz4 or zstd")
	fs.StringVar(&f.acks, "acks", "all", "what a record waits for: all (on disk), 1 or 0 (nothing; its loss is not noticed)")
	fs.Int32Var(&f.batchBytes, "batch-bytes", 1<<20, "largest batch, and longest line, in `bytes`")
	fs.DurationVar(&f.linger, "linger", 5*time.Millisecond, "wait this long for more lines before a batch is sent")
	fs.DurationVar(&f.timeout, "timeout", 30*time.Second, "give up a record that is not acknowledged in this time")
}

// parse makes of the flags a job and the options of its client.
func (f *produceFlags) parse(topic string) (produceJob, []kgo.Opt, error) {
	job := produceJob{topic: topic, partition: f.partition, maxLine: int(f.batchBytes)}
	var err error
	if job.separator, err = parseSeparator(f.keySeparator); err != nil {
		return job, nil, err
	}
	if job.headers, err = parseHeaders(f.headers); err != nil {
		return job, nil, err
	}
	codec, err := parseCompression(f.compression)
	if err != nil {
		return job, nil, err
	}
	const least, most = 1 << 10, 64 << 20
	if f.batchBytes < least || f.batchBytes > most {
		return job, nil, misuse("--batch-bytes %d: want %d to %d", f.batchBytes, least, most)
	}
	opts := []kgo.Opt{
		kgo.ProducerBatchCompression(codec),
		kgo.ProducerBatchMaxBytes(f.batchBytes),
		kgo.ProducerLinger(f.linger),
		kgo.RecordDeliveryTimeout(f.timeout),
		kgo.MaxBufferedRecords(100_000),
		kgo.MaxBufferedBytes(4 * most),
		kgo.AllowIdempotentProduceCancellation(), // a record given up is reported, not retried for ever
	}
	if f.partition >= 0 {
		opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	switch f.acks {
	case "all", "-1":
		opts = append(opts, kgo.RequiredAcks(kgo.AllISRAcks()))
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
		job.blind = true
	default:
		return job, nil, misuse("--acks %q: want all, 1 or 0", f.acks)
	}
	return job, opts, nil
}

// check makes sure that the topic and the partition exist before anything is read.
func (j produceJob) check(ctx context.Context, adm *kadm.Client) error {
	topics, err := adm.ListTopics(ctx, j.topic)
	if err != nil {
		return fmt.Errorf("look up topic %s: %w", j.topic, err)
	}
	t := topics[j.topic]
	switch {
	case errors.Is(t.Err, kerr.UnknownTopicOrPartition):
		return noTopic(j.topic)
	case t.Err != nil:
		return fmt.Errorf("look up topic %s: %w", j.topic, refused(t.Err, ""))
	case int(j.partition) >= len(t.Partitions):
		return misuse("--partition %d: %s has the partitions 0 to %d", j.partition, j.topic, len(t.Partitions)-1)
	}
	return nil
}

func openInput(path string, stdin io.Reader) (io.ReadCloser, error) {
	if path == "" || path == "-" {
		return io.NopCloser(stdin), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, misuse("--file: %w", err)
	}
	return f, nil
}

// parseSeparator understands the escapes of a Go string, such as \t and \x1f. Empty means that there are no keys.
func parseSeparator(s string) ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	text, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
	if err != nil || strings.Contains(text, "\n") {
		return nil, misuse(`--key-separator %q: want text without a newline; escapes are \t, \\ and \xNN`, s)
	}
	return []byte(text), nil
}

func parseHeaders(pairs []string) ([]kgo.RecordHeader, error) {
	var headers []kgo.RecordHeader
	for _, pair := range pairs {
		k, v, ok := strings.Cut(pair, "=")
		if !ok || k == "" {
			return nil, misuse("--header %q: want key=value", pair)
		}
		headers = append(headers, kgo.RecordHeader{Key: k, Value: []byte(v)})
	}
	return headers, nil
}

func parseCompression(s string) (kgo.CompressionCodec, error) {
	switch s {
	case "none":
		return kgo.NoCompression(), nil
	case "gzip":
		return kgo.GzipCompression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	}
	return kgo.CompressionCodec{}, misuse("--compression %q: want none, gzip, snappy, lz4 or zstd", s)
}
