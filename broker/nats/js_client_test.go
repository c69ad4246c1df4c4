package nats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// serveJetStream is a server with JetStream, and a client of it.
func serveJetStream(t *testing.T) (*house, *nats.Conn, jetstream.JetStream) {
	t.Helper()
	h := closedHouse(t, Options{Domain: "D"})
	streams, consumers, run := jetStream(t, h.Outlet(), h.Advise)
	h.Attach(streams, consumers)
	run()
	h.open() // and closed before the streams end
	nc := h.connect()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return h, nc, js
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestStreamsOfTheGoClient(t *testing.T) {
	_, _, js := serveJetStream(t)
	ctx := soon(t)
	s := must[jetstream.Stream](t)(js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMsgsPerSubject: 3}))
	for i := range 10 {
		ack := must[*jetstream.PubAck](t)(js.Publish(ctx, fmt.Sprint("s.", i%2), []byte{byte(i)}))
		if ack.Sequence != uint64(i+1) || ack.Stream != "S" {
			t.Fatalf("message %d was acknowledged as %+v", i, ack)
		}
	}
	info := must[*jetstream.StreamInfo](t)(s.Info(ctx, jetstream.WithSubjectFilter(">"), jetstream.WithDeletedDetails(true)))
	if info.State.Msgs != 6 || info.State.Subjects["s.0"] != 3 || info.State.FirstSeq != 5 || info.State.LastSeq != 10 {
		t.Errorf("the state is %+v", info.State)
	}
	m := must[*jetstream.RawStreamMsg](t)(s.GetLastMsgForSubject(ctx, "s.1"))
	if m.Sequence != 10 || !bytes.Equal(m.Data, []byte{9}) {
		t.Errorf("the last message is %+v", m)
	}
	if err := s.DeleteMsg(ctx, 7); err != nil {
		t.Fatal(err)
	}
	if _, err := s.GetMsg(ctx, 7); !errors.Is(err, jetstream.ErrMsgNotFound) {
		t.Errorf("a deleted message: %v", err)
	}
	if err := s.DeleteMsg(ctx, 7); err == nil {
		t.Error("a message was deleted twice")
	}
	if err := s.Purge(ctx, jetstream.WithPurgeSubject("s.1"), jetstream.WithPurgeKeep(1)); err != nil {
		t.Fatal(err)
	}
	_, err := js.Publish(ctx, "s.1", nil, jetstream.WithExpectLastSequence(3))
	if api, ok := errors.AsType[*jetstream.APIError](err); !ok || api.ErrorCode != 10071 || api.Description != "wrong last sequence: 10" {
		t.Errorf("a wrong expectation: %v", err)
	}
	if _, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "S"}); !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		t.Errorf("another stream of the name: %v", err)
	}
	if _, err := js.Stream(ctx, "T"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("no such stream: %v", err)
	}
	if err := js.DeleteStream(ctx, "S"); err != nil {
		t.Fatal(err)
	}
	if got := must[*jetstream.AccountInfo](t)(js.AccountInfo(ctx)); got.Streams != 0 || got.API.Level != apiLevel || got.API.Errors == 0 {
		t.Errorf("the account is %+v", got)
	}
}

func TestConsumersOfTheGoClient(t *testing.T) {
	_, _, js := serveJetStream(t)
	ctx := soon(t)
	s := must[jetstream.Stream](t)(js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}}))
	const n = 100
	for i := range n {
		must[*jetstream.PubAck](t)(js.Publish(ctx, fmt.Sprint("s.", i), []byte(fmt.Sprint(i))))
	}
	c := must[jetstream.Consumer](t)(s.CreateConsumer(ctx, jetstream.ConsumerConfig{Durable: "C", AckPolicy: jetstream.AckExplicitPolicy}))
	batch := must[jetstream.MessageBatch](t)(c.Fetch(10))
	for m := range batch.Messages() {
		if err := m.DoubleAck(ctx); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan string, n)
	consuming := must[jetstream.ConsumeContext](t)(c.Consume(func(m jetstream.Msg) {
		got <- string(m.Data())
		if err := m.Ack(); err != nil {
			t.Error(err)
		}
	}))
	defer consuming.Stop()
	for i := 10; i < n; i++ {
		select {
		case data := <-got:
			if data != fmt.Sprint(i) {
				t.Fatalf("message %d is %s", i, data)
			}
		case <-ctx.Done():
			t.Fatalf("message %d did not come", i)
		}
	}
	ordered := must[jetstream.Consumer](t)(s.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{FilterSubjects: []string{"s.7", "s.8"}}))
	for _, want := range []string{"7", "8"} {
		if m := must[jetstream.Msg](t)(ordered.Next()); string(m.Data()) != want {
			t.Errorf("the ordered consumer gave %s, want %s", m.Data(), want)
		}
	}
	if _, err := c.Info(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.DeleteConsumer(ctx, "C"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Consumer(ctx, "C"); !errors.Is(err, jetstream.ErrConsumerNotFound) {
		t.Errorf("a deleted consumer: %v", err)
	}
}

// The older interface has push subscriptions, which the key-value store's watchers are made of as well.
func TestPushSubscriptionsOfTheGoClient(t *testing.T) {
	_, nc, _ := serveJetStream(t)
	js := must[nats.JetStreamContext](t)(nc.JetStream())
	must[*nats.StreamInfo](t)(js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}}))
	const n = 500
	for i := range n {
		must[nats.PubAckFuture](t)(js.PublishAsync("s", fmt.Append(nil, i)))
	}
	<-js.PublishAsyncComplete()
	sub := must[*nats.Subscription](t)(js.SubscribeSync("s", nats.OrderedConsumer(), nats.IdleHeartbeat(time.Second), nats.EnableFlowControl()))
	for i := range n {
		m := must[*nats.Msg](t)(sub.NextMsg(patience))
		if string(m.Data) != fmt.Sprint(i) {
			t.Fatalf("message %d is %s", i, m.Data)
		}
	}
	if err := sub.Unsubscribe(); err != nil {
		t.Fatal(err)
	}
}

func TestKeyValueOfTheGoClient(t *testing.T) {
	_, _, js := serveJetStream(t)
	ctx := soon(t)
	kv := must[jetstream.KeyValue](t)(js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "B", History: 5, LimitMarkerTTL: time.Minute}))
	first := must[uint64](t)(kv.Create(ctx, "k", []byte("1")))
	if _, err := kv.Create(ctx, "k", nil); !errors.Is(err, jetstream.ErrKeyExists) {
		t.Errorf("a key was created twice: %v", err)
	}
	second := must[uint64](t)(kv.Update(ctx, "k", []byte("2"), first))
	if _, err := kv.Update(ctx, "k", nil, first); err == nil {
		t.Error("a key was updated from an old revision")
	}
	if e := must[jetstream.KeyValueEntry](t)(kv.Get(ctx, "k")); string(e.Value()) != "2" || e.Revision() != second {
		t.Errorf("the key has %q at %d", e.Value(), e.Revision())
	}
	if e := must[jetstream.KeyValueEntry](t)(kv.GetRevision(ctx, "k", first)); string(e.Value()) != "1" {
		t.Errorf("the key had %q", e.Value())
	}
	watcher := must[jetstream.KeyWatcher](t)(kv.WatchAll(ctx))
	if e := <-watcher.Updates(); e == nil || e.Revision() != second {
		t.Errorf("the watcher begins with %+v", e)
	}
	if e := <-watcher.Updates(); e != nil {
		t.Errorf("the watcher goes on with %+v", e)
	}
	must[uint64](t)(kv.Put(ctx, "other", nil))
	if e := <-watcher.Updates(); e == nil || e.Key() != "other" {
		t.Errorf("the watcher was told of %+v", e)
	}
	if err := watcher.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := kv.Delete(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Get(ctx, "k"); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("a deleted key: %v", err)
	}
	if keys := must[[]string](t)(kv.Keys(ctx)); len(keys) != 1 || keys[0] != "other" {
		t.Errorf("the keys are %v", keys)
	}
	if history := must[[]jetstream.KeyValueEntry](t)(kv.History(ctx, "k")); len(history) != 3 {
		t.Errorf("the history has %d entries", len(history))
	}
	if err := kv.Purge(ctx, "k"); err != nil {
		t.Fatal(err)
	}
	if history := must[[]jetstream.KeyValueEntry](t)(kv.History(ctx, "k")); len(history) != 1 {
		t.Errorf("after the purge the history has %d entries", len(history))
	}
}

func TestObjectsOfTheGoClient(t *testing.T) {
	_, _, js := serveJetStream(t)
	ctx := soon(t)
	store := must[jetstream.ObjectStore](t)(js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "O"}))
	blob := make([]byte, 600_000)
	for i := range blob {
		blob[i] = byte(rand.Uint32())
	}
	must[*jetstream.ObjectInfo](t)(store.PutBytes(ctx, "blob", blob))
	if got := must[[]byte](t)(store.GetBytes(ctx, "blob")); !bytes.Equal(got, blob) {
		t.Errorf("got %d other bytes", len(got))
	}
	must[*jetstream.ObjectInfo](t)(store.PutString(ctx, "blob", "short"))
	if got := must[string](t)(store.GetString(ctx, "blob")); got != "short" {
		t.Errorf("got %q", got)
	}
	if err := store.Delete(ctx, "blob"); err != nil {
		t.Fatal(err)
	}
	if _, err := store.GetInfo(ctx, "blob"); !errors.Is(err, jetstream.ErrObjectNotFound) {
		t.Errorf("a deleted object: %v", err)
	}
	if err := store.Seal(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := store.PutString(ctx, "more", "x"); err == nil {
		t.Error("a sealed store took an object")
	}
}

func TestDomainOfTheGoClient(t *testing.T) {
	_, nc, _ := serveJetStream(t)
	ctx := soon(t)
	js := must[jetstream.JetStream](t)(jetstream.NewWithDomain(nc, "D"))
	must[jetstream.Stream](t)(js.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}}))
	if ack := must[*jetstream.PubAck](t)(js.Publish(ctx, "s", nil)); ack.Domain != "D" {
		t.Errorf("the acknowledgement is %+v", ack)
	}
	kv := must[jetstream.KeyValue](t)(js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "B"}))
	must[uint64](t)(kv.Put(ctx, "k", []byte("v")))
	if e := must[jetstream.KeyValueEntry](t)(kv.Get(ctx, "k")); string(e.Value()) != "v" {
		t.Errorf("the key has %q", e.Value())
	}
	other := must[jetstream.JetStream](t)(jetstream.NewWithDomain(nc, "E"))
	if _, err := other.AccountInfo(ctx); !errors.Is(err, jetstream.ErrJetStreamNotEnabled) {
		t.Errorf("another domain: %v", err)
	}
}

func TestUserWithoutJetStream(t *testing.T) {
	h := closedHouse(t, Options{Auth: Auth{Users: []User{{Name: "all"}, {Name: "core", NoJetStream: true}}}})
	streams, consumers, run := jetStream(t, h.Outlet(), h.Advise)
	h.Attach(streams, consumers)
	run()
	h.open()
	ctx := soon(t)
	all := must[jetstream.JetStream](t)(jetstream.New(h.connect(nats.UserInfo("all", ""))))
	must[jetstream.Stream](t)(all.CreateStream(ctx, jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}, AllowDirect: true}))
	core := must[jetstream.JetStream](t)(jetstream.New(h.connect(nats.UserInfo("core", ""))))
	if _, err := core.AccountInfo(ctx); !errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		t.Errorf("the account: %v", err)
	}
	if _, err := core.Stream(ctx, "S"); !errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		t.Errorf("a stream: %v", err)
	}
}

// A stream keeps the advisories about everybody, itself included, and does not go round in circles.
func TestAStreamOfAdvisories(t *testing.T) {
	_, nc, js := serveJetStream(t)
	ctx := soon(t)
	sub := must[*nats.Subscription](t)(nc.SubscribeSync("$JS.EVENT.ADVISORY.>"))
	s := must[jetstream.Stream](t)(js.CreateStream(ctx, jetstream.StreamConfig{Name: "EVENTS", Subjects: []string{"$JS.EVENT.>"}}))
	must[jetstream.Stream](t)(js.CreateStream(ctx, jetstream.StreamConfig{Name: "S"}))
	must[jetstream.Stream](t)(js.UpdateStream(ctx, jetstream.StreamConfig{Name: "S", Description: "x"}))
	if err := js.DeleteStream(ctx, "S"); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for len(seen) == 0 || !strings.Contains(seen[len(seen)-1], "STREAM.DELETE.S") {
		m := must[*nats.Msg](t)(sub.NextMsg(patience))
		var e struct {
			Type, ID, Stream, Action, Subject string
			Client                            *struct{ Acc string }
		}
		if err := json.Unmarshal(m.Data, &e); err != nil || e.ID == "" || e.Type == "" {
			t.Fatalf("%s: %v", m.Data, err)
		}
		if e.Client != nil && e.Client.Acc != account {
			t.Errorf("the client is %+v", e.Client)
		}
		subject := strings.TrimPrefix(m.Subject, "$JS.EVENT.ADVISORY.")
		seen = append(seen, strings.TrimSpace(fmt.Sprint(subject, " ", strings.TrimPrefix(e.Type, advisoryTypes), " ", e.Action, e.Subject)))
	}
	want := []string{
		"STREAM.CREATED.EVENTS stream_action create", "API api_audit $JS.API.STREAM.CREATE.EVENTS",
		"STREAM.CREATED.S stream_action create", "API api_audit $JS.API.STREAM.CREATE.S",
		"STREAM.UPDATED.S stream_action modify", "API api_audit $JS.API.STREAM.UPDATE.S",
		"STREAM.DELETED.S stream_action delete", "API api_audit $JS.API.STREAM.DELETE.S",
	}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("advised\n%s, want\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
	var last uint64
	for range 3 {
		info := must[*jetstream.StreamInfo](t)(s.Info(ctx))
		if last != 0 && info.State.LastSeq > last+1 {
			t.Errorf("one request led to %d messages", info.State.LastSeq-last)
		}
		last = info.State.LastSeq
	}
}
