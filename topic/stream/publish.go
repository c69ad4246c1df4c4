package stream

// Publication is a message on its way into a stream. Its header and data are copied before Publish returns.
type Publication struct {
	Subject string
	Header  []byte // the header block; nil for none
	Data    []byte
	// Done, if set, is called once: when the message is durable and can be read, or with the reason why it never will be.
	// Calls for one stream come in the order of the sequences. It does not wait.
	Done func(Receipt, error)
}

// Receipt is what became of a publication.
type Receipt struct {
	Sequence  uint64
	Duplicate bool   // it was stored before, under Sequence
	Batch     string // atomic batches: the id, and the number of messages, of one that is committed
	Count     int
	Pending   bool   // atomic batches: accepted, nothing is stored yet; acknowledged by an empty message
	Value     string // counters: the new value
}

// Publish checks a message against the configuration, the headers that make it conditional and the limits, in
// nats-server's order, and gives it a sequence; the rest is told to Done. An error, *Error in every case, comes through
// Done as well, before Publish returns. It takes no longer than a write to the file; when more is waiting to be written than
// the stream may hold it fails with code 10167.
func (s *Stream) Publish(p Publication) { panic("stream: Publish") }
