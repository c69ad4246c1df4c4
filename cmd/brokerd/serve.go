package main

import "github.com/spf13/cobra"

func newServe() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Run the broker",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { <-c.Context().Done(); return nil },
	}
}
