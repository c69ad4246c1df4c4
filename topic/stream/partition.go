package stream

import "encoding/binary"

// partitionOf is the partition that Kafka's default partitioner gives a key: its murmur2 hash, without the sign, modulo the
// number of partitions.
func partitionOf(key string, partitions int) int {
	return int(murmur2([]byte(key))&0x7fffffff) % partitions
}

// murmur2 is the hash of Kafka's clients (org.apache.kafka.common.utils.Utils.murmur2), which is MurmurHash2 with a seed of
// its own.
func murmur2(b []byte) uint32 {
	const (
		seed = 0x9747b28c
		m    = 0x5bd1e995
		r    = 24
	)
	h := seed ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * m
		k ^= k >> r
		h = h*m ^ k*m
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(b[0])) * m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}
