package stream

import (
	"fmt"
	"strings"

	"brokerd/topic/subject"
)

var errNoExternal = fmt.Errorf("streams of other accounts and domains are not supported by this server")

// mirroring checks what a mirror copies, and takes over whether its origin allows direct reads.
func (d *draft) mirroring() error {
	m := d.Mirror
	switch {
	case m == nil:
		return nil
	case d.FirstSeq > 0:
		return ErrMirrorFirstSeq
	case len(d.Subjects) > 0:
		return ErrMirrorWithSubjects
	case len(d.Sources) > 0:
		return ErrMirrorWithSources
	case d.AllowCounter:
		return ErrMirrorCounters
	case d.AllowAtomic:
		return ErrMirrorAtomic
	case d.AllowBatched:
		return ErrMirrorBatched
	case d.Schedules:
		return ErrMirrorSchedules
	case m.Consumer != nil:
		return ErrMirrorConsumer
	case m.Filter != "" && len(m.Transforms) > 0:
		return ErrMirrorFilters
	case d.MarkerTTL > 0: // a marker would take a sequence that the origin gives to another message
		return invalid("subject delete markers forbidden on mirrors")
	}
	if err := checkTransforms(m.Transforms, MirrorFilter, MirrorTransform); err != nil {
		return err
	}
	if overlapping(m.Transforms) {
		return ErrMirrorFiltersOverlap
	}
	if m.External != nil {
		return InvalidConfig(errNoExternal)
	}
	if !validName(m.Name) {
		return ErrMirrorName
	}
	if m.Filter != "" && !subject.Valid(m.Filter) {
		return CreateFailed(fmt.Errorf("subject filter '%s' for the mirror %w", m.Filter, subject.ErrInvalid))
	}
	origin, ok := d.find(m.Name)
	if !ok {
		return nil
	}
	if d.MaxMsgSize > 0 && origin.MaxMsgSize > 0 && d.MaxMsgSize < origin.MaxMsgSize {
		return ErrMirrorMaxMsgSize
	}
	if d.MirrorDirect != origin.AllowDirect {
		if err := d.fix("origin stream has direct get set, mirror has it disabled"); err != nil {
			return err
		}
		d.MirrorDirect = origin.AllowDirect
	}
	return nil
}

func (d *draft) sourcing() error {
	if len(d.Sources) > 0 && d.Schedules {
		return ErrSourceSchedules
	}
	seen := make(map[string]bool, len(d.Sources))
	for _, s := range d.Sources {
		if s == nil || !validName(s.Name) {
			return ErrSourceName
		}
		key := s.key()
		if seen[key] {
			return ErrSourceDuplicate
		}
		seen[key] = true
		if err := d.source(s); err != nil {
			return err
		}
	}
	return nil
}

func (d *draft) source(s *Source) error {
	if s.Filter != "" && len(s.Transforms) > 0 {
		return ErrSourceFilters
	}
	if err := checkTransforms(s.Transforms, SourceFilter, SourceTransform); err != nil {
		return err
	}
	if overlapping(s.Transforms) {
		return ErrSourceFiltersOverlap
	}
	if s.Consumer != nil {
		return ErrSourceConsumer
	}
	if s.External != nil {
		return InvalidConfig(errNoExternal)
	}
	if s.Filter != "" && !subject.Valid(s.Filter) {
		return CreateFailed(fmt.Errorf("subject filter '%s' for the source: %w", s.Filter, subject.ErrInvalid))
	}
	origin, ok := d.find(s.Name)
	if ok && d.MaxMsgSize > 0 && origin.MaxMsgSize > 0 && d.MaxMsgSize < origin.MaxMsgSize {
		return ErrSourceMaxMsgSize
	}
	return nil
}

// key tells sources apart: one stream may be listed several times with different filters.
func (s *Source) key() string {
	filter, destination := s.selection()
	return s.Name + " " + filter + " " + destination
}

// selection is what a source takes of a stream, and what becomes of it, in the form that Nats-Stream-Source has.
func (s *Source) selection() (filter, destination string) {
	if len(s.Transforms) == 0 {
		return orAll(s.Filter), ">"
	}
	var filters, destinations []string
	for _, t := range s.Transforms {
		filters = append(filters, orAll(t.Source))
		destinations = append(destinations, orAll(t.Destination))
	}
	return strings.Join(filters, "\f"), strings.Join(destinations, "\f")
}

func checkTransforms(list []TransformConfig, source, destination func(error) *Error) error {
	for _, t := range list {
		if t.Source != "" && !subject.Valid(t.Source) {
			return source(fmt.Errorf("%w %s", subject.ErrInvalid, t.Source))
		}
		if _, err := subject.New(t.Source, t.Destination); err != nil {
			return destination(err)
		}
	}
	return nil
}

// overlapping says that two transforms match a subject.
func overlapping(list []TransformConfig) bool {
	for i, t := range list {
		for _, other := range list[i+1:] {
			if subject.Overlap(orAll(t.Source), orAll(other.Source)) {
				return true
			}
		}
	}
	return false
}

// orAll makes the empty filter the one that matches all.
func orAll(filter string) string {
	if filter == "" {
		return ">"
	}
	return filter
}

// cycles follows sources and mirrors, and refuses to come back to a stream that was seen on the way.
func (d *draft) cycles() error {
	visited := make(map[string]bool)
	for visit := []Config{d.Config}; len(visit) > 0; visit = visit[1:] {
		c := visit[0]
		visited[c.Name] = true
		for _, s := range c.Sources {
			if visited[s.Name] && (s.Filter == "" || wants(c.Subjects, s.Filter)) {
				return invalid("detected cycle")
			}
			if next, ok := d.find(s.Name); ok && !visited[s.Name] {
				visit = append(visit, next)
			}
		}
		if c.Mirror == nil {
			continue
		}
		if visited[c.Mirror.Name] {
			return invalid("detected cycle")
		}
		if next, ok := d.find(c.Mirror.Name); ok {
			visit = append(visit, next)
		}
	}
	return nil
}

// wants says that one of the subjects overlaps with filter.
func wants(subjects []string, filter string) bool {
	for _, s := range subjects {
		if subject.Overlap(s, filter) {
			return true
		}
	}
	return false
}

func (d *draft) transforming() error {
	if d.Transform == nil {
		return nil
	}
	return checkTransforms([]TransformConfig{*d.Transform}, TransformSource, TransformDestination)
}

// republishing completes the republish directive and refuses one whose messages would come back.
func (d *draft) republishing() error {
	r := d.Republish
	if r == nil {
		return nil
	}
	if r.Source == "" {
		if err := d.fix("republish source can not be empty"); err != nil {
			return err
		}
		r.Source = ">"
	}
	// What is republished under its own subject is stored under another one if the transform takes all there is.
	if t := d.Transform; r.Source == ">" && r.Destination == ">" && t != nil && len(d.Subjects) == 1 && t.Source == d.Subjects[0] {
		if err := d.fix("implicit republish based on subject transform"); err != nil {
			return err
		}
		r.Source, r.Destination = t.Destination, t.Destination
	}
	if wants(d.Subjects, r.Destination) {
		return invalid("stream configuration for republish destination forms a cycle")
	}
	if _, err := subject.New(r.Source, r.Destination); err != nil || r.Destination == "" {
		return invalid("stream configuration for republish with transform from '%s' to '%s' not valid", r.Source, r.Destination)
	}
	return nil
}
