package main

import (
	"io"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// A group's end is judged by offsets that come after the assignment: nothing may be taken for the end before.
func TestFinishedWaitsForTheGroup(t *testing.T) {
	p := partition{"t", 0}
	c := newConsumption(consumeJob{group: "g"}, plan{starts: map[partition]int64{p: 2}, ends: map[partition]int64{p: 5}}, io.Discard, io.Discard)
	expect := func(when string, want bool) {
		t.Helper()
		if got := c.finished(); got != want {
			t.Errorf("%s: finished is %v", when, got)
		}
	}
	expect("before the group is formed", false)
	c.assigned(nil)
	expect("with no partition for us", true)
	c.assigned(map[string][]int32{"t": {0}})
	expect("before the committed offsets are known", false)

	offsets, err := c.adjust(t.Context(), map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().AtStart()}})
	if err != nil || offsets["t"][0].EpochOffset().Offset != 2 {
		t.Errorf("nothing committed: start at %v, %v; want where the plan starts", offsets, err)
	}
	expect("at the start", false)
	c.moveTo(p, 5)
	expect("at the end", true)

	c.revoked(map[string][]int32{"t": {0}})
	c.assigned(map[string][]int32{"t": {0}})
	if _, err := c.adjust(t.Context(), map[string]map[int32]kgo.Offset{"t": {0: kgo.NewOffset().At(4)}}); err != nil {
		t.Error(err)
	}
	expect("given back with offset 4 committed", false)
}
