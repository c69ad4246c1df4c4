package stream

import (
	"fmt"
	"strings"
	"testing"
)

// Each case is published into a stream that holds 1 (s.a, id x), 2 (s.b) and 3 (s.a, id y); what is wanted is "CODE text" of the
// error, or the sequence.
func TestConditions(t *testing.T) {
	plain := func(*Config) {}
	for _, c := range []struct {
		name          string
		config        func(c *Config)
		subject, data string
		header        []string
		want          string
	}{
		{"nothing", plain, "s.a", "", nil, "4"},
		{"the stream", plain, "s.a", "", []string{headerExpectedStream, "S"}, "4"},
		{"another stream", plain, "s.a", "", []string{headerExpectedStream, "T"}, "10060 expected stream does not match"},
		{"last", plain, "s.a", "", []string{headerExpectedSequence, "3"}, "4"},
		{"not the last", plain, "s.a", "", []string{headerExpectedSequence, "2"}, "10071 wrong last sequence: 3"},
		{"no number", plain, "s.a", "", []string{headerExpectedSequence, "x"}, "10071 wrong last sequence: 3"},
		{"last of the subject", plain, "s.a", "", []string{headerExpectedLast, "3"}, "4"},
		{"not the last of the subject", plain, "s.b", "", []string{headerExpectedLast, "3"}, "10071 wrong last sequence: 2"},
		{"new subject", plain, "s.c", "", []string{headerExpectedLast, "0"}, "4"},
		{"not new", plain, "s.b", "", []string{headerExpectedLast, "0"}, "10071 wrong last sequence: 2"},
		{"last of another", plain, "s.c", "", []string{headerExpectedLast, "2", headerExpectedSubject, "s.b"}, "4"},
		{"last of several", plain, "s.c", "", []string{headerExpectedLast, "3", headerExpectedSubject, "s.*"}, "4"},
		{"not the last of several", plain, "s.c", "", []string{headerExpectedLast, "2", headerExpectedSubject, "s.*"}, "10071 wrong last sequence: 3"},
		{"of another without a number", plain, "s.c", "", []string{headerExpectedSubject, "s.b"}, "10193 missing sequence for expected last sequence per subject"},
		{"last id", plain, "s.a", "", []string{headerExpectedID, "y"}, "4"},
		{"not the last id", plain, "s.a", "", []string{headerExpectedID, "x"}, "10070 wrong last msg ID: y"},
		{"duplicate", plain, "s.a", "", []string{headerID, "x"}, "1 duplicate"},
		{"a condition before the duplicate", plain, "s.a", "", []string{headerID, "x", headerExpectedSequence, "0"}, "10071 wrong last sequence: 3"},
		{"the id's name in part", plain, "s.a", "", []string{"X-" + headerID, "x", headerID + "-X", "x"}, "4"},
		{"source", plain, "s.a", "", []string{headerSource, "x"}, "10227 message stream source header is not allowed"},
		{"schedule", plain, "s.a", "", []string{headerSchedule, "@every 1s"}, "10188 message schedules is disabled"},
		{"sealed", func(c *Config) { c.Sealed = true }, "s.a", "", nil, "10109 invalid operation on sealed stream"},
		{"ttl", func(c *Config) { c.AllowTTL = true }, "s.a", "", []string{headerTTL, "1h"}, "4"},
		{"ttl for ever", func(c *Config) { c.AllowTTL = true }, "s.a", "", []string{headerTTL, "NEVER"}, "4"},
		{"ttl in seconds", func(c *Config) { c.AllowTTL = true }, "s.a", "", []string{headerTTL, "10"}, "4"},
		{"no ttl allowed", plain, "s.a", "", []string{headerTTL, "1h"}, "10166 per-message TTL is disabled"},
		{"short ttl", func(c *Config) { c.AllowTTL = true }, "s.a", "", []string{headerTTL, "500ms"}, "10165 invalid per-message TTL"},
		{"no ttl", func(c *Config) { c.AllowTTL = true }, "s.a", "", []string{headerTTL, "soon"}, "10165 invalid per-message TTL"},
		{"rollup", func(c *Config) { c.AllowRollup = true }, "s.a", "", []string{headerRollup, "sub"}, "4"},
		{"no rollup allowed", plain, "s.a", "", []string{headerRollup, "sub"}, "10111 rollup not permitted"},
		{"no rollup", func(c *Config) { c.AllowRollup = true }, "s.a", "", []string{headerRollup, "x"}, `10111 rollup value invalid: "x"`},
		{"large", func(c *Config) { c.MaxMsgSize = 3 }, "s.a", "1234", nil, "10054 message size exceeds maximum allowed"},
		{"largest", func(c *Config) { c.MaxMsgSize = 4 }, "s.a", "1234", nil, "4"},
		{"large header", plain, "s.a", "", []string{"x", strings.Repeat("x", 1<<16)}, "10097 header size exceeds maximum allowed of 64k"},
		{"full", func(c *Config) { c.Discard, c.MaxMsgs = DiscardNew, 3 }, "s.a", "", nil, "10077 maximum messages exceeded"},
		{"full of bytes", func(c *Config) { c.Discard, c.MaxBytes = DiscardNew, 200 }, "s.a", strings.Repeat("x", 100), nil, "10077 maximum bytes exceeded"},
		{"full subject", func(c *Config) { c.Discard, c.DiscardPer, c.MaxMsgsPer = DiscardNew, true, 2 }, "s.a", "", nil, "10077 maximum messages per subject exceeded"},
		{"full subject makes room", func(c *Config) { c.Discard, c.MaxMsgs, c.MaxMsgsPer = DiscardNew, 3, 2 }, "s.a", "", nil, "4"},
		{"an increment without counters", plain, "s.a", "", []string{headerIncrement, "1"}, "10168 message counters is disabled"},
		{"no increment", plain, "s.a", "", []string{headerIncrement, "1.5"}, "10171 message counter increment is invalid"},
		{"a batch without batches", plain, "s.a", "", []string{headerBatch, "b", headerBatchSequence, "1"}, "10174 atomic publish is disabled"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newLive(t)
			conf := Config{Name: "S", Subjects: []string{"s.*"}}
			s := b.create(conf)
			b.publish(s, "s.a", "1", headerID, "x")
			b.publish(s, "s.b", "2")
			b.publish(s, "s.a", "3", headerID, "y")
			conf = s.Config()
			c.config(&conf)
			s.configure(conf)
			a := b.await(send(s, c.subject, c.data, c.header...))
			got := fmt.Sprint(a.Sequence)
			if e, ok := a.err.(*Error); ok {
				got = fmt.Sprint(e.ErrCode, " ", e.Description)
			} else if a.err != nil {
				t.Fatalf("not an error of the API: %v", a.err)
			}
			if a.Duplicate {
				got += " duplicate"
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
