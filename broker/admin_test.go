package broker

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestAdminPages(t *testing.T) {
	h := newHealth()
	metrics := prometheus.NewRegistry()
	plain, profiled := newAdmin(h, metrics, false), newAdmin(h, metrics, true)
	for _, c := range []struct {
		name     string
		notReady string
		handler  http.Handler
		path     string
		status   int
		body     string // "" for any
	}{
		{"alive while it recovers", "recovering the topics", plain, "/healthz", 200, "ok\n"},
		{"not ready while it recovers", "recovering the topics", plain, "/readyz", 503, "recovering the topics\n"},
		{"not ready while it drains", "draining", plain, "/readyz", 503, "draining\n"},
		{"ready", "", plain, "/readyz", 200, "ok\n"},
		{"metrics", "", plain, "/metrics", 200, ""},
		{"no profiles unless asked for", "", plain, "/debug/pprof/", 404, ""},
		{"profiles", "", profiled, "/debug/pprof/", 200, ""},
		{"nothing to tell of NATS yet", "", plain, "/varz", 503, "starting\n"},
		{"a path that is not there", "", plain, "/", 404, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h.setNotReady(c.notReady)
			w := httptest.NewRecorder()
			c.handler.ServeHTTP(w, httptest.NewRequest("GET", c.path, nil))
			if w.Code != c.status || c.body != "" && w.Body.String() != c.body {
				t.Errorf("got %d %q", w.Code, w.Body.String())
			}
		})
	}
	w := httptest.NewRecorder()
	plain.ServeHTTP(w, httptest.NewRequest("POST", "/healthz", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST answers %d", w.Code)
	}
}
