package consumer

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"brokerd/topic"
)

func (g *consumerGroup) image(members []string, all bool) image {
	if all {
		members = slices.Collect(maps.Keys(g.members))
	}
	img := image{group: encodeConsumer(g), members: map[string][]byte{}}
	for _, id := range members {
		img.members[id] = nil
		if m, ok := g.members[id]; ok {
			img.members[id] = encodeMember(m)
		}
	}
	return img
}

// encodeConsumer makes the record of a group without its members.
func encodeConsumer(g *consumerGroup) []byte {
	b := []byte{consumerVersion}
	b = appendInt32(b, g.epoch)
	b = appendInt32(b, g.targetEpoch)
	b = appendInt64(b, millis(g.emptySince))
	return append(b, g.topics[:]...)
}

func decodeConsumer(record []byte, s Settings) (*consumerGroup, error) {
	d := &decoder{b: record}
	if d.uint8() != consumerVersion {
		return nil, errRecord
	}
	g := newConsumerGroup(s)
	g.epoch, g.targetEpoch, g.emptySince = d.int32(), d.int32(), fromMillis(d.int64())
	copy(g.topics[:], d.take(uint64(len(g.topics))))
	if g.targetEpoch < 0 || g.targetEpoch > g.epoch {
		d.bad = true
	}
	return g, d.end()
}

func memberKey(group, id string) []byte { return appendString(groupPrefix(group), id) }

func decodeMemberKey(key []byte) (group, id string, err error) {
	d := &decoder{b: key}
	group, id = d.string(), d.string()
	return group, id, d.end()
}

func encodeMember(m *consumerMember) []byte {
	b := []byte{recordVersion}
	for _, s := range []string{m.instance, m.rack, m.client, m.host, m.regex, m.assignor} {
		b = appendString(b, s)
	}
	b = appendInt64(b, m.rebalance.Milliseconds())
	b = binary.AppendUvarint(b, uint64(len(m.names)))
	for _, name := range m.names {
		b = appendString(b, name)
	}
	b = appendInt32(b, m.epoch)
	b = appendInt32(b, m.previous)
	for _, set := range []places{m.target, m.assigned, m.revoking} {
		b = appendPlaces(b, set)
	}
	for _, p := range slices.Concat(m.assigned, m.revoking) {
		b = appendInt32(b, m.since[p])
	}
	return b
}

func decodeMember(id string, record []byte) (*consumerMember, error) {
	d := &decoder{b: record}
	if d.uint8() != recordVersion {
		return nil, errRecord
	}
	m := &consumerMember{id: id}
	var regex string
	for _, s := range []*string{&m.instance, &m.rack, &m.client, &m.host, &regex, &m.assignor} {
		*s = d.string()
	}
	m.rebalance = time.Duration(d.int64()) * time.Millisecond
	var names []string
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		names = append(names, d.string())
	}
	m.interest = newInterest(names, regex)
	m.epoch, m.previous = d.int32(), d.int32()
	m.target, m.assigned, m.revoking = d.places(), d.places(), d.places()
	m.since = map[place]int32{}
	for _, p := range slices.Concat(m.assigned, m.revoking) {
		m.since[p] = d.int32()
	}
	if m.rebalance <= 0 || len(m.since) != len(m.assigned)+len(m.revoking) {
		d.bad = true
	}
	return m, d.end()
}

func appendPlaces(b []byte, s places) []byte {
	topics := s.byTopic()
	b = binary.AppendUvarint(b, uint64(len(topics)))
	for _, t := range topics {
		b = append(b, t.Topic[:]...)
		b = binary.AppendUvarint(b, uint64(len(t.Partitions)))
		for _, n := range t.Partitions {
			b = binary.AppendUvarint(b, uint64(n))
		}
	}
	return b
}

// places reads a set, which has to be in order.
func (d *decoder) places() places {
	var s places
	for topics := d.uvarint(); topics > 0 && !d.bad; topics-- {
		var id topic.ID
		copy(id[:], d.take(uint64(len(id))))
		for n := d.uvarint(); n > 0 && !d.bad; n-- {
			number := d.uvarint()
			p := place{id, int32(number)}
			if uint64(p.partition) != number || len(s) > 0 && s[len(s)-1].compare(p) >= 0 {
				d.bad = true
				return nil
			}
			s = append(s, p)
		}
	}
	return s
}

// restorer puts a stored group together.
type restorer struct {
	*consumerGroup
	aimed map[place]bool // places that are targets
}

func newRestorer(g *consumerGroup) *restorer { return &restorer{g, map[place]bool{}} }

// restore takes in a stored member, with a session that starts now. It says no if the member contradicts the group or
// another member: no place is ever given to two.
func (r *restorer) restore(m *consumerMember, now time.Time) bool {
	has := slices.Concat(m.assigned, m.revoking)
	if m.epoch > r.targetEpoch || m.instance != "" && r.static[m.instance] != "" ||
		slices.ContainsFunc(has, func(p place) bool { return r.holders[p] != nil }) ||
		slices.ContainsFunc(m.target, func(p place) bool { return r.aimed[p] }) {
		return false
	}
	for _, p := range has {
		r.holders[p] = m
	}
	for _, p := range m.target {
		r.aimed[p] = true
	}
	r.members[m.id] = m
	if m.instance != "" {
		r.static[m.instance] = m.id
	}
	m.expires = now.Add(r.settings.ConsumerSession)
	r.wakeBy(m.expires)
	if len(m.revoking) > 0 {
		m.revokeBy = now.Add(m.rebalance)
		r.wakeBy(m.revokeBy)
	}
	return true
}
