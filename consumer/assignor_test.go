package consumer

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"brokerd/topic"
)

// topicID is the id of the test topic of a letter.
func topicID(name string) topic.ID { return topic.ID{name[0]} }

// parsePlaces reads "t:0,1 u:2".
func parsePlaces(text string) places {
	var list []place
	for word := range strings.FieldsSeq(text) {
		name, numbers, _ := strings.Cut(word, ":")
		for n := range strings.SplitSeq(numbers, ",") {
			var number int32
			fmt.Sscan(n, &number)
			list = append(list, place{topicID(name), number})
		}
	}
	return newPlaces(list...)
}

func (s places) String() string {
	var words []string
	for _, a := range s.byTopic() {
		numbers := strings.Trim(strings.ReplaceAll(fmt.Sprint(a.Partitions), " ", ","), "[]")
		words = append(words, string(a.Topic[:1])+":"+numbers)
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, " ")
}

// TestAssignors: a member is its id, perhaps with =instance, the topics that it wants and what it has; then what it gets.
func TestAssignors(t *testing.T) {
	type row struct{ id, topics, has, want string }
	for name, c := range map[string]struct {
		assignor, partitions string
		rows                 []row
	}{
		"range cuts evenly, first ones get more": {"range", "t7", []row{
			{"a", "t", "", "t:0,1,2"}, {"b", "t", "", "t:3,4"}, {"c", "t", "", "t:5,6"}}},
		"range lines topics up": {"range", "t3 u3", []row{
			{"a", "t u", "", "t:0,1 u:0,1"}, {"b", "t u", "", "t:2 u:2"}}},
		"range ignores what members had": {"range", "t4", []row{
			{"a", "t", "t:2,3", "t:0,1"}, {"b", "t", "t:0,1", "t:2,3"}}},
		"range puts static members first": {"range", "t3", []row{
			{"a", "t", "", "t:2"}, {"y=1", "t", "", "t:0"}, {"b=2", "t", "", "t:1"}}},
		"range by topic, where members want different ones": {"range", "t4 u3", []row{
			{"a", "t", "", "t:0,1"}, {"b", "t u", "", "t:2,3 u:0,1"}, {"c", "u", "", "u:2"}}},
		"range with more members than partitions": {"range", "t1", []row{
			{"a", "t", "", "t:0"}, {"b", "t", "", "-"}}},
		"uniform over topics": {"uniform", "t3 u3", []row{
			{"a", "t u", "", "t:0,2 u:1"}, {"b", "t u", "", "t:1 u:0,2"}}},
		"uniform moves one only": {"uniform", "t4", []row{
			{"a", "t", "t:0,1", "t:0"}, {"b", "t", "t:2,3", "t:2,3"}, {"c", "t", "", "t:1"}}},
		"uniform gives what a member left to those that have least": {"uniform", "t6", []row{
			{"a", "t", "t:0,1", "t:0,1,4"}, {"b", "t", "t:2,3", "t:2,3,5"}}},
		"uniform takes back what nobody wants any more": {"uniform", "t2 u2", []row{
			{"a", "t", "t:0,1 u:0", "t:0,1"}, {"b", "t u", "u:1", "u:0,1"}}},
		"uniform with partitions that are gone": {"uniform", "t1", []row{
			{"a", "t", "t:0,1,2 x:0", "t:0"}}},
		"uniform with members that want different topics": {"uniform", "t4 u1", []row{
			{"a", "t", "t:0,1,2,3", "t:0,1,2"}, {"b", "t u", "u:0", "t:3 u:0"}}},
		"a topic that nobody wants, and members that want nothing": {"uniform", "t1 u1", []row{
			{"a", "t", "", "t:0"}, {"b", "", "u:0", "-"}}},
		"nobody": {"uniform", "t1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			topics := map[string]Topic{}
			for word := range strings.FieldsSeq(c.partitions) {
				topics[word[:1]] = Topic{word[:1], topicID(word), int32(word[1] - '0')}
			}
			var members []candidate
			wants := map[string]*subscription{}
			for _, r := range c.rows {
				if wants[r.topics] == nil {
					wants[r.topics] = &subscription{}
					for name := range strings.FieldsSeq(r.topics) {
						wants[r.topics].topics = append(wants[r.topics].topics, topics[name])
					}
				}
				id, instance, _ := strings.Cut(r.id, "=")
				members = append(members, candidate{id, instance, wants[r.topics], parsePlaces(r.has)})
			}
			for i, got := range assign(c.assignor, members) {
				if got.String() != c.rows[i].want {
					t.Errorf("%s gets %v, want %s", c.rows[i].id, got, c.rows[i].want)
				}
			}
		})
	}
}

// TestAssignorsAlways draws groups and checks of each assignor that every partition that somebody wants goes to exactly one
// member, that members get only what they want, and that the same question has the same answer. Of uniform also that
//
//   - no subscriber of a topic has two less than a member that has a partition of it, which is a difference of at most one
//     when all want the same;
//   - then as many partitions as a balance allows stay where they are;
//   - a second run moves nothing.
func TestAssignorsAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var topics []Topic
		for i := range rapid.IntRange(1, 5).Draw(t, "topics") {
			name := string(rune('t' + i))
			topics = append(topics, Topic{name, topicID(name), rapid.Int32Range(1, 12).Draw(t, "partitions")})
		}
		same := rapid.Bool().Draw(t, "all want the same")
		members := make([]candidate, rapid.IntRange(1, 8).Draw(t, "members"))
		for i := range members {
			members[i] = candidate{id: fmt.Sprint("m", i), wants: &subscription{}}
			switch {
			case same && i > 0, !same && i > 0 && rapid.Bool().Draw(t, "like the one before"):
				members[i].wants = members[i-1].wants
			default:
				for _, want := range topics {
					if same || rapid.Bool().Draw(t, "wants") {
						members[i].wants.topics = append(members[i].wants.topics, want)
					}
				}
			}
		}
		// What they have: anything, even partitions that are gone or that they do not want.
		had := make([][]place, len(members))
		for _, want := range topics {
			for n := range want.Partitions + 2 {
				if owner := rapid.IntRange(-1, len(members)-1).Draw(t, "owner"); owner >= 0 {
					had[owner] = append(had[owner], place{want.ID, n})
				}
			}
		}
		for i := range members {
			members[i].has = newPlaces(had[i]...)
		}
		for _, assignor := range []string{uniformAssignor, rangeAssignor} {
			got := assign(assignor, members)
			if again := assign(assignor, members); fmt.Sprint(again) != fmt.Sprint(got) {
				t.Fatalf("%s: %v, and then %v", assignor, got, again)
			}
			checkAssignment(t, members, got)
		}
		got := assign(uniformAssignor, members)
		checkBalance(t, members, got)
		if same {
			checkMoves(t, members, topics, got)
		}
		for i := range members {
			members[i].has = got[i]
		}
		if again := assign(uniformAssignor, members); fmt.Sprint(again) != fmt.Sprint(got) {
			t.Fatalf("a second run makes of %v %v", got, again)
		}
	})
}

// subscribers returns the members that want each topic.
func subscribers(members []candidate) map[Topic][]int {
	by := map[Topic][]int{}
	for i, m := range members {
		for _, t := range m.wants.topics {
			by[t] = append(by[t], i)
		}
	}
	return by
}

func checkAssignment(t *rapid.T, members []candidate, got []places) {
	owner := map[place]int{}
	for i, s := range got {
		for _, p := range s {
			if other, twice := owner[p]; twice {
				t.Fatalf("%v goes to members %d and %d", p, other, i)
			}
			owner[p] = i
			if !slices.ContainsFunc(members[i].wants.topics, func(t Topic) bool { return t.ID == p.topic && p.partition < t.Partitions }) {
				t.Fatalf("member %d gets %v, which it does not want or which does not exist", i, p)
			}
		}
	}
	for want := range subscribers(members) {
		for n := range want.Partitions {
			if _, ok := owner[place{want.ID, n}]; !ok {
				t.Fatalf("%v goes to nobody", place{want.ID, n})
			}
		}
	}
}

func checkBalance(t *rapid.T, members []candidate, got []places) {
	for want, all := range subscribers(members) {
		for i, s := range got {
			if !slices.ContainsFunc(s, func(p place) bool { return p.topic == want.ID }) {
				continue
			}
			for _, m := range all {
				if len(s) > len(got[m])+1 {
					t.Fatalf("member %d has %d, member %d who would take some of %s has %d", i, len(s), m, want.Name, len(got[m]))
				}
			}
		}
	}
}

// checkMoves compares with the most that can stay: each member at most the larger share, and only as many of them the
// larger one as there is.
func checkMoves(t *rapid.T, members []candidate, topics []Topic, got []places) {
	total := 0
	exists := map[place]bool{}
	for _, want := range topics {
		for n := range want.Partitions {
			exists[place{want.ID, n}] = true
			total++
		}
	}
	share, larger := total/len(members), total%len(members)
	stay, most := 0, 0
	for i, m := range members {
		valid := len(m.has.filter(func(p place) bool { return exists[p] }))
		most += min(valid, share)
		if valid > share && larger > 0 {
			most++
			larger--
		}
		stay += len(got[i].and(m.has))
	}
	if stay != most {
		t.Fatalf("%d partitions stay where they are, %d could", stay, most)
	}
}
