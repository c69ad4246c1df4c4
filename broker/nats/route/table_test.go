package route

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"brokerd/topic/subject"
)

// A table agrees with a look at every single subscription.
func TestTableAgainstModel(t *testing.T) {
	token := rapid.SampledFrom([]string{"a", "b", "*", ">", "", "a*"})
	subjects := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(token, 1, 4).Draw(t, "tokens"), ".")
	})
	queues := rapid.SampledFrom([]string{"", "", "q", "r"})
	rapid.Check(t, func(t *rapid.T) {
		var table Table[int]
		type one struct {
			id            int
			filter, queue string
			sub           *Sub[int]
		}
		var model []one
		id := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				filter, queue := subjects.Draw(t, "filter"), queues.Draw(t, "queue")
				before := table.Version()
				sub, err := table.Add(filter, queue, id)
				if subject.Valid(filter) != (err == nil) {
					t.Fatalf("add %q: %v", filter, err)
				}
				if err != nil {
					return
				}
				if table.Version() == before {
					t.Fatal("the version has not changed")
				}
				model = append(model, one{id, filter, queue, sub})
				id++
			},
			"remove": func(t *rapid.T) {
				if len(model) == 0 {
					return
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "which")
				table.Remove(model[i].sub)
				table.Remove(model[i].sub)
				model = slices.Delete(model, i, i+1)
			},
			"": func(t *rapid.T) {
				s := subjects.Draw(t, "subject")
				want := map[string][]int{}
				for _, o := range model {
					if !hasEmptyToken(s) && subject.Match(o.filter, s) {
						want[o.queue] = append(want[o.queue], o.id)
					}
				}
				if got := text(byQueue(table.Match(s))); got != text(want) {
					t.Fatalf("%q matches %s, want %s", s, got, text(want))
				}
				for _, q := range []string{"q", "r"} {
					if table.Interest(s, q) != (len(want[q]) > 0) {
						t.Fatalf("interest of %s in %q: %v", q, s, table.Interest(s, q))
					}
				}
				exactly := slices.ContainsFunc(model, func(o one) bool { return o.filter == s })
				if table.Subscribed(s) != exactly {
					t.Fatalf("exactly %q is subscribed to: %v", s, table.Subscribed(s))
				}
				if table.Interest(s, "") != (len(want) > 0) || table.Len() != len(model) {
					t.Fatalf("interest in %q: %v, of %d", s, table.Interest(s, ""), table.Len())
				}
				if len(model) == 0 && !table.root.empty() {
					t.Fatal("nothing is subscribed and the tree is not empty")
				}
			},
		})
	})
}

func byQueue(r *Result[int]) map[string][]int {
	all := map[string][]int{}
	if len(r.Plain) > 0 {
		all[""] = r.Plain
	}
	for _, q := range r.Queues {
		all[q.Name] = q.Members
	}
	return all
}

func text(all map[string][]int) string {
	for _, ids := range all {
		slices.Sort(ids)
	}
	return fmt.Sprint(all) // maps print in order
}

func TestInvalidSubjects(t *testing.T) {
	var table Table[int]
	for _, s := range []string{"", ".", "a.", ".a", "a..b", ">.a", "a b"} {
		if _, err := table.Add(s, "", 1); !errors.Is(err, subject.ErrInvalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestWatch(t *testing.T) {
	var table Table[int]
	ch := make(chan struct{}, 1)
	cancel := table.Watchers.Watch("in.box", ch)
	told := func() bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	}
	for filter, want := range map[string]bool{"in.box": true, "in.*": true, ">": true, "in": false, "in.other": false} {
		s, err := table.Add(filter, "", 1)
		if err != nil || told() != want {
			t.Errorf("%s begins: %v, %v", filter, !want, err)
		}
		table.Remove(s)
		if told() != want {
			t.Errorf("%s ends: %v", filter, !want)
		}
	}
	table.Watchers.Notify("in.box")
	table.Watchers.Notify("in.box")
	if !told() || told() {
		t.Error("two notices are not one")
	}
	cancel()
	cancel()
	table.Watchers.Notify("in.box")
	if told() || len(table.Watchers.waiting) != 0 {
		t.Error("told after the end")
	}
}

func TestTogether(t *testing.T) {
	var table Table[int]
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 200 {
				s, err := table.Add(fmt.Sprintf("a.%d.*", i), "", i)
				if err != nil {
					t.Error(err)
					return
				}
				if r := table.Match(fmt.Sprintf("a.%d.x", i)); len(r.Plain) != 1 || r.Plain[0] != i {
					t.Errorf("%d sees %v", i, r.Plain)
				}
				table.Remove(s)
			}
		})
	}
	all.Wait()
	if !table.root.empty() {
		t.Error("something is left")
	}
}

func BenchmarkMatch(b *testing.B) {
	var table Table[int]
	for i := range 1000 {
		if _, err := table.Add(fmt.Sprintf("orders.%d.*", i), "", i); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if len(table.Match("orders.77.new").Plain) != 1 {
			b.Fatal("no match")
		}
	}
}
