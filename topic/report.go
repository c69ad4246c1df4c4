package topic

import (
	"github.com/rs/zerolog"

	"brokerd/log"
)

// reportRecovery writes one line for a recovery that did something, and one more for each damaged range that it found.
func reportRecovery(logger zerolog.Logger, p *Partition, found log.Recovery) {
	quiet := found.ScannedBytes == 0 && found.CutBytes == 0 && found.SkippedOffsets == 0 &&
		found.IndexesRebuilt == 0 && len(found.Orphans) == 0 && found.Swaps == 0 && len(found.Damaged) == 0 &&
		len(found.ErasedDamaged) == 0
	if quiet {
		return
	}
	event, message := logger.Info(), "recovered a partition after an unclean stop: nothing is missing; there is nothing to do"
	switch {
	case len(found.Damaged) > 0:
		event = logger.Error()
		message = "recovered a partition with damaged records: they are withheld, all others are served, the files are left as they are; check the disk, and restore the damaged segments from a copy"
	case found.CutBytes > 0 || found.SkippedOffsets > 0:
		event = logger.Warn()
		message = "recovered a partition after an unclean stop: an unfinished tail that nobody was promised was cut off, everything before it was kept; there is nothing to do"
	case found.Clean:
		message = "repaired files of a partition that follow from its records: nothing is missing; there is nothing to do"
	}
	event.Str("topic", p.topic.name).Int32("partition", p.index).
		Int("segments", found.Segments).
		Int64("scanned_bytes", found.ScannedBytes).
		Int64("cut_bytes", found.CutBytes).
		Int64("skipped_offsets", found.SkippedOffsets).
		Int("indexes_rebuilt", found.IndexesRebuilt).
		Int("orphans_removed", len(found.Orphans)).
		Int("swaps_ended", found.Swaps).
		Int("damaged_ranges", len(found.Damaged)).
		Int("replayed_batches", found.Replayed).
		Dur("took", found.Took).
		Msg(message)
	for _, damage := range found.Damaged {
		reportDamage(logger, p, damage)
	}
	for _, damage := range found.ErasedDamaged {
		logger.Error().Err(&damage).Str("topic", p.topic.name).Int32("partition", p.index).
			Msg("the list of deleted records is damaged: some of them can be read again, all others are served as before; check the disk, and delete them again")
	}
}

// reportDamage writes one line for a damaged range that was found in a partition.
func reportDamage(logger zerolog.Logger, p *Partition, damage log.CorruptError) {
	logger.Error().Err(&damage).Str("topic", p.topic.name).Int32("partition", p.index).
		Int64("offset", damage.First).Int64("last_offset", damage.Last).
		Msg("stored records are damaged: they are withheld, all others are served, the file is left as it is; check the disk, and restore the segment from a copy")
}
