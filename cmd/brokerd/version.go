package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"brokerd/broker"
)

func newVersion() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary",
		Example: "  brokerd version\n  brokerd version --json",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			b := broker.BuildInfo()
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(b)
			}
			_, err := fmt.Fprintf(c.OutOrStdout(), "brokerd %s (%s)\n", b.Version, b.Go)
			return err
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}
