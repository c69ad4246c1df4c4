package tests

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"brokerd/tests/harness"
)

// C14: each segment holds a record dated ten years ahead. Retention follows the time of arrival, so the segments go all
// the same; with append time the client's time has no influence anywhere.
func TestC14RecordsFromTheFuture(t *testing.T) {
	t.Parallel()
	const byClient, byBroker, guarded = "c14-create-time", "c14-append-time", "c14-guarded"
	retention := settings{
		"retention.ms": "2000", "segment.ms": "500",
		"message.timestamp.after.max.ms": "9223372036854775807",
	}
	o := options(t, fastRetention)
	s := start(t, o)
	cl := client(t, s)
	create(t, cl, byClient, 1, retention)
	retention["message.timestamp.type"] = "LogAppendTime"
	create(t, cl, byBroker, 1, retention)
	create(t, cl, guarded, 1, nil)

	future := time.Now().AddDate(10, 0, 0)
	err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: guarded, Timestamp: future, Value: []byte("x")}).FirstErr()
	if !errors.Is(err, kerr.InvalidTimestamp) {
		t.Errorf("by default a record ten years ahead gave %v, want an invalid timestamp", err)
	}

	for i := range 8 {
		for _, topic := range []string{byClient, byBroker} {
			publish(t, cl, harness.NewLedger(),
				&kgo.Record{Topic: topic, Value: fmt.Append(nil, i)},
				&kgo.Record{Topic: topic, Value: fmt.Append(nil, i), Timestamp: future})
		}
		if i == 0 {
			appendTimeRules(t, s, byBroker, future)
		}
		eventually(t, 30*time.Second, "the segments roll by age", func() bool { return allRolled(t, o.Data) })
	}
	w := dial(t, s)
	for _, topic := range []string{byClient, byBroker} {
		eventually(t, 30*time.Second, topic+": everything is older than retention.ms and should be gone", func() bool {
			return w.listOffset(t, topic, 0, -2).Offset == 16
		})
	}
}

// appendTimeRules checks that a record's own time is not seen in a topic with append time.
func appendTimeRules(t *testing.T, s *harness.Server, topic string, future time.Time) {
	t.Helper()
	read, err := harness.ReadAll(limited(t, 30*time.Second), s.Kafka, topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range read {
		if age := time.Since(r.Timestamp); age < -time.Second || age > time.Minute {
			t.Errorf("offset %d has the time %s", r.Offset, r.Timestamp)
		}
		if r.Attrs.TimestampType() != 1 {
			t.Errorf("offset %d has the timestamp type %d, want append time", r.Offset, r.Attrs.TimestampType())
		}
	}
	w := dial(t, s)
	if got := w.listOffset(t, topic, 0, future.Add(-time.Hour).UnixMilli()); got.Offset != -1 {
		t.Errorf("a look-up in nine years' time gave offset %d", got.Offset)
	}
	if got := w.listOffset(t, topic, 0, -3); time.Since(time.UnixMilli(got.Timestamp)) < -time.Second {
		t.Errorf("the largest time is %s", time.UnixMilli(got.Timestamp))
	}
}

// allRolled says that every partition's active segment is empty.
func allRolled(t *testing.T, data string) bool {
	t.Helper()
	for _, files := range segments(t, data) {
		info, err := os.Stat(files[len(files)-1])
		if err != nil || info.Size() > 0 {
			return false
		}
	}
	return true
}
