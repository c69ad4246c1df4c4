package log

import (
	"errors"
	"fmt"
	"syscall"
)

var (
	// ErrClosed is returned by every call on a log after Close or Remove.
	ErrClosed = errors.New("log: closed")
	// ErrFailed wraps the final error of a log whose write or sync failed. It is sticky until the log is opened again.
	ErrFailed = errors.New("log: failed for good")
	// ErrNoSpace is returned by Append when the disk is full: nothing was appended, and it may be tried again.
	ErrNoSpace = errors.New("log: no space left on the disk")
	// ErrNewerFormat is returned by Open for a log that a later version of this program has written. Nothing was changed.
	ErrNewerFormat = errors.New("log: written in a newer format")
	// ErrTooManyFiles is returned by Append and Read when the process or the system has no descriptor left for a segment:
	// nothing was done, and it may be tried again.
	ErrTooManyFiles = errors.New("log: too many open files")
	// ErrTooLarge is returned by Append for a batch larger than a segment.
	ErrTooLarge = errors.New("log: batch is larger than a segment")
	// ErrBadBatch wraps every structural fault found in a batch: wrong magic, counts, lengths or offsets.
	ErrBadBatch = errors.New("log: invalid batch")
	// ErrBadCRC is returned for a batch whose CRC-32C does not match its bytes.
	ErrBadCRC = errors.New("log: batch checksum mismatch")
	// ErrBadCodec is returned for a batch whose attributes name an unknown compression codec.
	ErrBadCodec = errors.New("log: unknown compression codec")
	// ErrInflated is returned when a compressed batch unpacks to more bytes than the caller allows.
	ErrInflated = errors.New("log: batch unpacks to more than the limit")
)

// RangeError is returned by Read and Trim for an offset outside the log.
type RangeError struct {
	Offset, Start, End int64
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("log: offset %d is outside [%d, %d]", e.Offset, e.Start, e.End)
}

// CorruptError reports stored bytes that are not a valid batch. The offsets First to Last are withheld; the files are
// left as they are.
type CorruptError struct {
	Segment     string // file name, within the log's directory
	Position    int64  // first damaged byte in it
	Length      int64  // bytes up to the next good batch, or to the end of the data
	First, Last int64  // offsets that cannot be served, both included
	Reason      string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("log: segment %s is damaged at byte %d (%d bytes, offsets %d to %d): %s",
		e.Segment, e.Position, e.Length, e.First, e.Last, e.Reason)
}

// outOfFiles says that the process or the system has as many open files as it may have: a condition that passes.
func outOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
