package stream

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"brokerd/topic/subject"
)

// Limits of names and texts in bytes, and of times, as nats-server has them.
const (
	maxNameLen        = 255
	maxDescriptionLen = 4 << 10
	maxMetadataLen    = 128 << 10
	maxReplicas       = 5

	shortestAge      = 100 * time.Millisecond
	defaultDuplicate = 2 * time.Minute
)

// draft is a configuration on its way to be a stream's: each rule completes it, or says what is wrong with it. The rules
// are in nats-server's order, because clients are told of the first one that is broken, and in its words.
type draft struct {
	Config
	pedantic bool // what a rule would put right is refused as well
	find     func(name string) (Config, bool)
}

// check completes a configuration. c is not changed. Errors: *Error.
func (b book) check(c Config, pedantic bool) (Config, error) {
	d := &draft{Config: c.clone(), pedantic: pedantic, find: b.find}
	for _, rule := range []func(*draft) error{
		(*draft).texts, (*draft).words, (*draft).limits, (*draft).times, (*draft).counters, (*draft).discarding,
		(*draft).markers, (*draft).schedules, (*draft).persisting, (*draft).mirroring, (*draft).sourcing,
		(*draft).cycles, (*draft).subjects, (*draft).transforming, (*draft).republishing, (*draft).placing,
	} {
		if err := rule(d); err != nil {
			return Config{}, err
		}
	}
	return d.Config, nil
}

// invalid is InvalidConfig with a text.
func invalid(format string, args ...any) error { return InvalidConfig(fmt.Errorf(format, args...)) }

// fix is what stands in the way of putting something right.
func (d *draft) fix(format string, args ...any) error {
	if d.pedantic {
		return Pedantic(fmt.Errorf(format, args...))
	}
	return nil
}

// validName says that a name can be a stream's.
func validName(name string) bool { return name != "" && !strings.ContainsAny(name, " \t\r\n\f.*>\\/") }

func (d *draft) texts() error {
	if !validName(d.Name) {
		return invalid(`stream name is required and can not contain '.', '*', '>', '\', '/'`)
	}
	if len(d.Name) > maxNameLen {
		return invalid("stream name is too long, maximum allowed is %d", maxNameLen)
	}
	if len(d.Description) > maxDescriptionLen {
		return invalid("stream description is too long, maximum allowed is %d", maxDescriptionLen)
	}
	size := 0
	for key, value := range d.Metadata {
		size += len(key) + len(value)
	}
	if size > maxMetadataLen {
		return invalid("stream metadata exceeds maximum size of %d bytes", maxMetadataLen)
	}
	d.Metadata = withoutVersions(d.Metadata)
	return nil
}

func (d *draft) words() error {
	d.Retention = cmp.Or(d.Retention, Limits)
	d.Discard = cmp.Or(d.Discard, DiscardOld)
	d.Compression = cmp.Or(d.Compression, Uncompressed)
	d.Storage = cmp.Or(d.Storage, File)
	switch {
	case d.Retention != Limits && d.Retention != Interest && d.Retention != WorkQueue:
		return invalid("invalid retention")
	case d.Discard != DiscardOld && d.Discard != DiscardNew:
		return invalid("invalid discard policy")
	case d.Compression != Uncompressed && d.Compression != S2:
		return invalid("invalid compression")
	case d.Storage != File && d.Storage != Memory:
		return invalid("invalid storage type")
	case d.PersistMode != PersistDefault && d.PersistMode != PersistAsync:
		return invalid("invalid persist mode")
	}
	d.Replicas = cmp.Or(d.Replicas, 1)
	if d.Replicas > maxReplicas {
		return invalid("maximum replicas is %d", maxReplicas)
	}
	if d.Replicas < 0 {
		return ErrReplicasNegative
	}
	return nil
}

// limits makes every limit that is none -1.
func (d *draft) limits() error {
	return cmp.Or(
		unlimited(d, &d.MaxMsgs, "max_msgs"), unlimited(d, &d.MaxMsgsPer, "max_msgs_per_subject"),
		unlimited(d, &d.MaxBytes, "max_bytes"), unlimited(d, &d.MaxMsgSize, "max_msg_size"),
		unlimited(d, &d.MaxConsumers, "max_consumers"))
}

func unlimited[T int | int32 | int64](d *draft, limit *T, name string) error {
	if *limit < -1 {
		if err := d.fix("%s must be set to -1", name); err != nil {
			return err
		}
	}
	if *limit <= 0 {
		*limit = -1
	}
	return nil
}

func (d *draft) times() error {
	if d.MaxAge < 0 {
		return invalid("max age can not be negative")
	}
	if d.MaxAge != 0 && d.MaxAge < shortestAge {
		return invalid("max age needs to be >= 100ms")
	}
	if d.Duplicates == 0 && d.Mirror == nil && len(d.Sources) == 0 {
		d.Duplicates = defaultDuplicate
		if d.MaxAge != 0 && d.MaxAge < d.Duplicates {
			if err := d.fix("duplicate window cannot be bigger than max age"); err != nil {
				return err
			}
			d.Duplicates = d.MaxAge
		}
	}
	switch {
	case d.Duplicates < 0:
		return invalid("duplicates window can not be negative")
	case d.MaxAge != 0 && d.Duplicates > d.MaxAge:
		return invalid("duplicates window can not be larger then max age")
	case d.Duplicates > 0 && d.Duplicates < shortestAge:
		return invalid("duplicates window needs to be >= 100ms")
	case d.FirstSeq > maxFirst:
		return invalid("first sequence can not be higher than %d", uint64(maxFirst))
	case d.DenyPurge && d.AllowRollup:
		return invalid("roll-ups require the purge permission")
	}
	return nil
}

func (d *draft) counters() error {
	switch {
	case !d.AllowCounter:
		return nil
	case d.Discard == DiscardNew:
		return invalid("counter stream cannot use discard new")
	case d.AllowTTL:
		return invalid("counter stream cannot use message TTLs")
	case d.Schedules:
		return invalid("counter stream cannot use message schedules")
	case d.Retention != Limits:
		return invalid("counter stream can only use limits retention")
	}
	return nil
}

func (d *draft) discarding() error {
	switch {
	case !d.DiscardPer:
		return nil
	case d.Discard != DiscardNew:
		return invalid("discard new per subject requires discard new policy to be set")
	case d.MaxMsgsPer <= 0:
		return invalid("discard new per subject requires max msgs per subject > 0")
	}
	return nil
}

// markers are messages that say why a subject has no messages any more (ADR-43); they expire, and replace what was there.
func (d *draft) markers() error {
	switch {
	case d.MarkerTTL == 0:
		return nil
	case d.MarkerTTL < 0:
		return invalid("subject delete marker TTL must not be negative")
	case d.MarkerTTL < time.Second:
		return invalid("subject delete marker TTL must be at least 1 second")
	case !d.AllowTTL && d.pedantic:
		return invalid("subject delete marker cannot be set if message TTLs are disabled")
	case !d.AllowRollup && d.pedantic:
		return invalid("subject delete marker cannot be set if roll-ups are disabled")
	}
	d.AllowTTL = true
	if !d.AllowRollup {
		d.AllowRollup, d.DenyPurge = true, false
	}
	return nil
}

func (d *draft) schedules() error {
	switch {
	case d.Schedules && d.Discard == DiscardNew:
		return invalid("message scheduling cannot use discard new")
	case d.Schedules && !d.AllowRollup && d.pedantic:
		return invalid("message scheduling cannot be set if roll-ups are disabled")
	}
	if d.Schedules && !d.AllowRollup {
		d.AllowRollup, d.DenyPurge = true, false
	}
	return nil
}

func (d *draft) persisting() error {
	switch {
	case d.PersistMode != PersistAsync:
		return nil
	case d.Storage != File:
		return invalid("async persist mode is only supported on file storage")
	case d.Replicas > 1:
		return invalid("async persist mode is not supported on replicated streams")
	case d.AllowAtomic:
		return invalid("async persist mode is not supported with atomic batch publish")
	}
	return nil
}

// reserved are the subjects that the broker itself listens on, with those that streams may have nevertheless.
func reserved() [][2]string {
	return [][2]string{
		{"$JS.>", "$JS.EVENT.>"}, {"$JSC.>", "$JS.EVENT.>"}, {"$NRG.>", "$JS.EVENT.>"}, {"$SYS.>", "$SYS.ACCOUNT.>"},
	}
}

func (d *draft) subjects() error {
	if len(d.Subjects) == 0 {
		d.Subjects = nil
		if d.Mirror == nil && len(d.Sources) == 0 {
			d.Subjects = []string{d.Name}
		}
		return nil
	}
	for i, s := range d.Subjects {
		if !subject.Valid(s) {
			return invalid("invalid subject")
		}
		if err := d.mayCapture(s); err != nil {
			return err
		}
		for _, other := range d.Subjects[i+1:] {
			if subject.Overlap(s, other) {
				return invalid("subject %q overlaps with %q", s, other)
			}
		}
	}
	return nil
}

// mayCapture refuses subjects on which acknowledgements would do harm.
func (d *draft) mayCapture(s string) error {
	if s == ">" {
		if !d.NoAck {
			return invalid("capturing all subjects requires no-ack to be true")
		}
		if d.Replicas != 1 {
			return invalid("capturing all subjects requires replicas of 1")
		}
	}
	if d.NoAck {
		return nil
	}
	for _, r := range reserved() {
		if !subject.Overlap(s, r[0]) || subject.Subset(s, r[1]) {
			continue
		}
		if r[0] == "$SYS.>" {
			return invalid("subjects that overlap with system api require no-ack to be true")
		}
		return invalid("subjects that overlap with jetstream api require no-ack to be true")
	}
	return nil
}

func (d *draft) placing() error {
	if p := d.Placement; p != nil && p.Cluster == "" && len(p.Tags) == 0 && p.Preferred == "" {
		d.Placement = nil
	}
	if d.Placement != nil && d.Placement.Preferred != "" {
		return invalid("preferred server not permitted in placement")
	}
	return nil
}
