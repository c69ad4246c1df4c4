package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

// misuse is an error of the command line that cobra cannot see: nothing was begun.
func misuse(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

// holding makes cmd, which only holds other commands, show its help, or name the command that it does not hold.
func holding(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return misuse("%q has no command %q; see %q", cmd.CommandPath(), args[0], cmd.CommandPath()+" --help")
	}
	return cmd
}
