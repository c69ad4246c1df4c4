package nats

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/nats-io/nats.go"
)

func TestMonitor(t *testing.T) {
	h := serveHere(t, Options{})
	nc := h.connect(nats.Name("it"))
	if _, err := nc.SubscribeSync("some.subject"); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	get := func(path string) map[string]any {
		w := httptest.NewRecorder()
		h.Monitor().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		var v map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || w.Code != 200 {
			t.Fatalf("%s: %d %v\n%s", path, w.Code, err, w.Body)
		}
		return v
	}
	if v := get("/varz"); v["server_name"] != "test" || v["connections"] != 1.0 || v["max_payload"] != 1048576.0 {
		t.Errorf("/varz: %v", v)
	}
	connections := func(path string) []any { return get(path)["connections"].([]any) }
	if all := connections("/connz?subs=1"); len(all) != 1 || all[0].(map[string]any)["name"] != "it" ||
		all[0].(map[string]any)["subscriptions_list"].([]any)[0] != "some.subject" {
		t.Errorf("/connz: %v", all)
	}
	if all := connections("/connz?offset=1&limit=x"); len(all) != 0 {
		t.Errorf("behind the last one: %v", all)
	}
	if v := get("/jsz?streams=true"); v["disabled"] != true {
		t.Errorf("/jsz without JetStream: %v", v)
	}
}
