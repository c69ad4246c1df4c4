package producer

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
)

func mustGet(t *testing.T, b *Budget, n int) *Buffer {
	t.Helper()
	buf, err := b.Get(context.Background(), n)
	if err != nil {
		t.Fatal(err)
	}
	if len(buf.B) != n {
		t.Fatalf("got %d bytes, want %d", len(buf.B), n)
	}
	return buf
}

func TestBudgetRounding(t *testing.T) {
	tests := []struct {
		n    int
		want int64
	}{{0, 1024}, {1, 1024}, {1024, 1024}, {1025, 2048}, {4096, 4096}, {5000, 8192}, {9000, 10_000}, {10_000, 10_000}}
	for _, tt := range tests {
		b := NewBudget(10_000)
		buf := mustGet(t, b, tt.n)
		if got := b.InUse(); got != tt.want {
			t.Errorf("%d bytes drew %d, want %d", tt.n, got, tt.want)
		}
		buf.Release()
		buf.Release()
		if got := b.InUse(); got != 0 {
			t.Errorf("%d bytes in use after release", got)
		}
	}
}

func TestBudgetRefusesMoreThanTheWhole(t *testing.T) {
	b := NewBudget(1 << 20)
	for _, n := range []int{1<<20 + 1, -1} {
		if _, err := b.Get(context.Background(), n); !errors.Is(err, ErrOverBudget) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestBudgetIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(4096)
		all := mustGet(t, b, 4096)
		order := make(chan string, 2)
		wait := func(name string, n int) {
			go func() {
				buf := mustGet(t, b, n)
				order <- name
				buf.Release()
			}()
			synctest.Wait()
		}
		wait("large", 4096)
		wait("small", 1024)
		if got := b.Waiting(); got != 2 {
			t.Errorf("%d wait, want 2", got)
		}
		all.Release()
		if first, second := <-order, <-order; first != "large" || second != "small" {
			t.Errorf("served %s, then %s", first, second)
		}
		synctest.Wait()
		if b.Waiting() != 0 || b.InUse() != 0 {
			t.Errorf("at rest %d wait, %d bytes are in use", b.Waiting(), b.InUse())
		}
	})
}

func TestBudgetWaiterGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(4096)
		all := mustGet(t, b, 4096)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() {
			_, err := b.Get(ctx, 1)
			done <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		all.Release()
		mustGet(t, b, 4096).Release()
	})
}

func TestBudgetRecycles(t *testing.T) {
	b := NewBudget(64 << 10)
	buf := mustGet(t, b, 3000)
	first := &buf.B[0]
	buf.Release()
	buf = mustGet(t, b, 4000)
	if &buf.B[0] != first {
		t.Error("a buffer of the same class was not used again")
	}
	buf.Release()
}

// TestBudgetBoundsAllMemory draws many sizes from many goroutines: what is live and what is kept never exceed the limit.
func TestBudgetBoundsAllMemory(t *testing.T) {
	const limit = 1 << 20
	b := NewBudget(limit)
	var wg sync.WaitGroup
	for seed := range uint64(8) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, 1))
			for range 500 {
				buf := mustGet(t, b, random.IntN(limit/3))
				b.mu.Lock()
				if b.live+b.idle > limit || b.idle > limit/4 || b.live < 0 {
					t.Errorf("%d bytes live, %d kept", b.live, b.idle)
				}
				b.mu.Unlock()
				buf.Release()
			}
		})
	}
	wg.Wait()
	kept := int64(0)
	for _, class := range b.kept {
		for _, memory := range class {
			kept += int64(len(memory))
		}
	}
	if b.InUse() != 0 || b.live != 0 || kept != b.idle {
		t.Errorf("at rest %d in use, %d live, %d kept of %d", b.InUse(), b.live, kept, b.idle)
	}
}
