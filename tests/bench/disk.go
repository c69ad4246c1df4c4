package main

import (
	"crypto/rand"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// writeAndSync appends chunks to a fresh file, each followed by fdatasync, and returns the rate. It is the most that a
// log which syncs each chunk could do on this disk.
func writeAndSync(path string, chunk int, limit time.Duration) (mbps float64, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(path)) }()
	b := make([]byte, chunk)
	rand.Read(b)
	var written int64
	began := time.Now()
	for time.Since(began) < limit {
		n, err := f.Write(b)
		if err != nil {
			return 0, err
		}
		if err := unix.Fdatasync(int(f.Fd())); err != nil {
			return 0, err
		}
		written += int64(n)
	}
	return rate(written, time.Since(began)), nil
}
