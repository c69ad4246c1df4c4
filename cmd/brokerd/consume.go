package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kadm"
)

// consumeFlags are the flags of `consume` as they were typed.
type consumeFlags struct {
	group      string
	from       string
	partitions []int32
	count      int64
	follow     bool
	format     string
	columns    columns
}

// newConsumeCommand makes `brokerd consume`.
func newConsumeCommand() *cobra.Command {
	var f consumeFlags
	r := &remote{}
	cmd := &cobra.Command{
		Use:   "consume TOPIC...",
		Short: "Print the records of topics, once or as they come",
		Long: `Print records, each value on a line of its own. The command ends where the topics ended when it began; with --follow
it waits for more until it is interrupted.

Reading changes nothing, so any stored range can be replayed: give --from, again and again.

With --group the command is a member of a consumer group: it goes on behind what the group has committed, shares the
partitions with the other members, and commits what it has written to its output, only then. --from holds only
for partitions in which the group has committed nothing; "brokerd group reset" moves a group.

` + placesHelp + `

A --format is text with these verbs: %t topic, %p partition, %o offset, %k key, %v value, %d time in milliseconds,
%d{go#RFC3339#} time, %h{%k=%v } headers, %K %V %H lengths, %v{base64} %v{hex} encodings, \n \t \xNN escapes.

JSON: {"topic", "partition", "offset", "timestamp", "key", "value", "headers": [{"key", "value"}]}. What is not UTF-8
stands as "key_base64" or "value_base64" instead; a missing key or value is null.`,
		Example: `  brokerd consume orders
  brokerd consume orders --follow --from end --key
  brokerd consume orders --from -1h --json
  brokerd consume orders --from 1500 --partition 0 --count 10
  brokerd consume orders --group billing --follow
  brokerd consume orders --format '%t/%p:%o %k %v\n'`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: r.complete(topicNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := f.parse(args, r.json, time.Now())
			if err != nil {
				return err
			}
			signal.Ignore(syscall.SIGPIPE) // a reader that left is seen as an error of the write, and the group is left properly
			return consume(cmd.Context(), r, job, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	r.addFlags(cmd.Flags())
	f.addFlags(cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc("group", r.complete(groupNames))
	_ = cmd.RegisterFlagCompletionFunc("from", oneOf("beginning", "end"))
	return cmd
}

func (f *consumeFlags) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&f.group, "group", "", "read as a member of this consumer `group`, and commit")
	fs.StringVar(&f.from, "from", "beginning", "`place` to start at")
	fs.Int32SliceVar(&f.partitions, "partition", nil, "only these `partitions`, such as 0,3")
	fs.Int64Var(&f.count, "count", 0, "end after `n` records; 0 for no limit")
	fs.BoolVarP(&f.follow, "follow", "f", false, "wait for more records at the end")
	fs.StringVar(&f.format, "format", "", "print each record by this `text`")
	fs.BoolVar(&f.columns.timestamp, "timestamp", false, "put the record's time before the value")
	fs.BoolVar(&f.columns.offset, "offset", false, "put partition and offset before the value")
	fs.BoolVar(&f.columns.key, "key", false, "put the key before the value")
	fs.BoolVar(&f.columns.headers, "headers", false, "put the headers before the value")
}

// parse makes of the flags a job.
func (f *consumeFlags) parse(topics []string, asJSON bool, now time.Time) (consumeJob, error) {
	job := consumeJob{topics: topics, group: f.group, partitions: f.partitions, count: f.count, follow: f.follow}
	var err error
	if job.from, err = parsePosition(f.from, now); err != nil {
		return job, misuse("--from: %w", err)
	}
	if f.group != "" && len(f.partitions) > 0 {
		return job, misuse("--partition and --group exclude each other: a group shares the partitions itself")
	}
	if f.count < 0 {
		return job, misuse("--count %d: want a number from 0", f.count)
	}
	ways := 0
	for _, given := range []bool{asJSON, f.format != "", f.columns != columns{}} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return job, misuse("give one of --json, --format, or the columns --timestamp, --offset, --key and --headers")
	}
	if asJSON {
		job.render = newJSONRenderer()
		return job, nil
	}
	layout := f.format
	if layout == "" {
		layout = f.columns.layout()
	}
	if job.render, err = newTextRenderer(layout); err != nil {
		return job, misuse("--format: %w", err)
	}
	return job, nil
}

// consumeJob says what to read and how to print it.
type consumeJob struct {
	topics     []string
	group      string
	from       position
	partitions []int32 // none: all
	count      int64   // 0: no limit
	follow     bool
	render     renderer
}

// plan is where a job reads: offsets to start at and, unless it follows, to end before.
type plan struct {
	starts map[partition]int64
	ends   map[partition]int64
}

// plan asks the broker what there is to read now.
func (j consumeJob) plan(ctx context.Context, adm *kadm.Client) (plan, error) {
	held, err := spans(ctx, adm, j.topics...)
	if err != nil {
		return plan{}, err
	}
	if len(j.partitions) > 0 {
		if err := j.onlyPartitions(held); err != nil {
			return plan{}, err
		}
	}
	starts, err := j.from.resolve(ctx, adm, held)
	if err != nil {
		return plan{}, err
	}
	ends := make(map[partition]int64, len(held))
	for p, s := range held {
		ends[p] = s.end
	}
	return plan{starts, ends}, nil
}

// onlyPartitions leaves in held what --partition names; each topic must have them.
func (j consumeJob) onlyPartitions(held map[partition]span) error {
	for _, t := range j.topics {
		for _, id := range j.partitions {
			if _, ok := held[partition{t, id}]; !ok {
				return misuse("--partition %d: %s has no such partition", id, t)
			}
		}
	}
	for p := range held {
		if !slices.Contains(j.partitions, p.id) {
			delete(held, p)
		}
	}
	return nil
}

// consume prints what job says. It ends without an error when ctx is done or the reader of out has left.
func consume(ctx context.Context, r *remote, job consumeJob, out, stderr io.Writer) error {
	var p plan
	err := r.admin(ctx, func(ctx context.Context, adm *kadm.Client) (err error) {
		p, err = job.plan(ctx, adm)
		return err
	})
	if err != nil {
		return err
	}
	c := newConsumption(job, p, out, stderr)
	cl, err := r.open(ctx, c.options()...)
	if err != nil {
		return err
	}
	if !isTerminal(out) {
		line := startProgress(stderr, c.progress)
		defer line.finish()
	}
	err = c.run(ctx, cl)
	cl.CloseAllowingRebalance()
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	return nil
}
