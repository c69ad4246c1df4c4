// Command conformance plays the scenario of ../README.md with one Go client against a running broker. It can also hold a
// port in front of a broker that is killed again and again.
package main

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
)

func main() {
	defer exitOnPanic()
	if len(os.Args) == 3 && os.Args[1] == "hold" {
		hold(os.Args[2])
	}
	clients := map[string]func(server string) client{
		"sarama": newSarama, "kafka-go": newKafkaGo, "confluent-kafka-go": newConfluent,
		"confluent-kafka-go-consumer": newConfluentConsumer,
	}
	if len(os.Args) != 3 || clients[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: conformance sarama|kafka-go|confluent-kafka-go|confluent-kafka-go-consumer|hold ADDRESS")
		os.Exit(2)
	}
	name := os.Args[1]
	s := &scenario{client: clients[name](os.Args[2]), topic: name + "-" + strconv.Itoa(os.Getpid())}
	for _, what := range s.client.cannot() {
		fmt.Printf("excepted %s: this client cannot\n", what)
	}
	s.run()
	fmt.Println("ok", name, s.client.version(), s.checks)
}

func (s *scenario) run() {
	s.client.createTopic(s.topic, map[string]string{"retention.ms": "172800000"})
	n, config := s.client.describeTopic(s.topic)
	s.expect(n == partitions, "the number of partitions", n)
	s.expect(config["retention.ms"] == "172800000", "a configuration of the topic", config)
	var sent []record
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		records := s.records(codec, len(sent), perCodec)
		s.client.produce(s.topic, codec, records)
		sent = append(sent, records...)
	}
	read := s.groups(sent)
	s.seekByTime(read)
	s.client.deleteTopic(s.topic)
	s.until("the topic is gone", func() bool { return !slices.Contains(s.client.topics(), s.topic) })
}

// groups reads everything in a group of two, then of one, and returns what was sent first, by position.
func (s *scenario) groups(sent []record) map[position]record {
	group := s.topic + "-group"
	every := []int32{0, 1, 2}
	a, b := s.join(group), s.join(group)
	s.until("two members share the partitions", func() bool {
		_, one := a.state()
		_, two := b.state()
		both := slices.Concat(one, two)
		slices.Sort(both)
		return len(one) > 0 && len(two) > 0 && slices.Equal(both, every)
	})
	together := func() map[position]record {
		all, _ := a.state()
		more, _ := b.state()
		for at, r := range more {
			all[at] = r
		}
		return all
	}
	s.until("all is read", func() bool { return len(together()) >= len(sent) })
	read := together()
	s.compare(read, sent)

	s.leave(a)
	s.until("the other takes over", func() bool { _, owned := b.state(); return slices.Equal(owned, every) })
	late := s.records("none", len(sent), 30)
	s.client.produce(s.topic, "none", late)
	s.until("the rest is read", func() bool { return len(together()) >= len(sent)+len(late) })
	state, members := s.client.describeGroup(group)
	s.expect(state == "stable" && members == 1, "the group with one member", state, members)
	s.leave(b)
	s.compare(together(), slices.Concat(sent, late))

	ends := map[int32]int64{}
	for at := range together() {
		ends[at.partition]++
	}
	committed := s.client.committed(group, s.topic)
	s.expect(reflect.DeepEqual(committed, ends), "the committed offsets", committed, ends)
	again := s.join(group)
	s.until("the group comes back", func() bool { _, owned := again.state(); return slices.Equal(owned, every) })
	s.leave(again)
	twice, _ := again.state()
	s.expect(len(twice) == 0, "nothing is read twice after a commit", len(twice))
	s.expect(slices.Contains(s.client.groups(), group), "the group is listed")
	s.client.deleteGroup(group)
	s.expect(!slices.Contains(s.client.groups(), group), "the group is gone")
	return read
}

func (s *scenario) seekByTime(read map[position]record) {
	wanted := int64(firstTime + 250_000 - 500)
	first := map[int32]int64{}
	for at, r := range read {
		if offset, found := first[at.partition]; r.time >= wanted && (!found || at.offset < offset) {
			first[at.partition] = at.offset
		}
	}
	found := s.client.offsetsForTime(s.topic, wanted)
	s.expect(reflect.DeepEqual(found, first), "offsets by time", found, first)
	for partition, offset := range first {
		r := s.client.readOne(s.topic, partition, offset)
		s.expect(reflect.DeepEqual(r, read[position{partition, offset}]), "the record after a seek", r)
	}
	for partition, offset := range s.client.offsetsForTime(s.topic, firstTime+1_000_000_000) {
		s.expect(offset == -1, "no offset beyond the last time", partition, offset)
	}
}
