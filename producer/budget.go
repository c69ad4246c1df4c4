package producer

import (
	"context"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// smallestClass is the size, as a power of two, below which buffers are not told apart.
const smallestClass = 10

// Budget bounds the memory that all frames of the process take together: a connection draws a frame's size from it
// before it reads the body, and waits while it is empty. Waiting is first come, first served.
//
// Buffers come in sizes that are powers of two, from 1 KiB, and what is drawn is the size of the buffer, not of the
// frame. Released buffers are kept for the next frame of their size, at most a quarter of the limit. Buffers in use and
// kept ones together never exceed the limit: a kept buffer gives way to a new one of another size.
type Budget struct {
	limit   int64
	free    *semaphore.Weighted
	inUse   atomic.Int64
	waiting atomic.Int64

	mu   sync.Mutex
	kept [bits.UintSize][][]byte // guarded by mu: buffers of 1<<i bytes
	idle int64                   // guarded by mu: bytes in kept
	live int64                   // guarded by mu: bytes of buffers that are not in kept
}

// NewBudget makes a budget of limit bytes.
func NewBudget(limit int64) *Budget {
	return &Budget{limit: limit, free: semaphore.NewWeighted(limit)}
}

// Buffer is memory drawn from a Budget. It has one owner at a time.
type Buffer struct {
	B []byte // as long as was asked for; not zeroed

	memory []byte // all of it: what was drawn
	from   *Budget
}

// Get draws n bytes, waiting for them if need be, and returns a recycled buffer. Errors: ctx's, or at once
// ErrOverBudget when n is larger than the whole budget.
func (b *Budget) Get(ctx context.Context, n int) (*Buffer, error) {
	if n < 0 || int64(n) > b.limit {
		return nil, fmt.Errorf("%w: %d bytes of %d", ErrOverBudget, n, b.limit)
	}
	size := min(int64(1)<<class(n), b.limit)
	if !b.free.TryAcquire(size) {
		b.waiting.Add(1)
		err := b.free.Acquire(ctx, size)
		b.waiting.Add(-1)
		if err != nil {
			return nil, fmt.Errorf("producer: wait for %d bytes of memory: %w", size, err)
		}
	}
	b.inUse.Add(size)
	memory := b.take(size)
	return &Buffer{B: memory[:n], memory: memory, from: b}, nil
}

// Release gives the memory back. B must not be used afterwards; a second call does nothing.
func (b *Buffer) Release() {
	if b.from == nil {
		return
	}
	from, memory := b.from, b.memory
	*b = Buffer{}
	from.keep(memory)
	from.inUse.Add(-int64(len(memory)))
	from.free.Release(int64(len(memory)))
}

// InUse is how many bytes are drawn.
func (b *Budget) InUse() int64 { return b.inUse.Load() }

// Limit is how many bytes can be drawn.
func (b *Budget) Limit() int64 { return b.limit }

// Waiting is the number of waiting calls of Get.
func (b *Budget) Waiting() int { return int(b.waiting.Load()) }

// take returns a kept buffer of size bytes, or makes room for a new one and makes it.
func (b *Budget) take(size int64) []byte {
	b.mu.Lock()
	b.live += size
	c := class(int(size))
	if n := len(b.kept[c]); n > 0 && int64(1)<<c == size {
		memory := b.pop(c)
		b.mu.Unlock()
		return memory
	}
	for c := len(b.kept) - 1; c >= 0; c-- {
		for b.live+b.idle > b.limit && len(b.kept[c]) > 0 {
			b.pop(c)
		}
	}
	b.mu.Unlock()
	return make([]byte, size)
}

// pop takes the newest kept buffer of class c out. b.mu is held.
func (b *Budget) pop(c int) []byte {
	last := len(b.kept[c]) - 1
	memory := b.kept[c][last]
	b.kept[c][last] = nil
	b.kept[c] = b.kept[c][:last]
	b.idle -= int64(len(memory))
	return memory
}

// keep takes a buffer back, or lets it go when enough are kept already.
func (b *Budget) keep(memory []byte) {
	size := int64(len(memory))
	c := class(len(memory))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.live -= size
	if int64(1)<<c == size && b.idle+size <= b.limit/4 {
		b.kept[c] = append(b.kept[c], memory)
		b.idle += size
	}
}

// class is the power of two of the smallest buffer that holds n bytes.
func class(n int) int {
	return max(smallestClass, bits.Len(uint(max(n, 1)-1)))
}
