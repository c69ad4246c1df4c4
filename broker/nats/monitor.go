package nats

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
)

// Monitor answers what tools ask nats-server over HTTP: /varz, /connz and /jsz, the latter two with nats-server's
// parameters as far as there is something to tell.
func (s *Server) Monitor() http.Handler {
	sys := s.services.system
	mux := http.NewServeMux()
	mux.HandleFunc("GET /varz", tell(sys.varz))
	mux.HandleFunc("GET /connz", tell(sys.connz))
	mux.HandleFunc("GET /jsz", tell(sys.jsz))
	return mux
}

// tell answers over HTTP what a request with the same parameters is answered over NATS, without the words about the server
// around it.
func tell(answer func(*request) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		data := answer(&request{body: parameters(r.URL.Query())})
		if wrapped, ok := data.(systemAnswer); ok {
			data = wrapped.Data
		}
		text, err := json.MarshalIndent(data, "", "  ")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(text) // the client may be gone
	}
}

// parameters makes the body of a request from those of a URL.
func parameters(q url.Values) []byte {
	yes := func(name string) bool {
		v, err := strconv.ParseBool(q.Get(name))
		return err == nil && v
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(q.Get(name)) // what is no number is not asked for
		return max(n, 0)
	}
	body, _ := json.Marshal(map[string]any{ // of numbers and truth values
		"offset": number("offset"), "limit": number("limit"), "cid": number("cid"), "subscriptions": yes("subs") || q.Get("subs") == "detail",
		"accounts": yes("accounts"), "streams": yes("streams"), "config": yes("config"),
	})
	return body
}
