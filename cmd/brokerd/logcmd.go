package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"brokerd/log/vfs"
)

// logPathHelp explains what `log dump` and `log verify` take.
const logPathHelp = `A PATH is a segment file (00000000000000000000.log), the directory of a partition or of a topic, or a whole data
directory. Nothing is changed and no broker is needed; beside a running broker, what it is writing at the moment may look
like a torn tail.`

// newLogCommand makes `brokerd log` and what is below it.
func newLogCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "log",
		Short: "Read and check the files of a data directory, offline",
		Long:  "Read and check the files of a data directory, offline.\n\n" + logPathHelp,
		Example: `  brokerd log dump ./data --records
  brokerd log verify ./data`,
	}
	return holding(cmd, newLogDumpCommand(vfs.OS{}), newLogVerifyCommand(vfs.OS{}))
}

func newLogDumpCommand(fsys vfs.FS) *cobra.Command {
	job := dumpJob{fs: fsys}
	cmd := &cobra.Command{
		Use:   "dump PATH",
		Short: "Print the batches, or records, of log files",
		Long: `Print every record batch: its place, offsets, size, codec, time and producer (id, epoch and first sequence). A batch
that is shown has a good checksum; a damaged range is shown in its place, with its offsets and the reason.

` + logPathHelp + `

JSON: {"log", "segment", "position", "size", "base", "last", "records", "codec", "base_time", "max_time",
"leader_epoch", "producer", "producer_epoch", "sequence", "transactional", "control"} for a batch, followed, with
--records, by {"log", "offset", "timestamp", "key", "value", "headers"} for each record; and {"log", "segment",
"position", "length", "first", "last", "damage"} for a damaged range.`,
		Example: `  brokerd log dump ./data/topics/6f1c.../0
  brokerd log dump ./data --records --from 1500 --count 10
  brokerd log dump 00000000000000000000.log --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			job.path, job.out = args[0], cmd.OutOrStdout()
			return job.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&job.records, "records", false, "print each record too")
	cmd.Flags().Int64Var(&job.from, "from", 0, "begin with the batch that holds this `offset`")
	cmd.Flags().Int64Var(&job.count, "count", 0, "end after `n` batches, or records with --records; 0 for no limit")
	cmd.Flags().BoolVar(&job.json, "json", false, "print JSON, one object per line")
	return cmd
}

func newLogVerifyCommand(fsys vfs.FS) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify PATH...",
		Short: "Check every batch and record of log files",
		Long: `Check every batch: its checksum, its place among the others, and that its records can be unpacked. Names what is
damaged with offsets and byte positions, prints totals, and exits with 1 when there is damage. A torn tail is no damage: a
crash leaves one, nothing in it was acknowledged, and the next start of the broker cuts it off.

` + logPathHelp + `

JSON: {"log", "segment", "position", "length", "first", "last", "damage"} for each damaged range, then {"log",
"segments", "batches", "records", "bytes", "first", "last", "damaged", "torn"} for each log.`,
		Example: `  brokerd log verify ./data
  brokerd log verify ./data --json | jq 'select(.damaged > 0)'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v := &verification{fs: fsys}
			line := startProgress(cmd.ErrOrStderr(), v.progress)
			err := v.run(cmd.Context(), args)
			line.finish()
			if err := errors.Join(v.print(cmd.OutOrStdout(), asJSON), err); err != nil {
				return err
			}
			if n := v.damaged(); n > 0 {
				return fmt.Errorf("damage found: %s cannot be served, all others can; restore the files from a copy or consume behind it",
					plural(n, "range of offsets"))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object per line")
	return cmd
}
