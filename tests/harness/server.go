package harness

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	startLimit = 60 * time.Second // for the ready line; generous for the race detector on a busy machine
	stopLimit  = 60 * time.Second // for a clean stop
)

// Options say how a broker is started.
type Options struct {
	Binary string
	Data   string   // the data directory
	Kafka  string   // listen addresses; empty takes a free port of the loopback interface
	NATS   string   //
	HTTP   string   //
	Args   []string // more flags of "brokerd serve"
	Env    []string // more environment, as NAME=value
	Wrap   []string // a command that ends by executing its arguments, such as one that sets limits first
}

// Server is one running broker. It is restarted by starting another one with its Options.
type Server struct {
	Kafka string // the real addresses, from the ready line
	NATS  string
	HTTP  string

	opts Options
	cmd  *exec.Cmd
	out  *output
	done chan struct{} // closed when the process has ended
	err  error         // how it ended; valid after done
}

// Start runs a broker and returns when it is ready. The caller must end it with Stop or Kill.
func Start(o Options) (*Server, error) {
	s, err := Launch(o)
	if err != nil {
		return nil, err
	}
	if err := s.AwaitReady(); err != nil {
		return nil, err
	}
	return s, nil
}

// AwaitReady returns when the broker is ready. After an error the process has ended.
func (s *Server) AwaitReady() error {
	select {
	case line := <-s.out.ready:
		s.Kafka, s.NATS, s.HTTP = line.Kafka, line.NATS, line.HTTP
		return nil
	case <-s.done:
		return fmt.Errorf("harness: the broker ended before it was ready: %v\n%s", s.err, s.Log())
	case <-time.After(startLimit):
		err := fmt.Errorf("harness: the broker was not ready after %s\n%s", startLimit, s.Log())
		return errors.Join(err, s.Kill())
	}
}

// Launch runs a broker without waiting for it to be ready.
func Launch(o Options) (*Server, error) {
	const free = "127.0.0.1:0"
	o.Kafka, o.NATS, o.HTTP = cmp.Or(o.Kafka, free), cmp.Or(o.NATS, free), cmp.Or(o.HTTP, free)
	args := append([]string{}, o.Wrap...)
	args = append(args, o.Binary, "serve", "--data", o.Data, "--kafka", o.Kafka, "--nats", o.NATS, "--http", o.HTTP)
	args = append(args, o.Args...)

	s := &Server{opts: o, out: newOutput(), done: make(chan struct{})}
	s.cmd = exec.Command(args[0], args[1:]...)
	s.cmd.Env = append(withoutSettings(os.Environ()), o.Env...)
	s.cmd.Dir = o.Data // no config.yaml of the caller's directory is picked up
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := os.MkdirAll(o.Data, 0o755); err != nil {
		return nil, fmt.Errorf("harness: make the data directory: %w", err)
	}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("harness: start the broker: %w", err)
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.done)
	}()
	return s, nil
}

// withoutSettings drops the settings of a broker from an environment, so that those of the caller's shell do not count.
func withoutSettings(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "BROKERD_") })
}

// Again are the options that start the broker on the same data and the same ports.
func (s *Server) Again() Options {
	o := s.opts
	o.Kafka, o.NATS, o.HTTP = s.Kafka, s.NATS, s.HTTP
	return o
}

// PID is the broker's process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Log is everything that the broker printed so far.
func (s *Server) Log() string { return s.out.String() }

// Kill ends the process at once, as a crash does. Killing an ended process is no error.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("harness: kill the broker: %w", err)
	}
	<-s.done
	return nil
}

// Stop asks the broker to end and returns an error unless it ended cleanly, with exit code 0, in time.
func (s *Server) Stop() error {
	if err := s.Terminate(); err != nil {
		return err
	}
	code, err := s.Wait()
	if err == nil && code != 0 {
		err = fmt.Errorf("harness: the broker ended with code %d after SIGTERM\n%s", code, s.Log())
	}
	return err
}

// Terminate asks the broker to end, and does not wait.
func (s *Server) Terminate() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("harness: stop the broker: %w", err)
	}
	return nil
}

// Wait waits for the process to end by itself and returns its exit code; -1 after a signal.
func (s *Server) Wait() (int, error) {
	select {
	case <-s.done:
		return s.cmd.ProcessState.ExitCode(), nil
	case <-time.After(stopLimit):
		err := fmt.Errorf("harness: the broker was still running after %s\n%s", stopLimit, s.Log())
		return 0, errors.Join(err, s.Kill())
	}
}

// Running says whether the process lives.
func (s *Server) Running() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// Faults are the lines of the log that no test provokes: panics and reports of the race detector.
func (s *Server) Faults() []string {
	var found []string
	for line := range strings.Lines(s.Log()) {
		if strings.HasPrefix(line, "panic:") || strings.Contains(line, "WARNING: DATA RACE") ||
			strings.Contains(line, `"level":"panic"`) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}
