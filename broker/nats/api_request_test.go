package nats

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"brokerd/topic/stream"
)

func TestTokensOfARequest(t *testing.T) {
	r := &request{subject: "$JS.API.CONSUMER.CREATE.S.C.a.b.>"}
	for i, want := range []string{"CONSUMER", "CREATE", "S", "C", "a", "b", ">", ""} {
		if got := r.token(i); got != want {
			t.Errorf("token %d is %q, want %q", i, got, want)
		}
	}
	for i, want := range map[int]string{1: "S.C.a.b.>", 3: "a.b.>", 6: "", 9: ""} {
		if got := r.after(i); got != want {
			t.Errorf("after %d comes %q, want %q", i, got, want)
		}
	}
}

func TestRequiredLevel(t *testing.T) {
	for value, tooNew := range map[string]bool{"": false, "0": false, "4": false, "5": true, "x": true} {
		r := &request{header: []byte("NATS/1.0\r\nNats-Required-Api-Level: " + value + "\r\n\r\n")}
		if got := r.tooNew(); got != tooNew {
			t.Errorf("level %q: %v", value, got)
		}
	}
	if (&request{header: []byte("NATS/1.0\r\nX-Nats-Required-Api-Level: 9\r\n\r\n")}).tooNew() {
		t.Error("another field was taken for it")
	}
}

func TestBodies(t *testing.T) {
	type results struct{ strict, lenient, optional, empty string }
	for body, want := range map[string]results{
		``:          {"", "", "", "yes"},
		`{}`:        {"", "", "", "yes"},
		` { } `:     {"", "", "", "yes"},
		`{"seq":1}`: {"", "", "", "no"},
		`{"x":1}`:   {`invalid JSON: json: unknown field "x"`, "", "", "no"},
		`{"seq":`:   {`invalid JSON: unexpected EOF`, `invalid JSON: unexpected EOF`, `invalid JSON: unexpected EOF`, "no"},
		`null`:      {"", "", "", "no"},
		`nonsense`: {
			`invalid JSON: invalid character 'o' in literal null (expecting 'u') at offset 2`,
			`invalid JSON: invalid character 'o' in literal null (expecting 'u') at offset 2`, "", "no",
		},
	} {
		r := &request{body: []byte(body)}
		text := func(err error) string {
			if err == nil {
				return ""
			}
			return apiError(err).Description
		}
		var q deleteRequest
		if got := text(r.strict(&q)); got != want.strict {
			t.Errorf("%q, strictly: %q, want %q", body, got, want.strict)
		}
		if got := text(r.lenient(&q)); got != want.lenient {
			t.Errorf("%q, leniently: %q, want %q", body, got, want.lenient)
		}
		if got := text(r.optional(&q)); got != want.optional {
			t.Errorf("%q, optional: %q, want %q", body, got, want.optional)
		}
		if got := map[bool]string{true: "yes", false: "no"}[r.empty()]; got != want.empty {
			t.Errorf("%q is empty: %s", body, got)
		}
	}
}

func TestHeaderValue(t *testing.T) {
	const block = "NATS/1.0\r\nA: 1\r\nB:2\r\nA: 3\r\nno colon\r\nEmpty:\r\n\r\n"
	for name, want := range map[string]string{"A": "1 true", "B": "2 true", "C": " false", "a": " false", "Empty": " true"} {
		value, ok := headerValue([]byte(block), name)
		if got := fmt.Sprint(value, " ", ok); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if _, ok := headerValue(nil, "A"); ok {
		t.Error("a value was found in nothing")
	}
}

func FuzzHeaderValue(f *testing.F) {
	f.Add([]byte("NATS/1.0\r\nA: 1\r\n\r\n"), "A")
	f.Add([]byte("\r\n:\r\n"), "")
	// Never panics; what it finds stands in the block.
	f.Fuzz(func(t *testing.T, block []byte, name string) {
		if value, ok := headerValue(block, name); ok && !strings.Contains(string(block), value) {
			t.Errorf("%q is not in the block", value)
		}
	})
}

func TestEndpoints(t *testing.T) {
	a := &api{endpoints: endpoints()}
	for subject, want := range map[string]string{
		"INFO":                           "account_info_response",
		"INFO.x":                         "system_response",
		"STREAM.CREATE.S":                "stream_create_response",
		"STREAM.CREATE.S.x":              "system_response",
		"STREAM.CREATE":                  "system_response",
		"STREAM.MSG.GET.S":               "stream_msg_get_response",
		"CONSUMER.CREATE.S":              "consumer_create_response",
		"CONSUMER.CREATE.S.C":            "consumer_create_response",
		"CONSUMER.CREATE.S.C.a.*.b.>":    "consumer_create_response",
		"CONSUMER.DURABLE.CREATE.S.C":    "consumer_create_response",
		"CONSUMER.MSG.NEXT.S.C":          "",
		"CONSUMER.MSG.NEXT.S":            "system_response",
		"DIRECT.GET.S":                   "",
		"DIRECT.GET.S.a.b":               "",
		"CONSUMER.RESET.S.C":             "consumer_reset_response",
		"STREAM.LEADER.STEPDOWN.S":       "stream_leader_stepdown_response",
		"ACCOUNT.STREAM.CANCEL_MOVE.A.S": "stream_update_response",
		"STREAM.TEMPLATE.CREATE.T":       "system_response",
	} {
		e := a.endpoint(&request{subject: apiPrefix + subject})
		if e == nil || e.answers != want {
			t.Errorf("%s: %+v, want %q", subject, e, want)
		}
	}
}

func TestEveryEndpointHasOneWayToAnswer(t *testing.T) {
	for _, e := range endpoints() {
		if (e.answer == nil) == (e.serve == nil) || (e.answers == "") != (e.serve != nil) {
			t.Errorf("%s: %+v", e.pattern, e)
		}
	}
}

func TestEncode(t *testing.T) {
	one := endpoint{answers: "x_response"}
	list := endpoint{answers: "x_response", paged: true}
	for _, c := range []struct {
		e       endpoint
		payload any
		err     error
		want    string
	}{
		{one, struct{}{}, nil, `{"type":"io.nats.jetstream.api.v1.x_response"}`},
		{one, done{true}, nil, `{"type":"io.nats.jetstream.api.v1.x_response","success":true}`},
		{one, purged{done{true}, 0}, nil, `{"type":"io.nats.jetstream.api.v1.x_response","success":true,"purged":0}`},
		{one, nil, stream.ErrStreamNotFound,
			`{"type":"io.nats.jetstream.api.v1.x_response","error":{"code":404,"err_code":10059,"description":"stream not found"}}`},
		{list, nil, stream.ErrStreamNotFound,
			`{"type":"io.nats.jetstream.api.v1.x_response","error":{"code":404,"err_code":10059,"description":"stream not found"},"total":0,"offset":0,"limit":0}`},
		{list, streamNames{page{0, 0, 1024}, []string{}}, nil,
			`{"type":"io.nats.jetstream.api.v1.x_response","total":0,"offset":0,"limit":1024,"streams":[]}`},
	} {
		got, err := c.e.encode(c.payload, c.err)
		if err != nil || string(got) != c.want {
			t.Errorf("%v, %v: %s, %v; want %s", c.payload, c.err, got, err, c.want)
		}
	}
}

func TestPages(t *testing.T) {
	all := []int{0, 1, 2, 3, 4}
	for _, c := range []struct {
		offset, limit int
		want          string
	}{
		{0, 3, "[0 1 2] {5 0 3}"}, {3, 3, "[3 4] {5 3 3}"}, {9, 3, "[] {5 5 3}"}, {-1, 9, "[0 1 2 3 4] {5 0 9}"},
	} {
		part, p := cut(all, c.offset, c.limit)
		if got := fmt.Sprint(part, " ", p); got != c.want {
			t.Errorf("from %d, %d at most: %s, want %s", c.offset, c.limit, got, c.want)
		}
	}
}

func TestPublishAcknowledgements(t *testing.T) {
	for _, c := range []struct {
		r    stream.Receipt
		err  error
		want string
	}{
		{stream.Receipt{Sequence: 7}, nil, `{"stream":"S","seq":7}`},
		{stream.Receipt{Sequence: 7, Duplicate: true}, nil, `{"stream":"S","seq":7,"duplicate":true}`},
		{stream.Receipt{Sequence: 7, Batch: `a"b`, Count: 3}, nil, `{"stream":"S","seq":7,"batch":"a\"b","count":3}`},
		{stream.Receipt{Sequence: 7, Value: "-12"}, nil, `{"stream":"S","seq":7,"val":"-12"}`},
		{stream.Receipt{Pending: true}, nil, ``},
		{stream.Receipt{}, stream.WrongLastSequence(5),
			`{"error":{"code":400,"err_code":10071,"description":"wrong last sequence: 5"},"stream":"S","seq":0}`},
	} {
		if got := string(appendAck(nil, "S", "", c.r, c.err)); got != c.want {
			t.Errorf("%+v, %v: %s, want %s", c.r, c.err, got, c.want)
		}
	}
}

func TestAcknowledgementsNameTheDomain(t *testing.T) {
	for err, want := range map[error]string{
		nil:              `{"stream":"S","seq":7,"domain":"D"}`,
		stream.ErrSealed: `{"error":{"code":400,"err_code":10109,"description":"invalid operation on sealed stream"},"stream":"S","seq":0,"domain":"D"}`,
	} {
		if got := string(appendAck(nil, "S", "D", stream.Receipt{Sequence: 7}, err)); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
}

func TestDomainless(t *testing.T) {
	here := identity{domain: "D"}
	for subject, want := range map[string]string{
		"$JS.D.API.INFO":            "$JS.API.INFO",
		"$JS.D.API.STREAM.INFO.S":   "$JS.API.STREAM.INFO.S",
		"$JS.D.API.$KV.B.k":         "$KV.B.k",
		"$JS.E.API.INFO":            "$JS.E.API.INFO",
		"$JS.API.INFO":              "$JS.API.INFO",
		"$JS.D.APIX":                "$JS.D.APIX",
		"a.$JS.D.API.INFO":          "a.$JS.D.API.INFO",
		"$JS.ACK.S.C.1.1.1.1.0":     "$JS.ACK.S.C.1.1.1.1.0",
		"$JS.D.API.$O.B.M.x":        "$O.B.M.x",
		"$JS.D.API.DIRECT.GET.S.$K": "$JS.API.DIRECT.GET.S.$K",
	} {
		if got := here.domainless(subject); got != want {
			t.Errorf("%s means %s, want %s", subject, got, want)
		}
		if got := (identity{}).domainless(subject); got != subject {
			t.Errorf("without a domain %s means %s", subject, got)
		}
	}
}

func TestRequestsOfAConnectionAreAnsweredInOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := newCaller(ctx, nil)
	small := &request{}
	var order []int
	begun, release, finished := make(chan struct{}), make(chan struct{}), make(chan struct{})
	c.enqueue(small, func() { close(begun); <-release })
	<-begun
	for i := range queueLimit - 1 {
		if !c.enqueue(small, func() { order = append(order, i) }) {
			t.Fatalf("request %d was refused", i)
		}
	}
	c.enqueue(small, func() { close(finished) })
	close(release)
	<-finished
	for i, got := range order {
		if got != i {
			t.Fatalf("request %d was answered as number %d", got, i)
		}
	}
	cancel()
	c.wait()
}

func TestTooManyRequestsAreRefused(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := newCaller(ctx, nil)
	small := &request{}
	begun, release := make(chan struct{}), make(chan struct{})
	c.enqueue(small, func() { close(begun); <-release })
	<-begun
	for i := range queueLimit {
		if !c.enqueue(small, func() { t.Error("called after the connection was gone") }) {
			t.Fatalf("request %d was refused", i)
		}
	}
	if c.enqueue(small, func() {}) {
		t.Error("there is no limit")
	}
	cancel()
	close(release)
	c.wait()
}

func TestTooManyBytesAreRefused(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := newCaller(ctx, nil)
	begun, release := make(chan struct{}), make(chan struct{})
	c.enqueue(&request{}, func() { close(begun); <-release })
	<-begun
	large := &request{body: make([]byte, queueBytes)}
	if !c.enqueue(large, func() {}) {
		t.Error("a request was refused although none waits")
	}
	if c.enqueue(&request{subject: "s"}, func() {}) {
		t.Error("there is no limit")
	}
	cancel()
	close(release)
	c.wait()
}
