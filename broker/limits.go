package broker

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fewFiles is the limit of open files below which a broker with many clients or topics will hit it.
const fewFiles = 4096

// openLimits is how the open files that the system allows are shared out. What is left over is for the files that are
// being written and for the rest of the process.
type openLimits struct {
	files       int // what the system allows
	segments    int // segment files kept open
	connections int
}

// raiseOpenLimit raises the soft limit of open files to the hard one and returns it.
func raiseOpenLimit() (int, error) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 0, fmt.Errorf("read the limit of open files: %w", err)
	}
	if r.Cur < r.Max {
		r.Cur = r.Max
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
			return 0, fmt.Errorf("raise the limit of open files to %d: %w", r.Max, err)
		}
	}
	return int(min(r.Cur, 1<<20)), nil
}

// shareOpenLimit applies the settings, or their derived values, to a process that may open this many files.
func shareOpenLimit(files int, c LimitsConfig) openLimits {
	l := openLimits{files: files, segments: c.SegmentFiles, connections: c.Connections}
	if l.segments == 0 {
		l.segments = max(files/4, 1)
	}
	if l.connections == 0 {
		l.connections = max(files/2, 1)
	}
	return l
}
