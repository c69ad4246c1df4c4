package nats

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"golang.org/x/crypto/bcrypt"
)

func TestLogins(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("hashed"), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	other, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	h := serveHere(t, Options{Auth: Auth{Token: "secret", Users: []User{
		{Name: "plain", Password: "word"}, {Name: "hash", Password: string(hash)}, {NKey: public},
	}}})
	for name, c := range map[string]struct {
		option nats.Option
		ok     bool
	}{
		"nothing":        {nats.Name("x"), false},
		"password":       {nats.UserInfo("plain", "word"), true},
		"wrong password": {nats.UserInfo("plain", "wort"), false},
		"no password":    {nats.UserInfo("plain", ""), false},
		"unknown user":   {nats.UserInfo("somebody", "word"), false},
		"hash":           {nats.UserInfo("hash", "hashed"), true},
		"the hash":       {nats.UserInfo("hash", string(hash)), false},
		"token":          {nats.Token("secret"), true},
		"wrong token":    {nats.Token("secrets"), false},
		"nkey":           {nats.Nkey(public, pair.Sign), true},
		"wrong nkey":     {nats.Nkey(public, other.Sign), false},
	} {
		nc, err := nats.Connect("nats://"+h.addr, c.option, nats.NoReconnect())
		if c.ok != (err == nil) || err != nil && !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("%s: %v", name, err)
		}
		if nc != nil {
			nc.Close()
		}
	}
	if r := h.dial(); !strings.Contains(r.info, `"auth_required":true,"nonce":"`) {
		t.Errorf("greeted with %s", r.info)
	}
}

func TestWhoDoesNotLogInIsRefused(t *testing.T) {
	patient := serveHere(t, Options{Auth: Auth{Token: "secret", Timeout: patience}})
	hasty := serveHere(t, Options{Auth: Auth{Token: "secret", Timeout: 50 * time.Millisecond}})
	for text, want := range map[string]string{
		"PING\r\n": "-ERR 'Authorization Violation'\r\nEND",
		"P":        "-ERR 'Authorization Violation'\r\nEND",
		"":         "-ERR 'Authentication Timeout'\r\nEND",
		"CONN":     "-ERR 'Authentication Timeout'\r\nEND",
	} {
		h := patient
		if strings.Contains(want, "Timeout") {
			h = hasty
		}
		r := h.dial()
		r.send(text)
		if got := r.until(""); got != want {
			t.Errorf("said %q, heard %q", text, got)
		}
		if strings.Contains(r.info, "nonce") {
			t.Errorf("there are no nkeys, and the greeting is %s", r.info)
		}
	}
}

func TestNoAuthUser(t *testing.T) {
	h := serveHere(t, Options{Auth: Auth{NoAuth: "guest", Users: []User{
		{Name: "guest", Password: "x", Publish: Permission{Deny: []string{"secret"}}},
	}}})
	r := h.dial()
	r.send("PUB secret 0\r\n\r\nPUB open 0\r\n\r\nPING\r\n")
	if got, want := r.until("PONG\r\n"), "-ERR 'Permissions Violation for Publish to \"secret\"'\r\n+OK\r\nPONG\r\n"; got != want {
		t.Errorf("heard %q, want %q", got, want)
	}
	nc := h.connect()
	if err := nc.Flush(); err != nil {
		t.Error(err)
	}
}

func TestWrongUsers(t *testing.T) {
	for name, a := range map[string]Auth{
		"twice":          {Users: []User{{Name: "a"}, {Name: "a"}}},
		"no name":        {Users: []User{{}}},
		"no nkey":        {Users: []User{{NKey: "U"}}},
		"no such guest":  {NoAuth: "a"},
		"no permission":  {Users: []User{{Name: "a", Publish: Permission{Allow: []string{"a..b"}}}}},
		"no permission2": {Users: []User{{Name: "a", Subscribe: Permission{Deny: []string{"a b c"}}}}},
	} {
		if _, err := New(Options{Auth: a}); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestPermissions(t *testing.T) {
	h := serveHere(t, Options{Auth: Auth{Users: []User{{
		Name: "u", Password: "p",
		Publish:   Permission{Allow: []string{"out.>"}, Deny: []string{"out.x.*"}},
		Subscribe: Permission{Allow: []string{"in.>", "work.* q*", "group v1"}, Deny: []string{"in.x"}},
	}}}})
	for _, c := range []struct{ say, hear string }{
		{"PUB out.a 0\r\n\r\n", ""},
		{"PUB out.x.y 0\r\n\r\n", "-ERR 'Permissions Violation for Publish to \"out.x.y\"'\r\n"},
		{"PUB other 0\r\n\r\n", "-ERR 'Permissions Violation for Publish to \"other\"'\r\n"},
		{"SUB in.a 1\r\n", ""},
		{"SUB in.x 1\r\n", "-ERR 'Permissions Violation for Subscription to \"in.x\"'\r\n"},
		{"SUB > 1\r\n", "-ERR 'Permissions Violation for Subscription to \">\"'\r\n"},
		{"SUB group v1 1\r\n", ""},
		{"SUB group v2 1\r\n", "-ERR 'Permissions Violation for Subscription to \"group\" using queue \"v2\"'\r\n"},
		{"SUB group 1\r\n", "-ERR 'Permissions Violation for Subscription to \"group\"'\r\n"},
	} {
		r := h.dial()
		r.send(`CONNECT {"verbose":false,"pedantic":false,"user":"u","pass":"p"}` + "\r\n" + c.say + "PING\r\n")
		if got := r.until("PONG\r\n"); got != c.hear+"PONG\r\n" {
			t.Errorf("%q: heard %q, want %q", c.say, got, c.hear)
		}
	}
}

// Who may publish nothing may answer, once, when asked.
func TestResponses(t *testing.T) {
	h := serveHere(t, Options{Auth: Auth{Users: []User{
		{Name: "service", Password: "p", Publish: Permission{Deny: []string{">"}}, Respond: true}, {Name: "client", Password: "p"},
	}}})
	service := h.dial()
	service.send(`CONNECT {"verbose":false,"user":"service","pass":"p"}` + "\r\nSUB ask 1\r\nPUB in.box 0\r\n\r\nPING\r\n")
	const refused = "-ERR 'Permissions Violation for Publish to \"in.box\"'\r\n"
	if got := service.until("PONG\r\n"); got != refused+"PONG\r\n" {
		t.Errorf("before it is asked: %q", got)
	}
	client := h.dial()
	client.send(`CONNECT {"verbose":false,"user":"client","pass":"p"}` + "\r\nSUB in.box 1\r\nPUB ask in.box 0\r\n\r\n")
	if got := service.line() + service.line(); got != "MSG ask 1 in.box 0\r\n\r\n" {
		t.Fatalf("asked by %q", got)
	}
	service.send("PUB in.box 3\r\nyes\r\nPUB in.box 2\r\nno\r\nPING\r\n")
	if got := service.until("PONG\r\n"); got != refused+"PONG\r\n" {
		t.Errorf("answering twice: %q", got)
	}
	if got := client.line() + client.line(); got != "MSG in.box 1 3\r\nyes\r\n" {
		t.Errorf("answered by %q", got)
	}
}

func TestAnswersOwedAreBounded(t *testing.T) {
	var r replies
	for i := range 3 * repliesLimit {
		r.allow([]byte(fmt.Sprint(i)))
	}
	last := []byte(fmt.Sprint(3*repliesLimit - 1))
	if len(r.until) > repliesLimit || !r.use(last) || r.use(last) {
		t.Errorf("%d answers are owed", len(r.until))
	}
}

// What is denied is left out of a subscription that is allowed.
func TestDeniedSubjectsAreNotDelivered(t *testing.T) {
	h := serveHere(t, Options{Auth: Auth{Users: []User{
		{Name: "all", Password: "p"}, {Name: "some", Password: "p", Subscribe: Permission{Deny: []string{"in.x"}}},
	}}})
	some, all := h.connect(nats.UserInfo("some", "p")), h.connect(nats.UserInfo("all", "p"))
	sub, err := some.SubscribeSync("in.*")
	if err != nil {
		t.Fatal(err)
	}
	if err := some.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"in.x", "in.y"} {
		if err := all.Publish(s, nil); err != nil {
			t.Fatal(err)
		}
	}
	if m, err := sub.NextMsg(patience); err != nil || m.Subject != "in.y" {
		t.Errorf("%v, %v", m, err)
	}
}

func TestUserInfo(t *testing.T) {
	h := serveHere(t, Options{Auth: Auth{Users: []User{{Name: "u", Password: "p", Publish: Permission{Deny: []string{"x"}}}}}})
	nc := h.connect(nats.UserInfo("u", "p"))
	m, err := nc.Request("$SYS.REQ.USER.INFO", nil, patience)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"user":"u"`, `"account":"$G"`, `"deny":["x"]`} {
		if !strings.Contains(string(m.Data), want) {
			t.Errorf("%s is not in %s", want, m.Data)
		}
	}
	if fmt.Sprint(h.connections()[0].User) != "u" {
		t.Errorf("%+v", h.connections())
	}
}
