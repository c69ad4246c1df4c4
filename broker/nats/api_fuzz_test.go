package nats

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whatever a client asks, it is answered, unless nobody is there; an answer in JSON has a type, and an error a code. Nothing
// panics, whatever state the requests before led to.
func FuzzRequests(f *testing.F) {
	w := newWorld(f)
	files, err := filepath.Glob("testdata/api/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			if subject, body, _ := strings.Cut(line, " "); strings.HasPrefix(subject, apiPrefix) {
				subject, _, _ = strings.Cut(strings.TrimPrefix(subject, apiPrefix), "*")
				f.Add(subject, "", body)
			}
		}
	}
	f.Add("INFO", "Nats-Required-Api-Level: 1", "")
	f.Fuzz(func(t *testing.T, subject, header, body string) {
		r := &request{subject: apiPrefix + subject, header: []byte("NATS/1.0\r\n" + header + "\r\n\r\n"), body: []byte(body)}
		if e := w.api.endpoint(r); e == nil || e.answer == nil {
			return // pulls may wait
		}
		w.t = t
		got := w.ask(apiPrefix+subject, header, body)
		if got.data == "nobody" {
			return
		}
		var answer struct {
			Type  string
			Error *struct {
				Code    int
				ErrCode int `json:"err_code"`
			}
		}
		if err := json.Unmarshal([]byte(got.data), &answer); err != nil || !strings.HasPrefix(answer.Type, typePrefix) {
			t.Fatalf("%s: %v", got.data, err)
		}
		if e := answer.Error; e != nil && (e.Code < 300 || e.ErrCode < 10000) {
			t.Errorf("the error is %s", got.data)
		}
	})
}
