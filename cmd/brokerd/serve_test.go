package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"

	"brokerd/broker"
)

func TestServeExitCodes(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()

	c := broker.Default()
	c.Data = t.TempDir()
	c.Kafka.Listen, c.NATS.Listen, c.HTTP.Listen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	inUse, err := broker.Open(c, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		stopped, cancel := context.WithCancel(t.Context())
		cancel()
		if err := inUse.Run(stopped); err != nil { // gives the directory back
			t.Error(err)
		}
	}()

	newer := t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, "format"), []byte("brokerd data format 9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(wrong, []byte("kafka: {lisen: a}\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct {
		name string
		args []string
		want int
	}{
		{"help", []string{"--help"}, exitOK},
		{"unknown command", []string{"dance"}, exitUsage},
		{"unknown flag", []string{"serve", "--dance"}, exitUsage},
		{"an argument", []string{"serve", "now"}, exitUsage},
		{"wrong flag value", []string{"serve", "--log-level", "chatty"}, exitUsage},
		{"wrong settings", []string{"serve", "--config", wrong}, exitUsage},
		{"no such settings", []string{"serve", "--config", wrong + ".not"}, exitUsage},
		{"port in use", []string{"serve", "--data", t.TempDir(), "--http", taken.Addr().String()}, exitFailure},
		{"data in use", []string{"serve", "--data", c.Data}, exitRefused},
		{"newer data", []string{"serve", "--data", newer}, exitRefused},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := run(test.args); got != test.want {
				t.Errorf("exit code %d, want %d", got, test.want)
			}
		})
	}
}

func TestFindConfig(t *testing.T) {
	t.Chdir(t.TempDir())
	if got := findConfig(); got != "" {
		t.Errorf("found %q where there is none", got)
	}
	if err := os.WriteFile(configName, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := findConfig(); got != configName {
		t.Errorf("found %q", got)
	}
}
