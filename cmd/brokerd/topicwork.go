package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// createTopic makes a topic and prints what the broker made.
func createTopic(ctx context.Context, adm *kadm.Client, w io.Writer, asJSON bool, name string, partitions int32,
	settings map[string]string) error {
	config := make(map[string]*string, len(settings))
	for k, v := range settings {
		config[k] = &v
	}
	t, err := adm.CreateTopic(ctx, partitions, -1, config, name)
	if err != nil {
		return fmt.Errorf("create topic %s: %w", name, refused(err, t.ErrMessage))
	}
	if asJSON {
		return printJSON(w, struct {
			Topic      string `json:"topic"`
			ID         string `json:"id"`
			Partitions int32  `json:"partitions"`
		}{name, uuid(t.ID), t.NumPartitions})
	}
	_, err = fmt.Fprintf(w, "created %s with %s\n", name, plural(int64(t.NumPartitions), "partition"))
	return err
}

// listTopics prints one line per topic.
func listTopics(ctx context.Context, adm *kadm.Client, w io.Writer, asJSON bool) error {
	topics, err := adm.ListTopics(ctx)
	if err != nil {
		return fmt.Errorf("list topics: %w", err)
	}
	held, err := spans(ctx, adm)
	if err != nil {
		return err
	}
	records := make(map[string]int64)
	for p, s := range held {
		records[p.topic] += s.end - s.start
	}
	sizes := topicSizes(ctx, adm)
	out := newTable("TOPIC", ">PARTITIONS", ">RECORDS", ">SIZE")
	for _, t := range topics.Sorted() {
		size := sizes.topic(t)
		if asJSON {
			if err := printJSON(w, struct {
				Topic      string `json:"topic"`
				ID         string `json:"id"`
				Partitions int    `json:"partitions"`
				Records    int64  `json:"records"`
				Bytes      *int64 `json:"bytes"`
			}{t.Topic, uuid(t.ID), len(t.Partitions), records[t.Topic], size}); err != nil {
				return err
			}
			continue
		}
		out.add(t.Topic, len(t.Partitions), records[t.Topic], sizeText(size))
	}
	if asJSON {
		return nil
	}
	return out.print(w)
}

// sizes are the bytes of partitions on the broker's disk.
type sizes map[partition]int64

// topicSizes asks for the size of every partition. It is empty for a broker that does not tell (DescribeLogDirs).
func topicSizes(ctx context.Context, adm *kadm.Client) sizes {
	all := make(sizes)
	dirs, err := adm.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return all
	}
	dirs.Each(func(d kadm.DescribedLogDir) {
		d.Topics.Each(func(p kadm.DescribedLogDirPartition) { all[partition{p.Topic, p.Partition}] += p.Size })
	})
	return all
}

// topic is the size of all partitions, nil when one is unknown.
func (s sizes) topic(t kadm.TopicDetail) *int64 {
	var sum int64
	for id := range t.Partitions {
		n, ok := s[partition{t.Topic, id}]
		if !ok {
			return nil
		}
		sum += n
	}
	return &sum
}

func (s sizes) partition(p partition) *int64 {
	n, ok := s[p]
	if !ok {
		return nil
	}
	return &n
}

func sizeText(n *int64) string {
	if n == nil {
		return "-"
	}
	return bytesText(*n)
}

// uuid is a topic id in the usual form.
func uuid(id kadm.TopicID) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[0:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// topicChange is what `topic alter` does.
type topicChange struct {
	set        map[string]string
	unset      []string
	partitions int // 0 leaves them
}

// alterTopic changes settings first, then partitions.
func alterTopic(ctx context.Context, adm *kadm.Client, w io.Writer, asJSON bool, name string, c topicChange) error {
	var changes []kadm.AlterConfig
	for _, k := range slices.Sorted(maps.Keys(c.set)) {
		changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: k, Value: kadm.StringPtr(c.set[k])})
	}
	for _, k := range c.unset {
		changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: k})
	}
	if len(changes) > 0 {
		answers, err := adm.AlterTopicConfigs(ctx, changes, name)
		if err != nil {
			return fmt.Errorf("alter topic %s: %w", name, err)
		}
		for _, a := range answers {
			if a.Err != nil {
				return alterError(name, a.Err, a.ErrMessage)
			}
		}
	}
	if c.partitions != 0 {
		answers, err := adm.UpdatePartitions(ctx, c.partitions, name)
		if err != nil {
			return fmt.Errorf("alter topic %s: %w", name, err)
		}
		for _, a := range answers {
			if a.Err != nil {
				return alterError(name, a.Err, a.ErrMessage)
			}
		}
	}
	if asJSON {
		return printJSON(w, struct {
			Topic      string            `json:"topic"`
			Set        map[string]string `json:"set,omitempty"`
			Unset      []string          `json:"unset,omitempty"`
			Partitions int               `json:"partitions,omitempty"`
		}{name, c.set, c.unset, c.partitions})
	}
	_, err := fmt.Fprintf(w, "altered %s\n", name)
	return err
}

func alterError(name string, err error, detail string) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		return noTopic(name)
	}
	return fmt.Errorf("alter topic %s: %w", name, refused(err, detail))
}

// deleteTopics deletes each topic that it can and returns all errors.
func deleteTopics(ctx context.Context, adm *kadm.Client, w io.Writer, asJSON bool, names []string) error {
	answers, err := adm.DeleteTopics(ctx, names...)
	if err != nil {
		return fmt.Errorf("delete topics: %w", err)
	}
	var failed []error
	for _, a := range answers.Sorted() {
		switch {
		case errors.Is(a.Err, kerr.UnknownTopicOrPartition):
			failed = append(failed, noTopic(a.Topic))
		case a.Err != nil:
			failed = append(failed, fmt.Errorf("delete topic %s: %w", a.Topic, refused(a.Err, a.ErrMessage)))
		case asJSON:
			err = printJSON(w, struct {
				Topic string `json:"topic"`
			}{a.Topic})
		default:
			_, err = fmt.Fprintf(w, "deleted %s\n", a.Topic)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(failed...)
}

// sourceText names the place that a setting comes from: "topic", "broker" or "default".
func sourceText(source string) string {
	switch source {
	case "DYNAMIC_TOPIC_CONFIG":
		return "topic"
	case "DEFAULT_CONFIG":
		return "default"
	case "STATIC_BROKER_CONFIG", "DYNAMIC_BROKER_CONFIG", "DYNAMIC_DEFAULT_BROKER_CONFIG":
		return "broker"
	}
	return strings.ToLower(source)
}
