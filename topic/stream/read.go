package stream

import "brokerd/topic/message"

// Get reads one message, which the caller may keep. Errors: *Error 10037 when there is none, 10043 outside the stream, and
// 10047 and the like when the disk cannot be read.
func (s *Stream) Get(sequence uint64) (message.Message, error) { panic("stream: Get") }

// Last reads the newest message of a subject, which may be a filter. Errors as Get.
func (s *Stream) Last(subject string) (message.Message, error) { panic("stream: Last") }

// Cursor reads messages in rising order, each batch of the log once. It is for one goroutine. The zero Cursor of a Stream
// is ready; Close lets go of its memory.
type Cursor struct{}

// Cursor makes a cursor.
func (s *Stream) Cursor() *Cursor { panic("stream: Cursor") }

// Get is Stream.Get; the message is valid until the next call.
func (c *Cursor) Get(sequence uint64) (message.Message, error) { panic("stream: Cursor.Get") }
