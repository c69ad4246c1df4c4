package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/rs/zerolog"
)

// admin is the routes of the admin HTTP listener.
type admin struct {
	*http.ServeMux
	nats atomic.Pointer[http.Handler] // nats-server's routes; nil until there is something to tell
}

func newAdmin(h *health, metrics prometheus.Gatherer, withPprof bool) *admin {
	a := &admin{ServeMux: http.NewServeMux()}
	mux := a.ServeMux
	mux.HandleFunc("GET /healthz", report(h.whyUnhealthy))
	mux.HandleFunc("GET /readyz", report(h.whyNotReady))
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}))
	if withPprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	for _, path := range []string{"GET /varz", "GET /connz", "GET /jsz"} {
		mux.HandleFunc(path, a.askNATS)
	}
	return a
}

// monitor lets h answer what tools ask nats-server over HTTP.
func (a *admin) monitor(h http.Handler) { a.nats.Store(&h) }

func (a *admin) askNATS(w http.ResponseWriter, r *http.Request) {
	if h := a.nats.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	http.Error(w, "starting", http.StatusServiceUnavailable)
}

// report answers 200 "ok", or 503 with the reason why not.
func report(whyNot func() string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		reason := whyNot()
		if reason != "" {
			w.WriteHeader(http.StatusServiceUnavailable)
		} else {
			reason = "ok"
		}
		_, _ = io.WriteString(w, reason+"\n") // the client may be gone
	}
}

// serveAdmin answers HTTP on l until ctx is done.
func serveAdmin(ctx context.Context, l net.Listener, h http.Handler, logger zerolog.Logger) error {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(zerolog.NewSlogHandler(logger), slog.LevelDebug),
	}
	defer context.AfterFunc(ctx, func() { s.Close() })()
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve admin HTTP on %s: %w", l.Addr(), err)
	}
	return nil
}
