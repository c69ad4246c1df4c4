// Command brokerd is the broker and its tools.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
)

// Exit codes, as documented in rootHelp.
const (
	exitOK      = 0
	exitFailure = 1 // a command began its work and failed
	exitUsage   = 2 // wrong configuration, flags or arguments: nothing was begun
	exitRefused = 3 // the data directory is in use, or of a newer format
)

const rootHelp = `brokerd is a durable message log that Kafka and NATS clients read and write.

"brokerd serve" runs the broker, "brokerd demo" shows what it does. The other commands are tools that speak to a
running broker (topic, produce, consume, group) or read a stopped one's files
(log).

Exit codes:
  0  clean end
  1  failure at run
  2  wrong configuration, flags or arguments
  3  data directory refused: in use by another process, or of a newer format`

func main() {
	// The library keeps these for the whole process: the key of errors, and durations that name their unit.
	zerolog.ErrorFieldName = "err"
	zerolog.DurationFieldFormat = zerolog.DurationFormatString
	os.Exit(run(os.Args[1:]))
}

// run executes one command line and returns its exit code. The first SIGINT or SIGTERM cancels the command's context,
// so that it can end cleanly; a second one ends the process at once.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // back to the default action: the next signal kills
	return execute(ctx, args, os.Stdin, os.Stdout, os.Stderr)
}

// execute is run without the process around it.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root, begun := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	fmt.Fprintln(stderr, "brokerd:", err)
	if coded := (*exitError)(nil); errors.As(err, &coded) {
		return coded.code
	}
	if !begun() {
		fmt.Fprintln(stderr, `Run "brokerd help" for the commands and their flags.`)
		return exitUsage
	}
	return exitFailure
}

// newRoot makes the command tree. begun reports, after Execute, whether flags and arguments were good enough for a
// command to start: an error before that is one of usage.
func newRoot() (root *cobra.Command, begun func() bool) {
	started := false
	root = &cobra.Command{
		Use:              "brokerd",
		Short:            "A durable message log for Kafka and NATS clients",
		Long:             rootHelp,
		SilenceUsage:     true,
		SilenceErrors:    true,
		PersistentPreRun: func(*cobra.Command, []string) { started = true },
	}
	root.AddCommand(
		newServe(),
		newDemo(),
		newTopicCommand(),
		newProduceCommand(),
		newConsumeCommand(),
		newGroupCommand(),
		newLogCommand(),
		newVersion(),
	)
	return root, func() bool { return started }
}

// exitError carries the exit code that an error should end the process with, when it is not the usual one.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }
