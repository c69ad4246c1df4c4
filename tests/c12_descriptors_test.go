package tests

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

// C12: the process may open only 256 files, and has 200 partitions with many segments each. The number of open files
// is bounded and flat over restarts; when connections run out, new ones are refused and old ones go on.
func TestC12FewDescriptors(t *testing.T) {
	const topic, partitions, rounds = "c12", 200, 6
	o := options(t)
	o.Wrap = []string{"sh", "-c", `ulimit -n 256 && exec "$0" "$@"`}
	s := start(t, o)
	cl := client(t, s)
	create(t, cl, topic, partitions, settings{"segment.ms": "200"})
	ledger, m := harness.NewLedger(), newMaker(12)
	for range rounds {
		began := time.Now()
		publishToEach(t, cl, ledger, m, topic, partitions)
		time.Sleep(time.Until(began.Add(300 * time.Millisecond))) // the segments must age to be rolled
	}
	if !strings.Contains(s.Log(), "open files") {
		t.Error("no warning at the start that the limit of open files is low")
	}

	var counts []int
	for range 5 {
		s = restart(t, s)
		verify(t, s, ledger, topic)
		counts = append(counts, openFiles(t, s))
	}
	t.Logf("open files after each restart: %v", counts)
	if slices.Max(counts)-slices.Min(counts) > 20 {
		t.Errorf("the number of open files is not flat over restarts: %v", counts)
	}

	cl = client(t, s)
	publishToEach(t, cl, ledger, m, topic, partitions)
	idle := connections(t, s, 100)
	if len(idle) < 100 {
		t.Errorf("%d of 100 connections were taken", len(idle))
	}
	publishToEach(t, cl, ledger, m, topic, partitions)
	verify(t, s, ledger, topic)
	stillOpen(t, idle)

	excess := connections(t, s, 200) // more than there are descriptors
	t.Logf("%d of 200 connections more were taken; %d open files", len(excess), openFiles(t, s))
	if n := openFiles(t, s); len(excess) == 200 || n > 256 {
		t.Errorf("%d connections more were taken, %d files are open", len(excess), n)
	}
	publishToEach(t, cl, ledger, m, topic, partitions)
	stillOpen(t, idle)
	for _, c := range excess {
		c.Close()
	}
	eventually(t, 20*time.Second, "new connections are taken again", func() bool { return len(connections(t, s, 5)) == 5 })
	verify(t, s, ledger, topic)
}

// publishToEach produces one record to each partition of a topic.
func publishToEach(t *testing.T, cl *kgo.Client, ledger *harness.Ledger, m *maker, topic string, partitions int32) {
	t.Helper()
	var records []*kgo.Record
	for p := range partitions {
		records = append(records, m.records(topic, p, 1, 200)...)
	}
	publish(t, cl, ledger, records...)
}

// openFiles counts the descriptors of the broker.
func openFiles(t *testing.T, s *harness.Server) int {
	t.Helper()
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	return len(open)
}

// connections opens n connections, says hello on each, leaves them idle, and returns those that the broker took.
func connections(t *testing.T, s *harness.Server, n int) []net.Conn {
	t.Helper()
	var taken []net.Conn
	for range n {
		w := dial(t, s)
		if _, err := w.try(3, apiVersions()); err != nil {
			w.Close()
			continue
		}
		taken = append(taken, w.Conn)
	}
	return taken
}

// stillOpen checks that the broker has closed none of the connections.
func stillOpen(t *testing.T, all []net.Conn) {
	t.Helper()
	closed := 0
	for _, c := range all {
		c.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); !os.IsTimeout(err) {
			closed++
		}
	}
	if closed > 0 {
		t.Errorf("%d of %d idle connections were closed", closed, len(all))
	}
}
