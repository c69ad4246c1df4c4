package nats

import (
	"sync"
	"sync/atomic"
)

// Sizes of the pieces of memory that wait to be written. A connection with nothing to write has none.
const (
	smallChunk = 4 << 10
	largeChunk = 64 << 10
)

// buffers is memory for what waits to be written to all clients.
type buffers struct {
	small, large *sync.Pool
	taken        *atomic.Int64 // bytes that wait in all connections
}

// chunk is one piece; its length is how much of it is used.
type chunk struct{ b []byte }

func newBuffers() buffers {
	pool := func(size int) *sync.Pool {
		return &sync.Pool{New: func() any { return &chunk{make([]byte, 0, size)} }}
	}
	return buffers{pool(smallChunk), pool(largeChunk), new(atomic.Int64)}
}

// get takes a piece, a large one unless it is the first of a queue.
func (b *buffers) get(first bool) *chunk {
	pool := b.large
	if first {
		pool = b.small
	}
	c, _ := pool.Get().(*chunk) // there is nothing else in it
	return c
}

func (b *buffers) put(c *chunk) {
	pool := b.large
	if cap(c.b) == smallChunk {
		pool = b.small
	}
	c.b = c.b[:0]
	pool.Put(c)
}
