package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// Exit codes of every command.
const (
	exitOK      = 0
	exitFailed  = 1 // the command was understood and did not succeed
	exitMisused = 2 // the command line itself is wrong: nothing was done
)

// usageError marks a mistake on the command line.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// misuse makes a usageError.
func misuse(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitCode is the process's exit code for the error that a command returned.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, new(usageError)):
		return exitMisused
	}
	return exitFailed
}

// strict makes cmd and what is below it report mistakes in flags and arguments as usageError. A command that only holds
// others shows its help, or names the sub-command that does not exist.
func strict(cmd *cobra.Command) *cobra.Command {
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	strictArgs(cmd)
	return cmd
}

func strictArgs(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		strictArgs(sub)
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return misuse("%w; see %q", err, cmd.CommandPath()+" --help")
			}
			return nil
		}
	}
	if cmd.Runnable() {
		return
	}
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return misuse("%q has no command %q; see %q", cmd.CommandPath(), args[0], cmd.CommandPath()+" --help")
	}
}
