package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/twmb/franz-go/pkg/kadm"
)

// newGroupCommand makes `brokerd group` and what is below it.
func newGroupCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "group",
		Short: "List, describe, move and delete consumer groups",
		Long: `List, describe, move and delete the consumer groups of a running broker.

With --json, each command prints one JSON object per line.`,
		Example: `  brokerd group list
  brokerd group describe billing
  brokerd group reset billing --topic orders --to-time -1h --dry-run
  brokerd group delete billing`,
	}
	r := &remote{}
	r.addFlags(cmd.PersistentFlags())
	return holding(cmd, newGroupListCommand(r), newGroupDescribeCommand(r), newGroupResetCommand(r), newGroupDeleteCommand(r))
}

func newGroupListCommand(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List groups with their state",
		Long: `List all groups with their type: classic, consumer (the broker assigns, KIP-848), or durable (a durable consumer of NATS
clients, STREAM/CONSUMER), and their state: Empty (offsets, no members), PreparingRebalance and CompletingRebalance or
Assigning and Reconciling (members come or go), Stable, Dead. A durable one is Stable while a client asks for messages, and
shows its ack floor, the messages that wait for acknowledgement, and its lag.

JSON: {"group", "type", "state", "protocol_type"}, of a durable one also {"ack_floor", "pending", "lag"}.`,
		Example: `  brokerd group list
  brokerd group list --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.admin(cmd.Context(), func(ctx context.Context, adm *kadm.Client) error {
				return listGroups(ctx, adm, cmd.OutOrStdout(), r.json)
			})
		},
	}
}

func newGroupDescribeCommand(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAME...",
		Short: "Show members, committed offsets and lag",
		Long: `Show a group's type, state and protocol, its members with the partitions they hold, and for each partition the committed
offset, the end and the lag between them. The committed offset of a durable consumer is its ack floor.

JSON: {"group", "type", "state", "protocol_type", "protocol", "lag", "members": [{"member", "instance", "client", "host",
"partitions": [{"topic", "partition"}]}], "partitions": [{"topic", "partition", "committed", "end", "lag", "member"}]}, of a durable one also {"pending"}.
An offset that was never committed is null; its lag counts from the start of the partition.`,
		Example: `  brokerd group describe billing
  brokerd group describe billing --json | jq .lag`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: r.complete(groupNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.admin(cmd.Context(), func(ctx context.Context, adm *kadm.Client) error {
				return describeGroups(ctx, adm, cmd.OutOrStdout(), r.json, args)
			})
		},
	}
}

func newGroupDeleteCommand(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "delete NAME...",
		Short: "Delete groups that have no members",
		Long: `Delete groups with everything they have committed. A group with members is refused: stop them first. A durable consumer
is deleted as it is.

JSON: {"group"}.`,
		Example:           `  brokerd group delete billing`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: r.complete(groupNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.admin(cmd.Context(), func(ctx context.Context, adm *kadm.Client) error {
				return deleteGroups(ctx, adm, cmd.OutOrStdout(), r.json, args)
			})
		},
	}
}

// resetFlags are the flags of `group reset` as they were typed.
type resetFlags struct {
	topics      []string
	allTopics   bool
	toBeginning bool
	toEnd       bool
	toOffset    int64
	toTime      string
	by          int64
	dryRun      bool
}

func newGroupResetCommand(r *remote) *cobra.Command {
	var f resetFlags
	cmd := &cobra.Command{
		Use:   "reset NAME",
		Short: "Move a group's committed offsets",
		Long: `Move the committed offsets of a group, to read again or to skip. The table shows them before and after; --dry-run
only shows it. A group that does not exist is made. While members are active nothing is moved: they would commit over
it, so stop them first. A durable consumer is moved at any time; what waits for acknowledgement is forgotten.

An offset outside what a partition holds becomes its start or end. --to-time takes the times below; a partition without
a record at or after that time goes to its end.

` + placesHelp + `

JSON, one object per partition: {"group", "topic", "partition", "before", "after", "start", "end", "moved"}; before is
null when nothing was committed.`,
		Example: `  brokerd group reset billing --topic orders --to-beginning
  brokerd group reset billing --topic orders:0,2-4 --to-offset 1500
  brokerd group reset billing --all-topics --to-time -1h --dry-run
  brokerd group reset billing --topic orders --by -100`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: r.completeOne(groupNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := f.parse(args[0], cmd.Flags(), time.Now())
			if err != nil {
				return err
			}
			return r.admin(cmd.Context(), func(ctx context.Context, adm *kadm.Client) error {
				return resetGroup(ctx, adm, cmd.OutOrStdout(), r.json, job)
			})
		},
	}
	f.addFlags(cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc("topic", r.complete(topicNames))
	return cmd
}

func (f *resetFlags) addFlags(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.topics, "topic", nil, "`topic[:partitions]` to move, such as orders or orders:0,2-4; may be given again")
	fs.BoolVar(&f.allTopics, "all-topics", false, "move every topic in which the group has committed")
	fs.BoolVar(&f.toBeginning, "to-beginning", false, "to the oldest record")
	fs.BoolVar(&f.toEnd, "to-end", false, "behind the newest record")
	fs.Int64Var(&f.toOffset, "to-offset", 0, "to this `offset`")
	fs.StringVar(&f.toTime, "to-time", "", "to the first record at or after this `time`")
	fs.Int64Var(&f.by, "by", 0, "`n` offsets forward, or back when negative")
	fs.BoolVar(&f.dryRun, "dry-run", false, "show what would be moved, and move nothing")
}

// parse makes of the flags a job.
func (f *resetFlags) parse(group string, given *pflag.FlagSet, now time.Time) (resetJob, error) {
	job := resetJob{group: group, dryRun: f.dryRun}
	if n := countChanged(given, "to-beginning", "to-end", "to-offset", "to-time", "by"); n != 1 {
		return job, misuse("give one of --to-beginning, --to-end, --to-offset, --to-time and --by")
	}
	if f.allTopics == (len(f.topics) > 0) {
		return job, misuse("say what to move: --topic, or --all-topics")
	}
	for _, s := range f.topics {
		t, err := parseTopicPartitions(s)
		if err != nil {
			return job, misuse("--topic %w", err)
		}
		job.topics = append(job.topics, t)
	}
	switch {
	case given.Changed("by"):
		job.by = &f.by
	case f.toBeginning:
		job.to = position{kind: atStart}
	case f.toEnd:
		job.to = position{kind: atEnd}
	case given.Changed("to-time"):
		t, err := parseTime(f.toTime, now)
		if err != nil {
			return job, misuse("--to-time: %w", err)
		}
		job.to = position{atTime, t.UnixMilli()}
	case f.toOffset < 0:
		return job, misuse("--to-offset %d: want an offset from 0; --by moves relative to what is committed", f.toOffset)
	default:
		job.to = position{atOffset, f.toOffset}
	}
	return job, nil
}

// countChanged is how many of the flags were typed.
func countChanged(fs *pflag.FlagSet, names ...string) int {
	n := 0
	for _, name := range names {
		if fs.Changed(name) {
			n++
		}
	}
	return n
}
