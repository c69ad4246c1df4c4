package topic

import (
	"cmp"
	"slices"
)

// BrokerSettings lists what the broker sets for topics that set nothing themselves, under the broker-wide names, such as
// log.retention.ms, ordered by name. Settings that a broker cannot set are left out.
func (r *Registry) BrokerSettings() []Setting {
	var list []Setting
	for _, s := range (levels{broker: r.broker}).describe() {
		row, err := find(s.Name)
		if err != nil || row.broker == "" {
			continue
		}
		s.Name = row.broker
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Setting) int { return cmp.Compare(a.Name, b.Name) })
	return list
}
