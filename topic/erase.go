package topic

// Erase deletes single records, for the readers of both protocols: reads leave them out from the moment it returns, and
// compaction takes them off the disk. Their offsets are not given out again. With sync set they stay erased after a power
// failure when it returns; without, they are on disk soon after, and it waits for nothing. Offsets that hold nothing are
// ignored. The follower is not told. Errors: the log's (log.Log.Erase), ErrNotFound.
func (p *Partition) Erase(offsets []int64, sync bool) error {
	if err := p.ready(); err != nil {
		return err
	}
	return p.explain(p.log.Erase(offsets, sync && !p.topic.memory))
}

// Reclaim asks compaction to take what is erased now off the disk in its next rounds, however little that is. Otherwise it
// waits until a share of a segment is erased (min.cleanable.dirty.ratio).
func (p *Partition) Reclaim() {
	if p.ready() == nil {
		p.log.Reclaim()
	}
}
