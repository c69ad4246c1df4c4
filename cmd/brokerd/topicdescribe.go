package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
)

// topicText is a topic as `topic describe --json` prints it.
type topicText struct {
	Topic      string          `json:"topic"`
	ID         string          `json:"id"`
	Partitions []partitionText `json:"partitions"`
	Settings   []settingText   `json:"settings"`
}

type partitionText struct {
	Partition int32  `json:"partition"`
	Start     int64  `json:"start"` // oldest offset
	End       int64  `json:"end"`   // next offset
	Bytes     *int64 `json:"bytes"`
}

type settingText struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"` // "topic", "broker" or "default"
}

// describeTopics prints each topic that there is and returns an error for each that there is not.
func describeTopics(ctx context.Context, adm *kadm.Client, w io.Writer, asJSON, all bool, names []string) error {
	details, err := adm.ListTopics(ctx, names...)
	if err != nil {
		return fmt.Errorf("describe topics: %w", err)
	}
	sizes := topicSizes(ctx, adm)
	return printEach(w, names, asJSON, func(name string) (topicText, error) {
		return describeTopic(ctx, adm, details[name], sizes, all)
	})
}

func describeTopic(ctx context.Context, adm *kadm.Client, d kadm.TopicDetail, sizes sizes, all bool) (topicText, error) {
	switch {
	case errors.Is(d.Err, kerr.UnknownTopicOrPartition):
		return topicText{}, noTopic(d.Topic)
	case d.Err != nil:
		return topicText{}, fmt.Errorf("describe topic %s: %w", d.Topic, refused(d.Err, ""))
	}
	t := topicText{Topic: d.Topic, ID: uuid(d.ID)}
	held, err := spans(ctx, adm, d.Topic)
	if err != nil {
		return topicText{}, err
	}
	for _, p := range sorted(held) {
		t.Partitions = append(t.Partitions, partitionText{p.id, held[p].start, held[p].end, sizes.partition(p)})
	}
	t.Settings, err = describeSettings(ctx, adm, d.Topic, all)
	return t, err
}

// describeSettings lists the settings of a topic by name: all, or those that differ from the built-in defaults.
func describeSettings(ctx context.Context, adm *kadm.Client, topic string, all bool) ([]settingText, error) {
	configs, err := adm.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("describe settings of %s: %w", topic, err)
	}
	c, err := configs.On(topic, nil)
	if err == nil {
		err = c.Err
	}
	if err != nil {
		return nil, fmt.Errorf("describe settings of %s: %w", topic, refused(err, c.ErrMessage))
	}
	settings := []settingText{}
	for _, s := range c.Configs {
		if source := sourceText(s.Source.String()); all || source != "default" {
			settings = append(settings, settingText{s.Key, s.MaybeValue(), source})
		}
	}
	slices.SortFunc(settings, func(a, b settingText) int { return cmp.Compare(a.Name, b.Name) })
	return settings, nil
}

func (t topicText) print(w io.Writer) error {
	fmt.Fprintf(w, "topic  %s\nid     %s\n\n", t.Topic, t.ID)
	partitions := newTable(">PARTITION", ">START", ">END", ">RECORDS", ">SIZE")
	for _, p := range t.Partitions {
		partitions.add(p.Partition, p.Start, p.End, p.End-p.Start, sizeText(p.Bytes))
	}
	if err := partitions.print(w); err != nil {
		return err
	}
	if len(t.Settings) == 0 {
		_, err := fmt.Fprintln(w, "\nevery setting has its default; --all shows them")
		return err
	}
	fmt.Fprintln(w)
	settings := newTable("SETTING", "VALUE", "SOURCE")
	for _, s := range t.Settings {
		settings.add(s.Name, s.Value, s.Source)
	}
	return settings.print(w)
}
