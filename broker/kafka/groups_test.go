package kafka

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.etcd.io/bbolt"

	"brokerd/consumer"
	"brokerd/topic"
)

// onlyT is the topic "t", with four partitions.
type onlyT struct{}

func (onlyT) Find(name string) (consumer.Topic, bool) {
	return onlyT{}.All()[0], name == "t"
}
func (onlyT) All() []consumer.Topic {
	return []consumer.Topic{{Name: "t", ID: topic.ID{1}, Partitions: 4}}
}
func (onlyT) Version() uint64 { return 1 }

// startGroups serves groups without an initial delay. The only topic is "t", with four partitions.
func startGroups(t *testing.T) *testServer {
	t.Helper()
	db, err := bbolt.Open(filepath.Join(t.TempDir(), "meta.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := consumer.DefaultSettings()
	s.InitialDelay = 0
	groups, err := consumer.Open(consumer.Options{
		DB:       db,
		Topics:   onlyT{},
		Settings: s,
		Logger:   zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- groups.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		db.Close()
	})
	return startServer(t, Options{Groups: groups})
}

func joinRequest(group string, version int16) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Version = version
	req.Group = group
	req.ProtocolType = "consumer"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 10_000, 60_000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("subscription")}}
	return req
}

func syncRequest(group, member string, version int16) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Version = version
	req.Group, req.MemberID, req.Generation = group, member, 1
	req.ProtocolType, req.Protocol = kmsg.StringPtr("consumer"), kmsg.StringPtr("range")
	req.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: member, MemberAssignment: []byte("all")}}
	return req
}

// member joins a group as its only member, and syncs.
func (c *client) member(group string) string {
	c.t.Helper()
	joined := ask[*kmsg.JoinGroupResponse](c, joinRequest(group, 3))
	synced := ask[*kmsg.SyncGroupResponse](c, syncRequest(group, joined.MemberID, 3))
	if joined.ErrorCode != codeNone || synced.ErrorCode != codeNone || string(synced.MemberAssignment) != "all" {
		c.t.Fatalf("joined %+v, synced %+v", joined, synced)
	}
	return joined.MemberID
}

func TestMembershipInEachVersion(t *testing.T) {
	c := startGroups(t).dial()
	for v := range int16(10) {
		group := string('a' + rune(v))
		join := joinRequest(group, v)
		joined := ask[*kmsg.JoinGroupResponse](c, join)
		if v >= 4 {
			if joined.ErrorCode != codeMemberIDRequired || joined.MemberID == "" || joined.Generation != -1 {
				t.Fatalf("version %d: %+v", v, joined)
			}
			join.MemberID = joined.MemberID
			joined = ask[*kmsg.JoinGroupResponse](c, join)
		}
		if joined.ErrorCode != codeNone || joined.Generation != 1 || joined.LeaderID != joined.MemberID ||
			*joined.Protocol != "range" || len(joined.Members) != 1 ||
			!bytes.Equal(joined.Members[0].ProtocolMetadata, []byte("subscription")) {
			t.Fatalf("version %d: %+v", v, joined)
		}
		id := joined.MemberID

		synced := ask[*kmsg.SyncGroupResponse](c, syncRequest(group, id, min(v, 5)))
		if synced.ErrorCode != codeNone || string(synced.MemberAssignment) != "all" {
			t.Fatalf("version %d: %+v", v, synced)
		}
		beat := kmsg.NewPtrHeartbeatRequest()
		beat.Version, beat.Group, beat.MemberID, beat.Generation = min(v, 4), group, id, 1
		if resp := ask[*kmsg.HeartbeatResponse](c, beat); resp.ErrorCode != codeNone {
			t.Fatalf("version %d: %+v", v, resp)
		}
		leave := kmsg.NewPtrLeaveGroupRequest()
		leave.Version, leave.Group, leave.MemberID = min(v, 5), group, id
		leave.Members = []kmsg.LeaveGroupRequestMember{{MemberID: id}, {MemberID: "x"}}
		left := ask[*kmsg.LeaveGroupResponse](c, leave)
		if left.ErrorCode != codeNone || v >= 3 && (left.Members[0].ErrorCode != codeNone || left.Members[1].ErrorCode != codeUnknownMemberID) {
			t.Fatalf("version %d: %+v", v, left)
		}
		if resp := ask[*kmsg.HeartbeatResponse](c, beat); resp.ErrorCode != codeUnknownMemberID {
			t.Fatalf("version %d: heartbeat after leaving: %+v", v, resp)
		}
	}
}

// TestParkedJoin: a join that waits for other members does not hold up the other connections, its own connection answers
// in order, and when the server stops it is told so.
func TestParkedJoin(t *testing.T) {
	ts := startGroups(t)
	first, second := ts.dial(), ts.dial()
	id := first.member("g")
	join := joinRequest("g", 3)
	parked := second.send(join)
	beat := kmsg.NewPtrHeartbeatRequest()
	beat.Group, beat.MemberID, beat.Generation = "g", "x", 1
	behind := second.send(beat)

	beat2 := kmsg.NewPtrHeartbeatRequest()
	beat2.Group, beat2.MemberID, beat2.Generation = "g", id, 1
	for deadline := time.Now().Add(patience); ; {
		resp := ask[*kmsg.HeartbeatResponse](first, beat2)
		if resp.ErrorCode == codeRebalanceInProgress {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no rebalance: %+v", resp)
		}
	}
	ts.stop()
	if resp := second.receive(join, parked).(*kmsg.JoinGroupResponse); resp.ErrorCode != codeCoordinatorNotAvailable {
		t.Errorf("parked join: %+v", resp)
	}
	if resp := second.receive(beat, behind).(*kmsg.HeartbeatResponse); resp.ErrorCode != codeUnknownMemberID {
		t.Errorf("heartbeat behind it: %+v", resp)
	}
}

func TestFindCoordinator(t *testing.T) {
	ts := startGroups(t)
	c := ts.dial()
	for v := range int16(7) {
		for kind, want := range map[int8]int16{0: codeNone, 1: codeTransactionalIDDenied, 2: codeInvalidRequest, 9: codeInvalidRequest} {
			if v == 0 && kind != 0 {
				continue
			}
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.Version, req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = v, kind, "g", []string{"g", "h"}
			resp := ask[*kmsg.FindCoordinatorResponse](c, req)
			found := resp.Coordinators
			if v < 4 {
				found = []kmsg.FindCoordinatorResponseCoordinator{{NodeID: resp.NodeID, Host: resp.Host, Port: resp.Port, ErrorCode: resp.ErrorCode}}
			} else if len(found) != 2 || found[1].Key != "h" {
				t.Fatalf("version %d: %+v", v, found)
			}
			if found[0].ErrorCode != want || want == codeNone && (found[0].Host != "127.0.0.1" || found[0].Port == 0) {
				t.Errorf("version %d, type %d: %+v", v, kind, found[0])
			}
		}
	}
}

func commitRequest(group string, version int16) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Version, req.Group = version, group
	req.Generation = -1
	part := func(n int32) kmsg.OffsetCommitRequestTopicPartition {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset, p.Metadata = n, 100+int64(n), kmsg.StringPtr("note")
		return p
	}
	req.Topics = []kmsg.OffsetCommitRequestTopic{
		{Topic: "t", Partitions: []kmsg.OffsetCommitRequestTopicPartition{part(0), part(3), part(4)}},
		{Topic: "missing", Partitions: []kmsg.OffsetCommitRequestTopicPartition{part(0)}},
	}
	return req
}

func TestOffsetsInEachVersion(t *testing.T) {
	c := startGroups(t).dial()
	for v := int16(1); v <= 9; v++ {
		group := string('a' + rune(v))
		committed := ask[*kmsg.OffsetCommitResponse](c, commitRequest(group, max(v, 2)))
		var codes []int16
		for _, rt := range committed.Topics {
			for _, p := range rt.Partitions {
				codes = append(codes, p.ErrorCode)
			}
		}
		want := []int16{codeNone, codeNone, codeUnknownTopicOrPartition, codeUnknownTopicOrPartition}
		for i := range want {
			if codes[i] != want[i] {
				t.Fatalf("version %d: codes %v, want %v", v, codes, want)
			}
		}
		got := c.offsets(v, group, []string{"t", "missing"}, []int32{0, 0, 1, 3})
		if s := got["t"]; len(s) != 3 || s[0] != 100 || s[1] != -1 || s[3] != 103 {
			t.Errorf("version %d: %v", v, got)
		}
		if s := got["missing"]; len(s) != 3 || s[0] != -1 {
			t.Errorf("version %d: %v", v, got)
		}
		if got := c.offsets(v, "none", []string{"t"}, []int32{0}); got["t"][0] != -1 {
			t.Errorf("version %d, no group: %v", v, got)
		}
		if got := c.offsets(v, group, []string{}, nil); len(got) != 0 {
			t.Errorf("version %d, no topics: %v", v, got)
		}
		if v >= 2 {
			if got := c.offsets(v, group, nil, nil); len(got) != 1 || len(got["t"]) != 2 || got["t"][3] != 103 {
				t.Errorf("version %d, all topics: %v", v, got)
			}
		}
	}
}

// offsets fetches committed offsets by topic and partition; nil topics asks for all.
func (c *client) offsets(version int16, group string, topics []string, partitions []int32) map[string]map[int32]int64 {
	c.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Version, req.Group = version, group
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	if topics != nil {
		req.Topics, g.Topics = []kmsg.OffsetFetchRequestTopic{}, []kmsg.OffsetFetchRequestGroupTopic{}
	}
	for _, name := range topics {
		req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: name, Partitions: partitions})
		g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: name, Partitions: partitions})
	}
	req.Groups = []kmsg.OffsetFetchRequestGroup{g, g}
	resp := ask[*kmsg.OffsetFetchResponse](c, req)
	got := map[string]map[int32]int64{}
	add := func(topic string, partition int32, offset int64, metadata *string, code int16) {
		if got[topic] == nil {
			got[topic] = map[int32]int64{}
		}
		got[topic][partition] = offset
		if note := *metadata; code != codeNone || (note == "note") != (offset >= 0) {
			c.t.Errorf("version %d, %s, %d: code %d, metadata %q", version, topic, partition, code, note)
		}
	}
	for _, rt := range resp.Topics {
		for _, p := range rt.Partitions {
			add(rt.Topic, p.Partition, p.Offset, p.Metadata, p.ErrorCode)
		}
	}
	if version >= 8 && len(resp.Groups) != 1 {
		c.t.Errorf("version %d: a group that was asked for twice: %+v", version, resp.Groups)
	}
	for _, rg := range resp.Groups {
		for _, rt := range rg.Topics {
			for _, p := range rt.Partitions {
				add(rt.Topic, p.Partition, p.Offset, p.Metadata, p.ErrorCode)
			}
		}
	}
	return got
}

func TestCommitOfNoMemberInEachVersion(t *testing.T) {
	c := startGroups(t).dial()
	for v := int16(2); v <= 9; v++ {
		req := commitRequest("none", v)
		req.MemberID, req.Generation = "x", 1
		want := codeIllegalGeneration
		if v >= 9 {
			want = codeGroupIDNotFound
		}
		if resp := ask[*kmsg.OffsetCommitResponse](c, req); resp.Topics[0].Partitions[0].ErrorCode != want {
			t.Errorf("version %d: %+v", v, resp)
		}
	}
}

func TestGroupAdministration(t *testing.T) {
	c := startGroups(t).dial()
	id := c.member("used")
	ask[*kmsg.OffsetCommitResponse](c, commitRequest("simple", 2))

	for v := range int16(7) {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Version, req.Groups = v, []string{"used", "none", "used"}
		req.IncludeAuthorizedOperations = true
		resp := ask[*kmsg.DescribeGroupsResponse](c, req)
		if len(resp.Groups) != 2 {
			t.Fatalf("version %d: %+v", v, resp)
		}
		g, none := resp.Groups[0], resp.Groups[1]
		if g.State != "Stable" || g.Protocol != "range" || g.ProtocolType != "consumer" || len(g.Members) != 1 ||
			g.Members[0].MemberID != id || g.Members[0].ClientID != "tester" || g.Members[0].ClientHost != "/127.0.0.1" ||
			string(g.Members[0].MemberAssignment) != "all" || string(g.Members[0].ProtocolMetadata) != "subscription" {
			t.Errorf("version %d: %+v", v, g)
		}
		want := codeNone
		if v >= 6 {
			want = codeGroupIDNotFound
		}
		if none.State != "Dead" || none.ErrorCode != want {
			t.Errorf("version %d: %+v", v, none)
		}
	}

	for v := range int16(6) {
		for _, f := range []struct {
			states, types []string
			want          int
		}{{nil, nil, 2}, {[]string{"stable"}, nil, 1}, {[]string{"Dead"}, nil, 0}, {nil, []string{"Classic"}, 2}, {nil, []string{"share"}, 0}} {
			if v < 4 && f.states != nil || v < 5 && f.types != nil {
				continue
			}
			req := kmsg.NewPtrListGroupsRequest()
			req.Version, req.StatesFilter, req.TypesFilter = v, f.states, f.types
			if resp := ask[*kmsg.ListGroupsResponse](c, req); len(resp.Groups) != f.want {
				t.Errorf("version %d, %v, %v: %+v", v, f.states, f.types, resp.Groups)
			}
		}
	}

	del := kmsg.NewPtrOffsetDeleteRequest()
	del.Group = "simple"
	del.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
	if resp := ask[*kmsg.OffsetDeleteResponse](c, del); resp.ErrorCode != codeNone || resp.Topics[0].Partitions[0].ErrorCode != codeNone {
		t.Errorf("%+v", resp)
	}
	if got := c.offsets(5, "simple", nil, nil); len(got["t"]) != 1 {
		t.Errorf("after deleting one of two offsets: %v", got)
	}
	del.Group = "used" // its subscription is not one of Kafka's consumers
	if resp := ask[*kmsg.OffsetDeleteResponse](c, del); resp.ErrorCode != codeNonEmptyGroup {
		t.Errorf("%+v", resp)
	}

	for v := range int16(3) {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Version, req.Groups = v, []string{"used", "simple"}
		resp := ask[*kmsg.DeleteGroupsResponse](c, req)
		want := codeNone
		if v > 0 {
			want = codeGroupIDNotFound
		}
		if resp.Groups[0].ErrorCode != codeNonEmptyGroup || resp.Groups[1].ErrorCode != want {
			t.Errorf("version %d: %+v", v, resp)
		}
	}
}
