// Command backend gives the suites of NATS's Go clients the servers that they ask for: each one is a brokerd process. The
// service that they ask is ntf, of which this is a backend. Under the name nats-server it stands in for that one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/synadia-io/orbit.go/ntf"
	"github.com/synadia-io/orbit.go/ntf/backend"
)

func main() {
	if filepath.Base(os.Args[0]) == standInName {
		fmt.Fprintln(os.Stderr, standInName+":", standIn(os.Args[1:]))
		os.Exit(1)
	}
	binary := flag.String("binary", "", "the brokerd to run; empty runs nats-server itself, to compare with")
	kill := flag.Bool("kill", false, "stop servers with kill -9 instead of asking them to")
	low := flag.Int("ports-from", 21000, "first port that servers may have")
	high := flag.Int("ports-to", 29000, "last port that servers may have")
	dir := flag.String("dir", "", "directory of the servers; it is kept. Empty takes a temporary one")
	verbose := flag.Bool("verbose", false, "log each request")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := ntf.Options{Group: group, Dir: *dir, Preserve: *dir != "", PortRange: ntf.PortRange{Low: *low, High: *high}}
	if *verbose {
		o.Logger = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	if *binary == "" {
		o.AdvertiseHost = "localhost"
	} else {
		o.Backend = "brokerd"
		o.Backends = map[string]backend.Factory{
			"brokerd": func(_ context.Context, o backend.Options) (backend.Backend, error) {
				return newProcesses(*binary, *kill, *low, *high, o), nil
			},
		}
	}
	if err := serve(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "backend:", err)
		os.Exit(1)
	}
}

// serve answers until ctx is done, and then ends every server.
func serve(ctx context.Context, o ntf.Options) error {
	service, err := ntf.New(ctx, o)
	if err != nil {
		return err
	}
	url := fmt.Sprintf("nats://localhost:%d", service.Port())
	conn, err := relay(url, ntf.DefaultGroup)
	if err != nil {
		return errors.Join(err, service.Close())
	}
	fmt.Println(url)
	<-ctx.Done()
	conn.Close()
	return service.Close()
}
