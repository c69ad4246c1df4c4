package log

import "brokerd/log/vfs"

// Range is a run of whole, durable, checked batches in one segment file. It keeps the file open until Close, even when
// retention deletes the segment meanwhile. The zero Range is empty.
type Range struct {
	Base     int64 // base offset of the first batch; <= the offset asked for, unless that was in a gap
	Next     int64 // the offset that follows the last batch
	File     vfs.File
	Position int64 // first byte
	Length   int64 // 0 when there is nothing to read yet
	release  func()
}

// ReadAll copies the bytes into buf, grown as needed.
func (r Range) ReadAll(buf []byte) ([]byte, error) { return nil, errTODO }

// Close lets go of the file. It may be called once, also on the zero Range.
func (r Range) Close() {
	if r.release != nil {
		r.release()
	}
}
