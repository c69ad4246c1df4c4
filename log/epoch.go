package log

// Epoch is the leader epoch of new batches. It grows only when a recovery cut off data that somebody may have seen.
func (l *Log) Epoch() int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.epochLocked()
}

func (l *Log) epochLocked() int32 {
	return l.recovery.epochs[len(l.recovery.epochs)-1].epoch
}

// EpochEnd answers OffsetForLeaderEpoch (KIP-101, KIP-279): the largest known epoch <= epoch, and the offset at which
// it ended (Durable for the current one). For an epoch older than all known: that epoch and the start of the first. For
// a future one: -1, -1.
func (l *Log) EpochEnd(epoch int32) (int32, int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.recovery.epochs
	if epoch > l.epochLocked() {
		return -1, -1
	}
	for i := len(known) - 1; i >= 0; i-- {
		switch {
		case known[i].epoch > epoch:
		case i == len(known)-1:
			return known[i].epoch, l.bounds.Durable
		default:
			return known[i].epoch, max(known[i+1].start, l.bounds.Start)
		}
	}
	return epoch, max(known[0].start, l.bounds.Start)
}
