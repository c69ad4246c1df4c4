package kafka

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// enterRequest joins a consumer group that wants the topic "t".
func enterRequest(group, member string, version int16) *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID = version, group, member
	req.RebalanceTimeoutMillis = 60_000
	req.SubscribedTopicNames = []string{"t"}
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return req
}

// enter joins a consumer group as its only member, which gets all four partitions.
func (c *client) enter(group, member string) {
	c.t.Helper()
	resp := ask[*kmsg.ConsumerGroupHeartbeatResponse](c, enterRequest(group, member, 1))
	if resp.ErrorCode != codeNone || *resp.MemberID != member || resp.MemberEpoch != 1 || resp.Assignment == nil {
		c.t.Fatalf("%+v", resp)
	}
}

func TestConsumerGroupInEachVersion(t *testing.T) {
	c := startGroups(t).dial()
	for v := range int16(2) {
		group := fmt.Sprint("g", v)
		req := enterRequest(group, "", v)
		req.InstanceID, req.RackID, req.ServerAssignor = kmsg.StringPtr("i"), kmsg.StringPtr("r"), kmsg.StringPtr("range")
		if v >= 1 {
			if resp := ask[*kmsg.ConsumerGroupHeartbeatResponse](c, req); resp.ErrorCode != codeInvalidRequest {
				t.Errorf("version %d without a member id: %+v", v, resp)
			}
			req.MemberID, req.SubscribedTopicNames, req.SubscribedTopicRegex = "m", nil, kmsg.StringPtr("t|u")
		}
		resp := ask[*kmsg.ConsumerGroupHeartbeatResponse](c, req)
		if resp.ErrorCode != codeNone || resp.MemberEpoch != 1 || resp.HeartbeatIntervalMillis != 5000 || *resp.MemberID == "" ||
			resp.Assignment == nil || len(resp.Assignment.Topics) != 1 || resp.Assignment.Topics[0].TopicID != (onlyT{}).All()[0].ID ||
			fmt.Sprint(resp.Assignment.Topics[0].Partitions) != "[0 1 2 3]" {
			t.Fatalf("version %d: %+v", v, resp)
		}
		id := *resp.MemberID

		describe := kmsg.NewPtrConsumerGroupDescribeRequest()
		describe.Version, describe.Groups, describe.IncludeAuthorizedOperations = v, []string{group, "none", group}, true
		described := ask[*kmsg.ConsumerGroupDescribeResponse](c, describe)
		if len(described.Groups) != 2 || described.Groups[1].ErrorCode != codeGroupIDNotFound || described.Groups[1].ErrorMessage == nil {
			t.Fatalf("version %d: %+v", v, described)
		}
		g := described.Groups[0]
		if g.ErrorCode != codeNone || g.State != "Stable" || g.Epoch != 1 || g.AssignmentEpoch != 1 || g.AssignorName != "range" ||
			g.AuthorizedOperations != groupOperations || len(g.Members) != 1 {
			t.Fatalf("version %d: %+v", v, g)
		}
		m := g.Members[0]
		if m.MemberID != id || *m.InstanceID != "i" || *m.RackID != "r" || m.MemberEpoch != 1 || m.ClientID != "tester" ||
			m.ClientHost != "/127.0.0.1" || len(m.Assignment.TopicPartitions) != 1 || m.Assignment.TopicPartitions[0].Topic != "t" ||
			len(m.TargetAssignment.TopicPartitions[0].Partitions) != 4 || v >= 1 && (m.MemberType != 1 || *m.SubscribedTopicRegex != "t|u") {
			t.Errorf("version %d: %+v", v, m)
		}

		beat := kmsg.NewPtrConsumerGroupHeartbeatRequest()
		beat.Version, beat.Group, beat.MemberID, beat.MemberEpoch = v, group, id, 1
		if resp := ask[*kmsg.ConsumerGroupHeartbeatResponse](c, beat); resp.ErrorCode != codeNone || resp.Assignment != nil || resp.MemberEpoch != 1 {
			t.Errorf("version %d: %+v", v, resp)
		}
		beat.MemberEpoch = -1
		if resp := ask[*kmsg.ConsumerGroupHeartbeatResponse](c, beat); resp.ErrorCode != codeNone || resp.MemberEpoch != -1 {
			t.Errorf("version %d: %+v", v, resp)
		}
	}
}

func TestConsumerGroupErrors(t *testing.T) {
	c := startGroups(t).dial()
	c.member("classic")
	c.enter("g", "m")
	for name, row := range map[string]struct {
		change func(*kmsg.ConsumerGroupHeartbeatRequest)
		want   int16
	}{
		"classic group":  {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Group = "classic" }, codeGroupIDNotFound},
		"no group":       {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Group = "" }, codeInvalidGroupID},
		"empty instance": {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.InstanceID = kmsg.StringPtr("") }, codeInvalidRequest},
		"no timeout":     {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.RebalanceTimeoutMillis = -1 }, codeInvalidRequest},
		"owns unknown":   {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Topics = nil }, codeInvalidRequest},
		"assignor":       {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.ServerAssignor = kmsg.StringPtr("x") }, codeUnsupportedAssignor},
		"regex":          {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicRegex = kmsg.StringPtr("[") }, codeInvalidRegularExpression},
		"unknown member": {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = 1 }, codeUnknownMemberID},
		"wrong epoch":    {func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberID, r.MemberEpoch = "m", 7 }, codeFencedMemberEpoch},
	} {
		req := enterRequest("g", "x", 1)
		row.change(req)
		if resp := ask[*kmsg.ConsumerGroupHeartbeatResponse](c, req); resp.ErrorCode != row.want || resp.ErrorMessage == nil {
			t.Errorf("%s: %+v, want %d", name, resp, row.want)
		}
	}
	if resp := ask[*kmsg.JoinGroupResponse](c, joinRequest("g", 3)); resp.ErrorCode != codeInconsistentGroupProtocol {
		t.Errorf("classic join: %+v", resp)
	}
}

// TestConsumerGroupInOtherRequests: what requests that serve both types say of a consumer group.
func TestConsumerGroupInOtherRequests(t *testing.T) {
	c := startGroups(t).dial()
	c.member("classic")
	c.enter("g", "m")
	for filter, want := range map[string]string{"": "[classic g]", "Classic": "[classic]", "consumer": "[g]", "share": "[]"} {
		req := kmsg.NewPtrListGroupsRequest()
		req.Version = 5
		if filter != "" {
			req.TypesFilter = []string{filter}
		}
		names := []string{}
		for _, g := range ask[*kmsg.ListGroupsResponse](c, req).Groups {
			names = append(names, g.Group)
			if isConsumer := g.Group == "g"; g.GroupState != "Stable" || g.ProtocolType != "consumer" || (g.GroupType == "consumer") != isConsumer {
				t.Errorf("%+v", g)
			}
		}
		if fmt.Sprint(names) != want {
			t.Errorf("type %q: %v, want %s", filter, names, want)
		}
	}
	for v := range int16(7) {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Version, req.Groups = v, []string{"g"}
		g := ask[*kmsg.DescribeGroupsResponse](c, req).Groups[0]
		if g.State != "Dead" || (g.ErrorCode == codeGroupIDNotFound) != (v >= 6) {
			t.Errorf("version %d: %+v", v, g)
		}
	}
	for v := int16(2); v <= 9; v++ {
		req := commitRequest("g", v)
		req.MemberID, req.Generation = "m", 1
		want := codeNone
		if v < 9 {
			want = codeUnsupportedVersion
		}
		if got := ask[*kmsg.OffsetCommitResponse](c, req).Topics[0].Partitions[0].ErrorCode; got != want {
			t.Errorf("commit in version %d: %d, want %d", v, got, want)
		}
		req.Generation = 2
		if got := ask[*kmsg.OffsetCommitResponse](c, req).Topics[0].Partitions[0].ErrorCode; v >= 9 && got != codeStaleMemberEpoch {
			t.Errorf("commit of a later epoch: %d", got)
		}
	}
	for _, row := range []struct {
		member *string
		epoch  int32
		want   int16
	}{{nil, -1, codeNone}, {kmsg.StringPtr("m"), 1, codeNone}, {kmsg.StringPtr("m"), 2, codeStaleMemberEpoch}, {kmsg.StringPtr("x"), 1, codeUnknownMemberID}} {
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Version = 9
		g := kmsg.NewOffsetFetchRequestGroup()
		g.Group, g.MemberID, g.MemberEpoch = "g", row.member, row.epoch
		req.Groups = append(req.Groups, g)
		got := ask[*kmsg.OffsetFetchResponse](c, req).Groups[0]
		if got.ErrorCode != row.want || (len(got.Topics) == 1) != (row.want == codeNone) {
			t.Errorf("fetch of offsets by %v in epoch %d: %+v", row.member, row.epoch, got)
		}
	}
}

func TestGroupVersionIsAFeature(t *testing.T) {
	c := startGroups(t).dial()
	for v := range int16(5) {
		req := kmsg.NewPtrApiVersionsRequest()
		req.Version, req.ClientSoftwareName, req.ClientSoftwareVersion = v, "test", "1"
		resp := ask[*kmsg.ApiVersionsResponse](c, req)
		if finalized := len(resp.FinalizedFeatures) == 1; finalized != (v >= 3) {
			t.Fatalf("version %d: %+v", v, resp.FinalizedFeatures)
		}
		if v >= 3 {
			f := resp.FinalizedFeatures[0]
			if f.Name != "group.version" || f.MinVersionLevel != 1 || f.MaxVersionLevel != 1 || resp.FinalizedFeaturesEpoch < 0 {
				t.Errorf("version %d: %+v, epoch %d", v, f, resp.FinalizedFeaturesEpoch)
			}
		}
		if supported := len(resp.SupportedFeatures) == 1; supported != (v >= 4) {
			t.Fatalf("version %d: %+v", v, resp.SupportedFeatures)
		}
		if v >= 4 {
			if f := resp.SupportedFeatures[0]; f.Name != "group.version" || f.MinVersion != 0 || f.MaxVersion != 1 {
				t.Errorf("version %d: %+v", v, f)
			}
		}
	}
}
