package durable

import (
	"testing"

	"brokerd/consumer"
	"brokerd/topic/stream"
)

func TestDurablesAreGroups(t *testing.T) {
	w := newWorld(t)
	s := w.stream(stream.Config{Name: "S", Subjects: []string{"s.>"}})
	w.publish(s, "s.a", "s.b", "s.c")
	c := w.consumer(`{"durable_name":"c","ack_policy":"explicit"}`)
	w.consumer(`{"name":"e","ack_policy":"explicit"}`) // not durable: no group
	g := w.Groups()
	w.outlet.listen("in", true)
	c.Pull("in", []byte("2"))
	w.until(func() bool { return c.Info().NumAckPending == 2 }, func() string { return "not delivered" })
	w.acked(w.outlet.replies("in")[0], "")

	list := g.Durables()
	if len(list) != 1 {
		t.Fatalf("groups are %+v", list)
	}
	d := list[0]
	if d.Group != "S/c" || d.Topic != "S" || d.Partition != 0 || d.Offset.Offset != 1 || d.Active || d.Metadata != `{"pending":1,"redelivered":0}` {
		t.Errorf("the group is %+v", d)
	}
	if _, ok := g.Durable("S/e"); ok {
		t.Error("a consumer without a durable name is a group")
	}
	if err := g.Move("S/c", 0)(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d, _ := g.Durable("S/c"); d.Offset.Offset != 0 || c.Info().NumPending != 3 {
		t.Errorf("after the move the group is %+v", d)
	}
	c.Pull("in", []byte("1"))
	w.got("in", "s.a #1x1 left 2")
	if err := g.Remove("S/c")(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := g.Remove("S/c")(t.Context()); err != consumer.ErrNotFound {
		t.Error(err)
	}
	if _, ok := w.Get("S", "c"); ok {
		t.Error("the consumer is still there")
	}
}
