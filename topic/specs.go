package topic

const (
	maxLong = "9223372036854775807"

	// oneNode and noCompaction end the description of settings that have nothing to act on.
	oneNode      = " Stored and shown only: a broker of one node has no replicas."
	noCompaction = " Stored and shown only: compaction does not run yet, compacted topics keep every record."
	noTiers      = " Stored and shown only: there is no tiered storage."
)

// specs is every setting of a topic, ordered by name: those that Kafka 4 knows, with its defaults, types and ranges, and
// our own. It is the only place in which a setting is declared. A setting that is not honoured either has nothing to
// act on, and says so in its description, or is refused.
var specs = []spec{
	{"cleanup.policy", List, "delete", "log.cleanup.policy", eachOf("compact", "delete"),
		"What happens to old records: delete drops whole segments by retention.ms and retention.bytes; compact keeps the newest record of each key and refuses records without one. Compaction does not run yet: a topic with compact alone keeps every record. An empty list keeps every record too."},
	{"compression.gzip.level", Int, "-1", "compression.gzip.level", gzipLevel,
		"Level of gzip, 1 to 9, -1 for the default, when compression.type is gzip. Stored and shown only: the broker always takes the default level."},
	{"compression.lz4.level", Int, "9", "compression.lz4.level", between(1, 17),
		"Level of LZ4, 1 to 17, when compression.type is lz4. Stored and shown only: the broker always takes its own level."},
	{"compression.type", String, "producer", "compression.type", oneOf("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
		"How batches are stored: producer keeps them as they came, any other value packs them again."},
	{"compression.zstd.level", Int, "3", "compression.zstd.level", between(-131072, 22),
		"Level of zstd, -131072 to 22, when compression.type is zstd. Stored and shown only: the broker always takes its own level."},
	{"delete.retention.ms", Long, "86400000", "log.cleaner.delete.retention.ms", atLeast(0),
		"How long compaction keeps a record without a value." + noCompaction},
	{"durability", String, "sync", "log.durability", oneOf("sync", "async"),
		"What an acknowledgement waits for: sync, until the batch is on disk (fdatasync, shared by all that wait); async, until it is written, a power failure may lose what came since the last sync, at most about a second."},
	{"file.delete.delay.ms", Long, "60000", "log.segment.delete.delay.ms", atLeast(0),
		"How long a deleted segment file stays on disk. Stored and shown only: files are removed at once, and readers that still have one open finish with it."},
	{"flush.messages", Long, maxLong, "log.flush.interval.messages", atLeast(1),
		"Sync after this many records. With durability=sync every batch is synced before it is acknowledged; with durability=async the setting is refused."},
	{"flush.ms", Long, maxLong, "log.flush.interval.ms", atLeast(0),
		"Sync after this time. With durability=sync every batch is synced before it is acknowledged; with durability=async the setting is refused."},
	{"follower.replication.throttled.replicas", List, "", "", replicas,
		"Replicas whose followers are slowed down: * or PARTITION:BROKER,..." + oneNode},
	{"index.interval.bytes", Int, "4096", "log.index.interval.bytes", atLeast(0),
		"Bytes of log for each entry of the sparse index."},
	{"leader.replication.throttled.replicas", List, "", "", replicas,
		"Replicas whose leaders are slowed down: * or PARTITION:BROKER,..." + oneNode},
	{"local.retention.bytes", Long, "-2", "log.local.retention.bytes", atLeast(-2),
		"Bytes kept on the local disk of a tiered topic." + noTiers},
	{"local.retention.ms", Long, "-2", "log.local.retention.ms", atLeast(-2),
		"Time for which a tiered topic is kept on the local disk." + noTiers},
	{"max.compaction.lag.ms", Long, maxLong, "log.cleaner.max.compaction.lag.ms", atLeast(1),
		"Longest time a record may wait for compaction." + noCompaction},
	{"max.message.bytes", Int, "1048588", "message.max.bytes", atLeast(0),
		"Largest record batch in bytes, as it is stored: compressed, its header and the 12 bytes before the length included."},
	{"message.timestamp.after.max.ms", Long, "3600000", "log.message.timestamp.after.max.ms", atLeast(0),
		"How far a record's time may lie behind the broker's clock in the future, for message.timestamp.type=CreateTime. The batch's own maximum is what counts."},
	{"message.timestamp.before.max.ms", Long, maxLong, "log.message.timestamp.before.max.ms", atLeast(0),
		"How far a record's time may lie in the past of the broker's clock, for message.timestamp.type=CreateTime."},
	{"message.timestamp.type", String, "CreateTime", "log.message.timestamp.type", oneOf("CreateTime", "LogAppendTime"),
		"Whose clock dates the records: the producer's (CreateTime) or the broker's on arrival (LogAppendTime)."},
	{"min.cleanable.dirty.ratio", Double, "0.5", "log.cleaner.min.cleanable.ratio", between(0, 1),
		"Share of a log that must be new before it is compacted." + noCompaction},
	{"min.compaction.lag.ms", Long, "0", "log.cleaner.min.compaction.lag.ms", atLeast(0),
		"Shortest time a record is kept before compaction." + noCompaction},
	{"min.insync.replicas", Int, "1", "min.insync.replicas", atLeast(1),
		"Replicas that must have a batch before it is acknowledged. Stored and shown only: there is one node, and a batch acknowledged by it counts as enough."},
	{"preallocate", Boolean, "false", "log.preallocate", nil,
		"Reserve the disk space of a segment in advance. Stored and shown only: the broker reserves space in steps by itself."},
	{"remote.log.copy.disable", Boolean, "false", "", nil,
		"Stop copying segments to the remote tier." + noTiers},
	{"remote.log.delete.on.disable", Boolean, "false", "", nil,
		"Delete the remote tier's data when it is switched off." + noTiers},
	{"remote.storage.enable", Boolean, "false", "", notYet("tiered storage"),
		"Keep old segments in a remote tier. Not available: true is refused."},
	{"retention.bytes", Long, "-1", "log.retention.bytes", nil,
		"Bytes kept per partition under cleanup.policy=delete; the oldest segments above that are deleted. -1 for no limit."},
	{"retention.ms", Long, "604800000", "log.retention.ms", atLeast(-1),
		"How long records are kept under cleanup.policy=delete, counted from their arrival at the broker, whatever time they carry. -1 for no limit."},
	{"segment.bytes", Int, "1073741824", "log.segment.bytes", atLeast(1 << 20),
		"Largest segment file in bytes. Retention deletes whole segments."},
	{"segment.index.bytes", Int, "10485760", "log.index.size.max.bytes", atLeast(4),
		"Largest index file in bytes. Stored and shown only: the size of an index follows from segment.bytes and index.interval.bytes."},
	{"segment.jitter.ms", Long, "0", "log.roll.jitter.ms", atLeast(0),
		"Up to this much, chosen at random for each partition, is taken off segment.ms, so that partitions do not roll all at once."},
	{"segment.ms", Long, "604800000", "log.roll.ms", atLeast(1),
		"Age at which a segment is closed even when it is not full, so that retention can delete it."},
	{"unclean.leader.election.enable", Boolean, "false", "unclean.leader.election.enable", nil,
		"Whether a replica that is behind may lead." + oneNode},
}
