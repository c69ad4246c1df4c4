package nats

import "brokerd/topic/stream"

// accountStats is what the one account uses and may use.
type accountStats struct {
	Memory          uint64        `json:"memory"`
	Storage         uint64        `json:"storage"`
	ReservedMemory  uint64        `json:"reserved_memory"`
	ReservedStorage uint64        `json:"reserved_storage"`
	Streams         int           `json:"streams"`
	Consumers       int           `json:"consumers"`
	Limits          accountLimits `json:"limits"`
	Domain          string        `json:"domain,omitempty"`
	API             apiStats      `json:"api"`
}

// accountLimits are all -1: there is no limit but the disk.
type accountLimits struct {
	MaxMemory       int64 `json:"max_memory"`
	MaxStorage      int64 `json:"max_storage"`
	MaxStreams      int   `json:"max_streams"`
	MaxConsumers    int   `json:"max_consumers"`
	MaxAckPending   int   `json:"max_ack_pending"`
	MaxMemoryBytes  int64 `json:"memory_max_stream_bytes"`
	MaxStorageBytes int64 `json:"storage_max_stream_bytes"`
	BytesRequired   bool  `json:"max_bytes_required"`
}

type apiStats struct {
	Level  int    `json:"level"`
	Total  uint64 `json:"total"`
	Errors uint64 `json:"errors"`
}

func (a *api) accountInfo(*request) (any, error) { return a.stats(), nil }

// stats counts bytes as they take room, which needs no stream's index.
func (a *api) stats() accountStats {
	s := accountStats{
		Limits: accountLimits{-1, -1, -1, -1, -1, -1, -1, false},
		Domain: a.server.domain,
		API:    apiStats{apiLevel, a.total.Load(), a.failed.Load()},
	}
	for _, st := range a.streams.List("") {
		s.Streams++
		s.Consumers += len(a.consumers.List(st.Name()))
		c := st.Config()
		used, reserved := &s.Storage, &s.ReservedStorage
		if c.Storage == stream.Memory {
			used, reserved = &s.Memory, &s.ReservedMemory
		}
		*used += sizeOf(st)
		*reserved += uint64(max(c.MaxBytes, 0))
	}
	return s
}

// sizeOf is how much room a stream's log takes; 0 when it is offline or gone.
func sizeOf(s *stream.Stream) uint64 {
	t, n := s.Topic()
	p, err := t.Partition(n)
	if err != nil {
		return 0
	}
	return uint64(p.Size())
}
