package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"brokerd/broker"
)

const configName = "config.yaml"

const serveHelp = `Run the broker until SIGINT or SIGTERM, then answer what was accepted and stop
cleanly. A second signal ends it at once; killing it is safe at any time.

Settings come from the file of --config; without it, from config.yaml in the
working directory or beside the binary, if there is one. Every setting a.b can
also be given as the environment variable BROKERD_A_B. The file overrides the
built-in defaults, the environment the file, and flags the environment.

Exit codes:
  0  stopped cleanly
  1  failed at run
  2  wrong settings, flags or arguments
  3  data directory refused: in use by another process, or of a newer format`

func newServe() *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the broker",
		Long:  serveHelp,
		Example: `  brokerd serve
  brokerd serve --data /var/lib/brokerd --kafka 0.0.0.0:9092
  BROKERD_LOG_FORMAT=json brokerd serve --config /etc/brokerd/config.yaml`,
		Args: cobra.NoArgs,
	}
	path := c.Flags().String("config", "", "settings file")
	broker.AddFlags(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error { return serve(c, *path) }
	return c
}

func serve(c *cobra.Command, path string) error {
	if path == "" {
		path = findConfig()
	}
	config, err := broker.Load(path, c.Flags())
	if err != nil {
		return serveError(err)
	}
	logger, err := broker.NewLogger(config.Log, os.Stderr)
	if err != nil {
		return serveError(err)
	}
	for _, name := range broker.UnknownEnv(os.Environ()) {
		if name == serverEnv {
			continue // for the commands that talk to a broker
		}
		logger.Warn().Str("variable", name).Msg("ignored an environment variable that looks like a setting and is none")
	}
	from := path
	if from == "" {
		from = "none, built-in defaults"
	}
	logger.Info().Str("file", from).Msg("read the settings")
	b, err := broker.Open(config, logger)
	if err != nil {
		return serveError(err)
	}
	return serveError(b.Run(c.Context()))
}

// serveError gives an error of the broker its exit code.
func serveError(err error) error {
	wrong := (*broker.ConfigError)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrong):
		return &exitError{exitUsage, err}
	case errors.Is(err, broker.ErrInUse), errors.Is(err, broker.ErrNewerFormat):
		return &exitError{exitRefused, err}
	}
	return fmt.Errorf("serve: %w", err)
}

// findConfig returns the settings file that is used when none was named, or "".
func findConfig() string {
	places := []string{configName}
	if binary, err := os.Executable(); err == nil {
		places = append(places, filepath.Join(filepath.Dir(binary), configName))
	}
	for _, place := range places {
		if info, err := os.Stat(place); err == nil && info.Mode().IsRegular() {
			return place
		}
	}
	return ""
}
