package stream

import "fmt"

// Errors of the configuration of a mirror.
var (
	// ErrMirrorMaxMsgSize: the mirrored stream may hold larger messages than the mirror.
	ErrMirrorMaxMsgSize = &Error{400, 10030, "stream mirror must have max message size >= source"}
	// ErrMirrorWithSources: a mirror has no other sources.
	ErrMirrorWithSources = &Error{400, 10031, "stream mirrors can not also contain other sources"}
	// ErrMirrorStartSeqAndTime: a copy starts at a sequence or at a time, not both.
	ErrMirrorStartSeqAndTime = &Error{400, 10032, "stream mirrors can not have both start seq and start time configured"}
	// ErrMirrorWithFilters: this mirror cannot leave subjects out.
	ErrMirrorWithFilters = &Error{400, 10033, "stream mirrors can not contain filtered subjects"}
	// ErrMirrorWithSubjects: a mirror takes messages from its origin alone.
	ErrMirrorWithSubjects = &Error{400, 10034, "stream mirrors can not contain subjects"}
	// ErrMirrorNotUpdatable: what a stream mirrors does not change; it can only become a stream of its own.
	ErrMirrorNotUpdatable = &Error{400, 10055, "stream mirror configuration can not be updated"}
	// ErrMirrorName: the name of the mirrored stream is none.
	ErrMirrorName = &Error{400, 10142, "mirrored stream name is invalid"}
	// ErrMirrorFirstSeq: a mirror has its origin's sequences.
	ErrMirrorFirstSeq = &Error{400, 10143, "stream mirrors can not have first sequence configured"}
	// ErrMirrorFilters: a filter and transforms were both given.
	ErrMirrorFilters = &Error{400, 10150, "mirror with multiple subject transforms cannot also have a single subject filter"}
	// ErrMirrorFiltersOverlap: two transforms match the same subject.
	ErrMirrorFiltersOverlap = &Error{400, 10152, "mirror subject filters can not overlap"}
	// ErrMirrorCounters: a mirror counts nothing itself.
	ErrMirrorCounters = &Error{400, 10173, "stream mirrors can not also calculate counters"}
	// ErrMirrorSchedules: a mirror schedules nothing itself.
	ErrMirrorSchedules = &Error{400, 10186, "stream mirrors can not also schedule messages"}
	// ErrMirrorAtomic: a mirror takes no batches.
	ErrMirrorAtomic = &Error{400, 10198, "stream mirrors can not also use atomic publishing"}
	// ErrMirrorBatched: a mirror takes no batches.
	ErrMirrorBatched = &Error{400, 10209, "stream mirrors can not also use batch publishing"}
	// ErrMirrorConsumer: the consumer that the mirror is to use cannot be used.
	ErrMirrorConsumer = &Error{400, 10213, "stream mirror consumer config is invalid"}
)

// Errors of the configuration of sources.
var (
	// ErrSourceMaxMsgSize: the source may hold larger messages than this stream.
	ErrSourceMaxMsgSize = &Error{400, 10046, "stream source must have max message size >= target"}
	// ErrSourceDuplicate: a source is listed twice.
	ErrSourceDuplicate = &Error{400, 10140, "duplicate source configuration detected"}
	// ErrSourceName: the name of a source is none.
	ErrSourceName = &Error{400, 10141, "sourced stream name is invalid"}
	// ErrSourceFilters: a filter and transforms were both given.
	ErrSourceFilters = &Error{400, 10144, "source with multiple subject transforms cannot also have a single subject filter"}
	// ErrSourceFiltersOverlap: two transforms of a source match the same subject.
	ErrSourceFiltersOverlap = &Error{400, 10147, "source filters can not overlap"}
	// ErrSourceSchedules: a stream with sources schedules nothing.
	ErrSourceSchedules = &Error{400, 10187, "stream source can not also schedule messages"}
	// ErrSourceConsumer: the consumer that a source is to use cannot be used.
	ErrSourceConsumer = &Error{400, 10215, "stream source consumer config is invalid"}
	// ErrSourceConsumerTwice: two sources are to use one consumer.
	ErrSourceConsumerTwice = &Error{400, 10216, "duplicate stream source consumer detected"}
)

// MirrorFilter says what is wrong with the source of a mirror's transform.
func MirrorFilter(err error) *Error {
	return &Error{400, 10151, fmt.Sprintf("mirror transform source: %s", err)}
}

// MirrorTransform says what is wrong with a mirror's transform.
func MirrorTransform(err error) *Error {
	return &Error{400, 10154, fmt.Sprintf("mirror transform: %s", err)}
}

// SourceFilter says what is wrong with the source of a source's transform.
func SourceFilter(err error) *Error {
	return &Error{400, 10145, fmt.Sprintf("source transform source: %s", err)}
}

// SourceTransform says what is wrong with a source's transform.
func SourceTransform(err error) *Error {
	return &Error{400, 10146, fmt.Sprintf("source transform: %s", err)}
}

// TransformSource says what is wrong with the source of a stream's transform.
func TransformSource(err error) *Error {
	return &Error{400, 10155, fmt.Sprintf("stream transform source: %s", err)}
}

// TransformDestination says what is wrong with a stream's transform.
func TransformDestination(err error) *Error {
	return &Error{400, 10156, fmt.Sprintf("stream transform: %s", err)}
}

// MirrorSetupFailed says why a mirror does not get its origin's messages.
func MirrorSetupFailed(err error) *Error {
	return &Error{500, 10029, err.Error()}
}

// SourceSetupFailed says why a source's messages do not come.
func SourceSetupFailed(err error) *Error {
	return &Error{500, 10045, err.Error()}
}
