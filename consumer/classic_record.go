package consumer

import (
	"encoding/binary"
	"time"
)

func (g *classicGroup) image([]string, bool) image { return image{group: encodeClassic(g)} }

func encodeClassic(g *classicGroup) []byte {
	b := []byte{recordVersion}
	b = appendInt32(b, g.generation)
	b = appendInt64(b, millis(g.emptySince))
	b = appendString(b, g.protocolType)
	b = appendString(b, g.protocol)
	b = appendString(b, g.leader)
	b = binary.AppendUvarint(b, uint64(len(g.members)))
	for _, m := range g.sorted() {
		b = appendString(b, m.id)
		b = appendString(b, m.instance)
		b = appendString(b, m.client)
		b = appendString(b, m.host)
		b = appendInt64(b, m.session.Milliseconds())
		b = appendInt64(b, m.rebalance.Milliseconds())
		b = appendString(b, m.assignment)
		b = binary.AppendUvarint(b, uint64(len(m.protocols)))
		for _, p := range m.protocols {
			b = appendString(b, p.Name)
			b = appendString(b, p.Metadata)
		}
	}
	return b
}

// decodeClassic restores a group as it was saved: stable, with sessions that start now, or empty.
func decodeClassic(record []byte, s Settings, now time.Time) (*classicGroup, error) {
	d := &decoder{b: record}
	if d.uint8() != recordVersion {
		return nil, errRecord
	}
	g := newClassicGroup(s)
	g.generation = d.int32()
	g.emptySince = fromMillis(d.int64())
	g.protocolType, g.protocol, g.leader = d.string(), d.string(), d.string()
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		m := d.member()
		if g.members[m.id] != nil {
			return nil, errRecord
		}
		m.order, m.synced = len(g.members), true
		m.refresh(now)
		g.members[m.id] = m
		if m.instance != "" {
			g.static[m.instance] = m.id
		}
	}
	if err := d.end(); err != nil {
		return nil, err
	}
	g.joined = len(g.members)
	if len(g.members) > 0 {
		g.state = Stable
		if leader := g.members[g.leader]; leader == nil || !g.allHave(g.protocol) {
			return nil, errRecord
		}
	}
	return g, nil
}

func (d *decoder) member() *member {
	m := &member{id: d.string(), instance: d.string(), client: d.string(), host: d.string()}
	m.session = time.Duration(d.int64()) * time.Millisecond
	m.rebalance = time.Duration(d.int64()) * time.Millisecond
	m.assignment = d.bytes()
	for n := d.uvarint(); n > 0 && !d.bad; n-- {
		m.protocols = append(m.protocols, Protocol{d.string(), d.bytes()})
	}
	return m
}
