package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
)

// newTopicCommand makes `brokerd topic` and what is below it.
func newTopicCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topic",
		Short: "Create, list, describe, alter and delete topics",
		Long: `Create, list, describe, alter and delete topics of a running broker.

With --json, each command prints one JSON object per line: one per topic.`,
		Example: `  brokerd topic create orders --partitions 4 --config retention.ms=86400000
  brokerd topic list
  brokerd topic describe orders
  brokerd topic alter orders --config max.message.bytes=4194304 --partitions 8
  brokerd topic delete orders`,
	}
	r := &remote{}
	r.addFlags(cmd.PersistentFlags())
	return holding(cmd, newTopicCreateCommand(r), newTopicListCommand(r), newTopicDescribeCommand(r),
		newTopicAlterCommand(r), newTopicDeleteCommand(r))
}

func newTopicCreateCommand(r *remote) *cobra.Command {
	var partitions int32
	var config []string
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a topic",
		Long: `Create a topic. When the command returns, the topic survives a crash of the broker.

Settings that are not given have the broker's defaults; "brokerd topic describe NAME --all" lists them.
JSON: {"topic", "id", "partitions"}.`,
		Example: `  brokerd topic create orders
  brokerd topic create orders --partitions 4
  brokerd topic create clicks --config retention.ms=3600000 --config durability=async`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := parseSettings(config)
			if err != nil {
				return err
			}
			return r.admin(cmd.Context(), func(ctx context.Context, adm *kadm.Client) error {
				return createTopic(ctx, adm, cmd.OutOrStdout(), r.json, args[0], partitions, settings)
			})
		},
	}
	cmd.Flags().Int32Var(&partitions, "partitions", -1, "number of partitions; -1 takes the broker's default")
	cmd.Flags().StringArrayVar(&config, "config", nil, "`setting=value` of the topic; may be given again")
	return cmd
}

func newTopicListCommand(r *remote) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List topics with what they hold",
		Long: `List all topics: how many partitions and records they have, and their size where the broker tells it.

RECORDS counts offsets from the oldest record to the newest.
JSON: {"topic", "id", "partitions", "records", "bytes"}; bytes is null when unknown.`,
		Example: `  brokerd topic list
  brokerd topic list --json --server 10.0.0.7:9092`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return r.admin(cmd.Context(), func(ctx context.Context, adm *kadm.Client) error {
				return listTopics(ctx, adm, cmd.OutOrStdout(), r.json)
			})
		},
	}
}

func newTopicDescribeCommand(r *remote) *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "describe NAME...",
		Short: "Show a topic's id, partitions, offsets and settings",
		Long: `Show a topic's id, its partitions with their first and next offsets, and the settings that differ from the
built-in defaults, or with --all every setting with the place that its value comes from.

JSON: {"topic", "id", "partitions": [{"partition", "start", "end", "bytes"}],
"settings": [{"name", "value", "source"}]}.`,
		Example: `  brokerd topic describe orders
  brokerd topic describe orders clicks --all`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: r.complete(topicNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			return r.admin(cmd.Context(), func(ctx context.Context, adm *kadm.Client) error {
				return describeTopics(ctx, adm, cmd.OutOrStdout(), r.json, all, args)
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show every setting, also those at their default")
	return cmd
}

func newTopicAlterCommand(r *remote) *cobra.Command {
	var change topicChange
	var config []string
	cmd := &cobra.Command{
		Use:   "alter NAME",
		Short: "Change settings or add partitions",
		Long: `Change settings of a topic, put them back to their defaults, or add partitions. The settings change all or not at
all. Partitions can be added, never removed: records with the same key may go to another partition from then on.

JSON: {"topic", "set": {...}, "unset": [...], "partitions"}.`,
		Example: `  brokerd topic alter orders --config retention.ms=3600000
  brokerd topic alter orders --unset retention.ms
  brokerd topic alter orders --partitions 8`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: r.completeOne(topicNames),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if change.set, err = parseSettings(config); err != nil {
				return err
			}
			if len(change.set) == 0 && len(change.unset) == 0 && change.partitions == 0 {
				return misuse("nothing to change: give --config, --unset or --partitions")
			}
			return r.admin(cmd.Context(), func(ctx context.Context, adm *kadm.Client) error {
				return alterTopic(ctx, adm, cmd.OutOrStdout(), r.json, args[0], change)
			})
		},
	}
	cmd.Flags().StringArrayVar(&config, "config", nil, "`setting=value` to set; may be given again")
	cmd.Flags().StringArrayVar(&change.unset, "unset", nil, "`setting` to put back to its default; may be given again")
	cmd.Flags().IntVar(&change.partitions, "partitions", 0, "new `total` of partitions")
	return cmd
}

func newTopicDeleteCommand(r *remote) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete NAME...",
		Short: "Delete topics and all their records",
		Long: `Delete topics and all their records, for good. On a terminal the command asks first; anywhere else it wants --yes.

JSON: {"topic"}.`,
		Example: `  brokerd topic delete orders
  brokerd topic delete orders clicks --yes`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: r.complete(topicNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				if err := confirm(cmd.InOrStdin(), cmd.ErrOrStderr(), args); err != nil {
					return err
				}
			}
			return r.admin(cmd.Context(), func(ctx context.Context, adm *kadm.Client) error {
				return deleteTopics(ctx, adm, cmd.OutOrStdout(), r.json, args)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirm asks before topics are deleted, when somebody is there to answer.
func confirm(in io.Reader, out io.Writer, topics []string) error {
	if !isTerminal(in) {
		return misuse("deleting is for good: give --yes to delete %s without being asked", strings.Join(topics, ", "))
	}
	fmt.Fprintf(out, "Delete %s with all records? [y/N] ", strings.Join(topics, ", "))
	answer, _ := bufio.NewReader(in).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return fmt.Errorf("nothing was deleted")
}

// parseSettings reads "setting=value" pairs.
func parseSettings(pairs []string) (map[string]string, error) {
	settings := make(map[string]string, len(pairs))
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, misuse("--config %q: want setting=value, such as retention.ms=3600000", pair)
		}
		if _, twice := settings[name]; twice {
			return nil, misuse("--config %s is given twice", name)
		}
		settings[name] = value
	}
	return settings, nil
}
