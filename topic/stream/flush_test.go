package stream

import (
	"context"
	"testing"
	"time"
)

func TestFlush(t *testing.T) {
	l := newLive(t)
	s := l.create(Config{Name: "S"})
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s.Flush(ctx) // there is nothing to wait for
	for range 100 {
		s.Publish(Publication{Subject: "S"})
	}
	s.Flush(ctx)
	if st := l.state(s); st.Messages != 100 {
		t.Errorf("%+v", st)
	}
	l.halt() // what comes now is never written
	s.Publish(Publication{Subject: "S"})
	short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	s.Flush(short)
	l.run()
}
