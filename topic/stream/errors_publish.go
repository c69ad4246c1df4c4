package stream

import "fmt"

// Errors of publishing, each before anything is stored.
var (
	// ErrMessageTooLarge: the message is larger than the stream's max_msg_size.
	ErrMessageTooLarge = &Error{400, 10054, "message size exceeds maximum allowed"}
	// ErrExpectedStream: Nats-Expected-Stream names another stream.
	ErrExpectedStream = &Error{400, 10060, "expected stream does not match"}
	// ErrHeaderTooLarge: the header block is larger than 64 KiB.
	ErrHeaderTooLarge = &Error{400, 10097, "header size exceeds maximum allowed of 64k"}
	// ErrSealed: the stream is sealed: nothing goes in or out.
	ErrSealed = &Error{400, 10109, "invalid operation on sealed stream"}
	// ErrDuplicateInProcess: a message with this id is on its way into the stream.
	ErrDuplicateInProcess = &Error{409, 10158, "duplicate message id is in process"}
	// ErrExpectedNotReady: a message of this subject is on its way into the stream: try again.
	ErrExpectedNotReady = &Error{503, 10163, "expected last sequence per subject temporarily unavailable"}
	// ErrWrongLastSequence: as WrongLastSequence, where the sequence is not told.
	ErrWrongLastSequence = &Error{400, 10164, "wrong last sequence"}
	// ErrInvalidTTL: Nats-TTL is no time to live.
	ErrInvalidTTL = &Error{400, 10165, "invalid per-message TTL"}
	// ErrTTLDisabled: the stream has no allow_msg_ttl.
	ErrTTLDisabled = &Error{400, 10166, "per-message TTL is disabled"}
	// ErrMinLastSequence: the stream has not come that far.
	ErrMinLastSequence = &Error{412, 10180, "min last sequence"}
	// ErrExpectedSequenceMissing: Nats-Expected-Last-Subject-Sequence-Subject came without the sequence.
	ErrExpectedSequenceMissing = &Error{400, 10193, "missing sequence for expected last sequence per subject"}
	// ErrSourceHeader: Nats-Stream-Source is for the broker to set.
	ErrSourceHeader = &Error{400, 10227, "message stream source header is not allowed"}
)

// Errors of counters (ADR-49).
var (
	// ErrCounterDisabled: the stream has no allow_msg_counter.
	ErrCounterDisabled = &Error{400, 10168, "message counters is disabled"}
	// ErrCounterIncrementMissing: a stream of counters stores nothing else.
	ErrCounterIncrementMissing = &Error{400, 10169, "message counter increment is missing"}
	// ErrCounterPayload: the value is in the header, there is no payload.
	ErrCounterPayload = &Error{400, 10170, "message counter has payload"}
	// ErrCounterIncrement: Nats-Incr is no whole number.
	ErrCounterIncrement = &Error{400, 10171, "message counter increment is invalid"}
	// ErrCounterBroken: what is stored under the subject is no counter.
	ErrCounterBroken = &Error{400, 10172, "message counter is broken"}
)

// Errors of atomic batches (ADR-50).
var (
	// ErrAtomicDisabled: the stream has no allow_atomic.
	ErrAtomicDisabled = &Error{400, 10174, "atomic publish is disabled"}
	// ErrAtomicSequenceMissing: Nats-Batch-Sequence is missing or no number.
	ErrAtomicSequenceMissing = &Error{400, 10175, "atomic publish sequence is missing"}
	// ErrAtomicIncomplete: messages of the batch are missing; all of it is dropped.
	ErrAtomicIncomplete = &Error{400, 10176, "atomic publish batch is incomplete"}
	// ErrAtomicID: Nats-Batch-Id is empty or longer than 64 bytes.
	ErrAtomicID = &Error{400, 10179, "atomic publish batch ID is invalid"}
	// ErrAtomicCommit: Nats-Batch-Commit is neither 1 nor eob.
	ErrAtomicCommit = &Error{400, 10200, "atomic publish batch commit is invalid"}
	// ErrAtomicDuplicate: a message of the batch has a Nats-Msg-Id that was seen before.
	ErrAtomicDuplicate = &Error{400, 10201, "atomic publish batch contains duplicate message id"}
	// ErrAtomicTooMany: as many batches are open as may be.
	ErrAtomicTooMany = &Error{429, 10210, "atomic publish too many inflight"}
)

// Errors of messages that are to be published again (ADR-51).
var (
	// ErrSchedulesDisabled: allow_msg_schedules is not set.
	ErrSchedulesDisabled = &Error{400, 10188, "message schedules is disabled"}
	// ErrSchedulePattern: Nats-Schedule is neither @at, @every nor six fields.
	ErrSchedulePattern = &Error{400, 10189, "message schedules pattern is invalid"}
	// ErrScheduleTarget: Nats-Schedule-Target is no other subject of the stream.
	ErrScheduleTarget = &Error{400, 10190, "message schedules target is invalid"}
	// ErrScheduleTTL: Nats-Schedule-TTL is no time to live.
	ErrScheduleTTL = &Error{400, 10191, "message schedules invalid per-message TTL"}
	// ErrScheduleRollup: Nats-Schedule-Rollup, or the message's own Nats-Rollup, is not "sub".
	ErrScheduleRollup = &Error{400, 10192, "message schedules invalid rollup"}
	// ErrScheduleSource: Nats-Schedule-Source is no third subject of the stream.
	ErrScheduleSource = &Error{400, 10203, "message schedules source is invalid"}
	// ErrScheduler: Nats-Scheduler and Nats-Schedule-Next name no scheduled message to end.
	ErrScheduler = &Error{400, 10212, "message schedules invalid scheduler"}
	// ErrScheduleZone: Nats-Schedule-Time-Zone is not known.
	ErrScheduleZone = &Error{400, 10223, "message schedules time zone is invalid"}
)

// Errors of what this broker leaves out.
var (
	// ErrBatchDisabled: there is no fast batch publishing.
	ErrBatchDisabled = &Error{400, 10205, "batch publish is disabled"}
	// ErrBatchPattern: the reply subject of a fast batch's message does not say what it is.
	ErrBatchPattern = &Error{400, 10206, "batch publish pattern is invalid"}
	// ErrBatchID: the id of a fast batch is longer than 64 bytes.
	ErrBatchID = &Error{400, 10207, "batch publish ID is invalid"}
	// ErrBatchUnknown: the fast batch was not begun, or it has ended.
	ErrBatchUnknown = &Error{400, 10208, "batch publish ID unknown"}
	// ErrBatchTooMany: as many fast batches are open as may be.
	ErrBatchTooMany = &Error{429, 10211, "batch publish too many inflight"}
)

// WrongLastID refuses Nats-Expected-Last-Msg-Id, and tells the id that is the last.
func WrongLastID(id string) *Error {
	return &Error{400, 10070, fmt.Sprintf("wrong last msg ID: %s", id)}
}

// WrongLastSequence refuses an expected sequence, and tells the one that is the last. Clients read the number from the text.
func WrongLastSequence(sequence uint64) *Error {
	return &Error{400, 10071, fmt.Sprintf("wrong last sequence: %d", sequence)}
}

// StoreFailed says why a message was not stored: a limit of the stream, or the disk. Clients compare the text of the limits.
func StoreFailed(err error) *Error {
	return &Error{503, 10077, err.Error()}
}

// RollupFailed says why a rollup was refused.
func RollupFailed(err error) *Error {
	return &Error{500, 10111, err.Error()}
}

// AtomicHeader refuses a header that a batch may not have.
func AtomicHeader(header string) *Error {
	return &Error{400, 10177, fmt.Sprintf("atomic publish unsupported header used: %s", header)}
}

// AtomicTooLarge refuses a batch of more than size messages.
func AtomicTooLarge(size int) *Error {
	return &Error{400, 10199, fmt.Sprintf("atomic publish batch is too large: %d", size)}
}
