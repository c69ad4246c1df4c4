package stream

// Purge says which messages go.
type Purge struct {
	Filter string // only subjects that it matches; "" for all
	Below  uint64 // only sequences below; 0 for all
	Keep   uint64 // but not the newest so many; not together with Below
}

// Purge removes messages, durably, and says how many they were. Errors: *Error.
func (s *Stream) Purge(p Purge) (uint64, error) { panic("stream: Purge") }

// Delete removes one message, durably; with erase set its bytes are overwritten or taken off the disk as soon as
// compaction comes by. Errors: *Error 10043 when there is none, 10109 and the like when the configuration forbids it.
func (s *Stream) Delete(sequence uint64, erase bool) error { panic("stream: Delete") }

// Acknowledged removes messages that no consumer needs any more, in a stream with interest or work-queue retention. They are
// gone for readers at once, and on disk soon after.
func (s *Stream) Acknowledged(sequences ...uint64) { panic("stream: Acknowledged") }

// SetInterest says which subjects consumers want; a stream with interest retention stores nothing else. It does not wait,
// and takes no lock of a stream.
func (s *Stream) SetInterest(wanted func(subject string) bool) { panic("stream: SetInterest") }
