package nats

import (
	"fmt"
	"strings"

	"brokerd/topic/subject"
)

// permission is a Permission that was checked.
type permission struct {
	allow, deny []rule
}

// rule is one subject of a permission; for a subscription it may be for queue groups only.
type rule struct{ filter, queue string }

func newPermission(p Permission) (*permission, error) {
	if len(p.Allow)+len(p.Deny) == 0 {
		return nil, nil
	}
	var made permission
	for _, list := range []struct {
		from []string
		to   *[]rule
	}{{p.Allow, &made.allow}, {p.Deny, &made.deny}} {
		for _, text := range list.from {
			r := rule{filter: text}
			if f := strings.Fields(text); len(f) == 2 {
				r = rule{f[0], f[1]}
			}
			if !subject.Valid(r.filter) || r.queue != "" && !subject.Valid(r.queue) {
				return nil, fmt.Errorf("%q: %w", text, subject.ErrInvalid)
			}
			*list.to = append(*list.to, r)
		}
	}
	return &made, nil
}

// has says that a message with this literal subject is allowed.
func (p *permission) has(s string) bool {
	if p == nil {
		return true
	}
	for _, r := range p.deny {
		if subject.Match(r.filter, s) {
			return false
		}
	}
	for _, r := range p.allow {
		if subject.Match(r.filter, s) {
			return true
		}
	}
	return len(p.allow) == 0
}

// covers says that a subscription to filter is allowed, by a member of queue unless that is "", and which subjects it gets
// no messages of.
func (p *permission) covers(filter, queue string) (denied []string, ok bool) {
	if p == nil {
		return nil, true
	}
	for _, r := range p.deny {
		switch {
		case !r.applies(queue):
		case subject.Subset(filter, r.filter):
			return nil, false
		case subject.Overlap(filter, r.filter):
			denied = append(denied, r.filter)
		}
	}
	for _, r := range p.allow {
		if r.applies(queue) && subject.Subset(filter, r.filter) {
			return denied, true
		}
	}
	return denied, len(p.allow) == 0
}

// applies says that the rule is for members of queue; "" is for none.
func (r rule) applies(queue string) bool {
	return r.queue == "" || queue != "" && subject.Match(r.queue, queue)
}
