package stream

import (
	"errors"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"brokerd/log/vfs/memfs"
	"brokerd/topic"
)

// world is what the streams of a broker should be.
type world struct {
	b       *broker
	streams map[string]made
	topics  map[string]bool // made through Kafka
}

// made is a stream: its configuration as it was set through JetStream, and retention.ms as it is.
type made struct {
	config    Config
	retention string
}

func madeOf(s *Stream) made { return made{s.Config(), millis(s.Config().MaxAge)} }

// shown is the configuration that follows.
func (m made) shown() string {
	c := m.config
	if m.retention != millis(c.MaxAge) {
		c.MaxAge = 0
		if m.retention != "-1" {
			c.MaxAge = 500 * time.Millisecond
			c.Duplicates = min(c.Duplicates, c.MaxAge)
		}
	}
	return string(encode(c))
}

var errDisk = errors.New("the disk fails")

// TestStreamsSurviveCrashes makes, changes and deletes streams and topics in any order, with power failures and failing disks
// in between. What a call said is so after a start; what failed is not there, or is, but never in part.
func TestStreamsSurviveCrashes(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		life, err := os.MkdirTemp(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		w := &world{b: newBrokerIn(t, life), streams: make(map[string]made), topics: make(map[string]bool)}
		defer w.b.end()
		name := rapid.SampledFrom([]string{"A", "B", "é"})
		topicName := rapid.SampledFrom([]string{"t", "t.u", "A"})
		t.Repeat(map[string]func(*rapid.T){
			"":       w.check,
			"create": func(t *rapid.T) { w.create(t, drawConfig(t, name.Draw(t, "name"))) },
			"update": func(t *rapid.T) { w.update(t, drawConfig(t, name.Draw(t, "name"))) },
			"delete": func(t *rapid.T) { w.delete(t, name.Draw(t, "name")) },
			"make a topic": func(t *rapid.T) {
				if n := topicName.Draw(t, "topic"); w.b.topicErr(n) == nil {
					w.topics[n] = true
				}
			},
			"delete a topic": func(t *rapid.T) {
				n := topicName.Draw(t, "topic")
				if w.b.topics.Delete(n) == nil {
					delete(w.topics, n)
					delete(w.streams, n)
				}
			},
			"set": func(t *rapid.T) {
				age := rapid.SampledFrom([]string{"-1", "500"}).Draw(t, "retention.ms")
				n := topicName.Draw(t, "topic")
				err := w.b.topics.Alter(n, []topic.Change{{Key: "retention.ms", Value: age}}, false)
				if m, ok := w.streams[n]; ok && err == nil {
					w.streams[n] = made{m.config, age}
				}
			},
			"crash": func(t *rapid.T) { w.b.crash() },
			"crash in create": func(t *rapid.T) {
				left := rapid.IntRange(0, 12).Draw(t, "operations")
				w.b.disk.Fail(func(memfs.Op) error {
					if left--; left < 0 {
						return errDisk
					}
					return nil
				})
				c := drawConfig(t, name.Draw(t, "name"))
				s, err := w.b.Create(c, false)
				w.b.crash()
				w.b.disk.Fail(nil)
				if err == nil {
					w.streams[c.Name] = madeOf(s)
				}
			},
		})
	})
}

func drawConfig(t *rapid.T, name string) Config {
	c := Config{Name: name, Description: rapid.SampledFrom([]string{"", "d"}).Draw(t, "description")}
	c.Subjects = []string{rapid.SampledFrom([]string{name, "x.1", "x.*", "t.k"}).Draw(t, "subject")}
	c.MaxAge = rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "max_age")
	c.MaxMsgsPer = rapid.SampledFrom([]int64{-1, 1}).Draw(t, "max_msgs_per_subject")
	return c
}

func (w *world) create(t *rapid.T, c Config) {
	s, err := w.b.Create(c, false)
	if err == nil {
		w.streams[c.Name] = madeOf(s)
	}
	_, there := w.streams[c.Name]
	if errors.Is(err, ErrStreamExists) && !there && !w.topics[c.Name] {
		t.Fatalf("%s is said to exist", c.Name)
	}
}

func (w *world) update(t *rapid.T, c Config) {
	s, err := w.b.Update(c, false)
	_, there := w.streams[c.Name]
	if errors.Is(err, ErrStreamNotFound) == (there || w.topics[c.Name]) && !errors.Is(err, ErrSubjectOverlap) && err != nil && there {
		t.Fatalf("update of %s: %v", c.Name, err)
	}
	if err == nil && there {
		w.streams[c.Name] = madeOf(s)
	}
}

func (w *world) delete(t *rapid.T, name string) {
	_, there := w.streams[name]
	err := w.b.Delete(name)
	if (err == nil) != (there || w.topics[name]) {
		t.Fatalf("delete %s: %v", name, err)
	}
	delete(w.streams, name)
	delete(w.topics, name)
}

// check compares what there is with what there should be.
func (w *world) check(t *rapid.T) {
	got := make(map[string]string)
	for _, s := range w.b.List("") {
		tp, _ := s.Topic()
		if tp.Stream() == nil {
			if !w.topics[tp.Name()] {
				t.Fatalf("there is a topic %s", tp.Name())
			}
			continue
		}
		got[s.Name()] = string(encode(s.Config()))
		if found, ok := w.b.ForSubject(s.Config().Subjects[0]); ok && found != s {
			t.Fatalf("%s goes to %s, and not to %s", s.Config().Subjects[0], found.Name(), s.Name())
		}
	}
	want := make(map[string]string)
	for name, m := range w.streams {
		want[name] = m.shown()
	}
	if !maps.Equal(got, want) {
		t.Fatalf("streams\n%v\nwant\n%v", got, want)
	}
	if len(w.b.topics.List()) != len(w.streams)+len(w.topics) {
		t.Fatalf("topics %v, streams %v, made through Kafka %v", w.b.topics.List(), slices.Sorted(maps.Keys(w.streams)), w.topics)
	}
}
