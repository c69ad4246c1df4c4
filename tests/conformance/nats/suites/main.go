// Command suites runs the tests of NATS's Go clients, each one in a process of its own, against the servers of ../backend.
// It ends with 0 when exactly those tests fail that are known to.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ok, err := run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "suites:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run runs the suites that the arguments name, each as NAME=DIRECTORY. The directory holds the test's sources, and the
// file NAME.test beside the results is the test binary.
func run(ctx context.Context) (bool, error) {
	backend := flag.String("backend", "", "the program ../backend, with its arguments")
	exceptionsFile := flag.String("exceptions", "", "file of the tests that are known to fail; empty for none")
	work := flag.String("work", "", "directory of the test binaries; results go there")
	workers := flag.Int("workers", 2, "tests that run at the same time")
	limit := flag.Duration("limit", 4*time.Minute, "how long one test may take")
	only := flag.String("run", "", "run only the tests that match this expression")
	flag.Parse()
	exceptions, err := readExceptions(*exceptionsFile)
	if err != nil {
		return false, err
	}
	if *work, err = filepath.Abs(*work); err != nil { // the tests run elsewhere
		return false, err
	}
	service, err := startService(ctx, strings.Fields(*backend), filepath.Join(*work, "service.log"))
	if err != nil {
		return false, err
	}
	defer service.stop()
	r := &runner{service: service, workers: *workers, limit: *limit}
	ok := true
	var table strings.Builder
	for _, arg := range flag.Args() {
		name, dir, _ := strings.Cut(arg, "=")
		s := suite{name: name, dir: dir, work: *work}
		if err := s.list(ctx, cmp.Or(*only, ".")); err != nil {
			return false, err
		}
		began := time.Now()
		outcomes := r.run(ctx, s, exceptions[name])
		good := s.report(&table, outcomes, exceptions[name], *only == "", time.Since(began))
		ok = ok && good
	}
	fmt.Printf("\n%-10s  %5s  %6s  %8s  %s\n%s", "suite", "tests", "passed", "excepted", "result", table.String())
	return ok, ctx.Err()
}

// report says what is not as expected, adds the suite's line to the table, and tells whether all is as expected.
func (s suite) report(table *strings.Builder, outcomes map[string]outcome, exceptions map[string]string, all bool, took time.Duration) bool {
	var unexpected []string
	passed, excepted, again := 0, 0, 0
	for _, test := range s.tests {
		o, reason := outcomes[test], exceptions[test]
		switch {
		case o.passed && reason == "":
			passed++
		case o.passed:
			unexpected = append(unexpected, fmt.Sprintf("%s passes, and is listed as an exception", test))
		case reason != "":
			excepted++
		default:
			unexpected = append(unexpected, fmt.Sprintf("%s %s: see %s", test, o.how, o.log))
		}
		if o.again {
			again++
		}
	}
	for test := range exceptions {
		if all && !slices.Contains(s.tests, test) {
			unexpected = append(unexpected, fmt.Sprintf("%s is listed as an exception, and there is no such test", test))
		}
	}
	slices.Sort(unexpected)
	for _, line := range unexpected {
		fmt.Printf("%s: %s\n", s.name, line)
	}
	result := fmt.Sprintf("ok, %.0f s", took.Seconds())
	if len(unexpected) > 0 {
		result = fmt.Sprintf("FAILED: %d not as expected, %.0f s", len(unexpected), took.Seconds())
	}
	if again > 0 {
		result += fmt.Sprintf(", %d at a later try", again)
	}
	fmt.Fprintf(table, "%-10s  %5d  %6d  %8d  %s\n", s.name, len(s.tests), passed, excepted, result)
	return len(unexpected) == 0
}

// readExceptions reads lines of a suite, a test and a reason.
func readExceptions(path string) (map[string]map[string]string, error) {
	all := map[string]map[string]string{}
	if path == "" {
		return all, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for number, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		suite, rest, _ := strings.Cut(line, " ")
		test, reason, _ := strings.Cut(strings.TrimSpace(rest), " ")
		if reason = strings.TrimSpace(reason); reason == "" {
			return nil, fmt.Errorf("%s:%d: an exception is a suite, a test and a reason", path, number+1)
		}
		if all[suite] == nil {
			all[suite] = map[string]string{}
		}
		all[suite][test] = reason
	}
	return all, nil
}
