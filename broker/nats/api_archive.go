package nats

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/s2"

	"brokerd/consumer/durable"
	"brokerd/topic/message"
	"brokerd/topic/stream"
)

// A snapshot is a tar archive, compressed with S2:
//
//	stream.json     contents, in JSON
//	messages/N      for N = 1, 2 ...: messages, in the order of their sequences, each
//
//	    uvarint  sequence
//	    varint   time, in milliseconds since 1970
//	    bytes    subject
//	    bytes    header block
//	    bytes    data
//
// where bytes is a uvarint length, plus 1 (0 stands for none), and so many bytes. A sequence that is missing holds nothing.
const (
	snapshotFormat = 1
	contentsEntry  = "stream.json"
	messagesEntry  = "messages/"

	blockBytes    = 1 << 20   // of an entry with messages, before its last message
	maxBlockBytes = 128 << 20 // of an entry that is read
	maxContents   = 16 << 20
)

// contents is what a snapshot says about the stream.
type contents struct {
	Format    int            `json:"format"`
	Config    stream.Config  `json:"config"`
	State     streamState    `json:"state"`
	Consumers []durable.Info `json:"consumers,omitempty"`
}

var errNoSnapshot = errors.New("this is no snapshot")

// writeSnapshot writes the messages of s up to a sequence.
func writeSnapshot(w io.Writer, s *stream.Stream, last uint64, c contents) error {
	packed := s2.NewWriter(w, s2.WriterConcurrency(1), s2.WriterBlockSize(256<<10))
	archive := tar.NewWriter(packed)
	about, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if err := writeEntry(archive, contentsEntry, about); err != nil {
		return err
	}
	if err := writeMessages(archive, s, last); err != nil {
		return err
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return packed.Close()
}

func writeMessages(archive *tar.Writer, s *stream.Stream, last uint64) error {
	cursor := s.Cursor()
	defer cursor.Close()
	var block []byte
	number := 0
	flush := func() error {
		number++
		err := writeEntry(archive, fmt.Sprint(messagesEntry, number), block)
		block = block[:0]
		return err
	}
	for sequence, ok := s.Next(1, nil); ok && sequence <= last; sequence, ok = s.Next(sequence+1, nil) {
		m, err := cursor.Get(sequence)
		if errors.Is(err, stream.ErrNoMessage) || errors.Is(err, stream.NoSequence(sequence)) {
			continue // deleted since
		}
		if err != nil {
			return fmt.Errorf("read message %d: %w", sequence, err)
		}
		if block = appendMessage(block, m); len(block) >= blockBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(block) == 0 {
		return nil
	}
	return flush()
}

func writeEntry(archive *tar.Writer, name string, data []byte) error {
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o600}); err != nil {
		return err
	}
	_, err := archive.Write(data)
	return err
}

func appendMessage(b []byte, m message.Message) []byte {
	b = binary.AppendUvarint(b, m.Sequence)
	b = binary.AppendVarint(b, m.Time.UnixMilli())
	b = appendBytes([]byte(m.Subject), b)
	b = appendBytes(m.Header, b)
	return appendBytes(m.Data, b)
}

func appendBytes(field, b []byte) []byte {
	if field == nil {
		return append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(field))+1)
	return append(b, field...)
}

// snapshotReader reads a snapshot from somebody who may have made anything of it.
type snapshotReader struct{ archive *tar.Reader }

func readSnapshot(r io.Reader) (*snapshotReader, contents, error) {
	s := &snapshotReader{tar.NewReader(s2.NewReader(r, s2.ReaderMaxBlockSize(4<<20)))}
	name, about, err := s.entry(maxContents)
	if err != nil {
		return nil, contents{}, fmt.Errorf("%w: %w", errNoSnapshot, err)
	}
	var c contents
	if err := json.Unmarshal(about, &c); name != contentsEntry || err != nil || c.Format != snapshotFormat {
		return nil, contents{}, fmt.Errorf("%w of this broker, whose first entry is %s with format %d", errNoSnapshot, contentsEntry, snapshotFormat)
	}
	return s, c, nil
}

// entry reads the next entry, of limit bytes at most. At the end it returns io.EOF.
func (s *snapshotReader) entry(limit int64) (string, []byte, error) {
	h, err := s.archive.Next()
	if err != nil {
		return "", nil, err
	}
	if h.Typeflag != tar.TypeReg || h.Size > limit {
		return "", nil, fmt.Errorf("entry %q of %d bytes is not expected", h.Name, h.Size)
	}
	var b bytes.Buffer // grows with what is there, not with what is promised
	if _, err := io.Copy(&b, s.archive); err != nil {
		return "", nil, err
	}
	return h.Name, b.Bytes(), nil
}

// messages reads the next messages; io.EOF at the end.
func (s *snapshotReader) messages() ([]message.Message, error) {
	name, data, err := s.entry(maxBlockBytes)
	if err != nil {
		return nil, err
	}
	var all []message.Message
	for p := (parser{rest: data}); len(p.rest) > 0; {
		m, ok := p.message()
		if !ok {
			return nil, fmt.Errorf("%w: entry %s is damaged", errNoSnapshot, name)
		}
		all = append(all, m)
	}
	return all, nil
}

// parser takes messages off the front of rest.
type parser struct {
	rest []byte
	bad  bool
}

func (p *parser) message() (message.Message, bool) {
	var m message.Message
	m.Sequence = p.uvarint()
	ms, n := binary.Varint(p.rest)
	if p.bad = p.bad || n <= 0; p.bad {
		return m, false
	}
	p.rest = p.rest[n:]
	m.Time = time.UnixMilli(ms)
	m.Subject = string(p.bytes())
	m.Header = p.bytes()
	m.Data = p.bytes()
	return m, !p.bad
}

func (p *parser) uvarint() uint64 {
	v, n := binary.Uvarint(p.rest)
	if p.bad = p.bad || n <= 0; p.bad {
		return 0
	}
	p.rest = p.rest[n:]
	return v
}

func (p *parser) bytes() []byte {
	size := p.uvarint()
	if p.bad = p.bad || size > uint64(len(p.rest))+1; p.bad || size == 0 {
		return nil
	}
	b := p.rest[: size-1 : size-1]
	p.rest = p.rest[size-1:]
	return b
}
