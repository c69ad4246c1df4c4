package log

// vacateFrom is the size from which on a new segment is begun to delete one in which nothing is left.
const vacateFrom = 1 << 20

// chores is what the committer does for a log about once an interval, because nobody waits for it: it writes down what was
// erased, and where the log starts. Log.mu guards it.
type chores struct {
	listed bool  // the committer comes by at the next interval
	due    bool  // the next flush does them
	start  int64 // the log start that is on the disk
}

// laterLocked asks the committer to come by.
func (l *Log) laterLocked() {
	if !l.chores.listed && l.state == open {
		l.chores.listed = true
		l.o.Committer.later(l)
	}
}

// callLater queues the log, for the sake of its chores.
func (l *Log) callLater() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.chores.listed, l.chores.due = false, true
	if l.usableLocked() == nil {
		l.dirtyLocked()
	}
}

// doChores is part of a flush, which holds the turn.
func (l *Log) doChores() error {
	l.mu.Lock()
	due := l.chores.due
	start, moved := l.bounds.Start, l.bounds.Start > l.chores.start
	if due && moved && start == l.bounds.End {
		l.vacateLocked(vacateFrom)
	}
	l.chores.due = false
	l.mu.Unlock()
	if !due {
		return nil
	}
	var err error
	if moved {
		_, err = l.moveStart(start)
	}
	if err == nil {
		err = l.writeErased()
	}
	if err != nil {
		l.mu.Lock()
		l.laterLocked()
		l.mu.Unlock()
	}
	return err
}

// TrimSoon is Trim without waiting: Start moves at once, but after a power failure within about
// CommitterOptions.AsyncInterval it may be where it was; the files go when it is on the disk. Errors: *RangeError above
// Durable, ErrFailed, ErrClosed.
func (l *Log) TrimSoon(offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b, err := l.bounds, l.usableLocked()
	switch {
	case err != nil:
		return err
	case offset > b.Durable:
		return &RangeError{Offset: offset, Start: b.Start, End: b.Durable}
	case offset > b.Start:
		l.setStartLocked(offset)
		l.laterLocked()
	}
	return nil
}

// setStartLocked moves Start.
func (l *Log) setStartLocked(start int64) {
	b := l.bounds
	b.Start = start
	l.setBoundsLocked(b)
}
