package log

import "brokerd/log/vfs"

// Found is one thing a Scan meets: a good batch (Damage nil) or a damaged range.
type Found struct {
	Segment  string
	Position int64
	Batch    Batch // valid during the call only
	Damage   *CorruptError
}

// Scan reads a log's directory, or one segment file in it, without changing anything and without its index: every batch
// in order, its CRC checked, and every damaged range. It is what `brokerd log dump` and `log verify` use.
func Scan(fs vfs.FS, path string, f func(Found) error) error { return errTODO }
