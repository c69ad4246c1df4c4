package producer

import "context"

// Budget bounds the memory that all frames of the process take together: a connection draws a frame's size from it
// before it reads the body, and waits while it is empty. Waiting is first come, first served.
type Budget struct{}

// NewBudget makes a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{} }

// Buffer is memory drawn from a Budget.
type Buffer struct {
	B []byte // as long as was asked for; not zeroed
}

// Get draws n bytes, waiting for them if need be, and returns a recycled buffer. Errors: ctx's, or at once when n is
// larger than the whole budget.
func (b *Budget) Get(ctx context.Context, n int) (*Buffer, error) { return nil, errTODO }

// Release gives the memory back. B must not be used afterwards; a second call does nothing.
func (b *Buffer) Release() {}

// InUse and Limit are bytes; Waiting is the number of waiting calls of Get.
func (b *Budget) InUse() int64 { return 0 }
func (b *Budget) Limit() int64 { return 0 }
func (b *Budget) Waiting() int { return 0 }
