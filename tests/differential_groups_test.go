package tests

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func groupSteps() []step {
	commit := func(group, metadata string, generation int32, topics ...string) func(*peer, int16) kmsg.Request {
		return func(p *peer, version int16) kmsg.Request {
			req := kmsg.NewPtrOffsetCommitRequest()
			req.Group, req.Generation = group, generation
			for _, topic := range topics {
				q := kmsg.NewOffsetCommitRequestTopicPartition()
				q.Offset, q.Metadata = int64(version), text(metadata)
				req.Topics = append(req.Topics, kmsg.OffsetCommitRequestTopic{
					Topic: topic, TopicID: p.topics[topic], Partitions: []kmsg.OffsetCommitRequestTopicPartition{q},
				})
			}
			return req
		}
	}
	offsets := func(group string) func(*peer, int16) kmsg.Request {
		return func(p *peer, version int16) kmsg.Request {
			req := kmsg.NewPtrOffsetFetchRequest()
			req.Group = group
			req.Topics = []kmsg.OffsetFetchRequestTopic{
				{Topic: scriptMain, Partitions: []int32{0, 1}}, {Topic: "nowhere", Partitions: []int32{0}},
			}
			asked := kmsg.NewOffsetFetchRequestGroup()
			asked.Group = group
			asked.Topics = []kmsg.OffsetFetchRequestGroupTopic{
				{Topic: scriptMain, TopicID: p.topics[scriptMain], Partitions: []int32{0, 1}},
				{Topic: "nowhere", TopicID: p.topics["nowhere"], Partitions: []int32{0}},
			}
			req.Groups = append(req.Groups, asked)
			return req
		}
	}
	join := func(group string) func(*peer, int16) kmsg.Request {
		return func(p *peer, version int16) kmsg.Request {
			req := kmsg.NewPtrJoinGroupRequest()
			req.Group, req.MemberID, req.ProtocolType = group, p.member, "consumer"
			req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 20_000, 20_000
			req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: []byte("m")}}
			return req
		}
	}
	learn := func(p *peer, answer kmsg.Response) {
		joined := answer.(*kmsg.JoinGroupResponse)
		p.member, p.epoch = joined.MemberID, joined.Generation
	}
	sync := func(generation func(*peer) int32) func(*peer, int16) kmsg.Request {
		return func(p *peer, _ int16) kmsg.Request {
			req := kmsg.NewPtrSyncGroupRequest()
			req.Group, req.MemberID, req.Generation = scriptGroup, p.member, generation(p)
			req.ProtocolType, req.Protocol = text("consumer"), text("range")
			req.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: p.member, MemberAssignment: []byte("mine")}}
			return req
		}
	}
	beat := func(member func(*peer) string, generation func(*peer) int32) func(*peer, int16) kmsg.Request {
		return func(p *peer, _ int16) kmsg.Request {
			req := kmsg.NewPtrHeartbeatRequest()
			req.Group, req.MemberID, req.Generation = scriptGroup, member(p), generation(p)
			return req
		}
	}
	me := func(p *peer) string { return p.member }
	now := func(p *peer) int32 { return p.epoch }
	later := func(p *peer) int32 { return p.epoch + 5 }
	describe := func(groups ...string) func(*peer, int16) kmsg.Request {
		return func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Groups = groups
			return req
		}
	}
	leave := func(members ...string) func(*peer, int16) kmsg.Request {
		return func(p *peer, _ int16) kmsg.Request {
			req := kmsg.NewPtrLeaveGroupRequest()
			req.Group, req.MemberID = scriptGroup, p.member
			req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: p.member}, {MemberID: "stranger"}}
			return req
		}
	}
	return []step{
		{name: "find a coordinator", min: 0, max: 6, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorKey, req.CoordinatorKeys = scriptGroup, []string{scriptGroup, "another"}
			return req
		}},
		{name: "find no kind of coordinator", min: 1, max: 6, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorType, req.CoordinatorKey, req.CoordinatorKeys = 9, scriptGroup, []string{scriptGroup}
			return req
		}},
		{name: "commit without a group", min: 2, max: 9, ask: commit("simple", "text", -1, scriptMain, "nowhere")},
		{name: "commit by id", min: 10, max: 10, ask: commit("simple", "text", -1, scriptMain)},
		{name: "commit a long text", min: 2, max: 9, ask: commit("wordy", strings.Repeat("x", 5000), -1, scriptMain)},
		{name: "commit as a member of no group", min: 2, max: 9, ask: commit("unknown", "", 3, scriptMain)},
		{name: "offsets of a group", min: 1, max: 9, ask: offsets("simple")},
		{name: "offsets of an unknown group", min: 1, max: 9, ask: offsets("unknown")},
		{name: "heartbeat in no group", min: 0, max: 4, ask: beat(func(*peer) string { return "stranger" }, func(*peer) int32 { return 1 })},
		{name: "join without a group id", min: 2, max: 9, ask: join("")},
		{name: "join for the first time", min: 4, max: 4, ask: join(scriptGroup), learn: learn},
		{name: "join", min: 4, max: 4, ask: join(scriptGroup), learn: learn},
		{name: "sync", min: 0, max: 5, ask: sync(now)},
		{name: "sync another generation", min: 0, max: 5, ask: sync(later)},
		{name: "heartbeat", min: 0, max: 4, ask: beat(me, now)},
		{name: "heartbeat of another generation", min: 0, max: 4, ask: beat(me, later)},
		{name: "heartbeat of a stranger", min: 0, max: 4, ask: beat(func(*peer) string { return "stranger" }, now)},
		{name: "commit of a stranger", min: 2, max: 9, ask: commit(scriptGroup, "", 1, scriptMain)},
		{name: "describe groups", min: 0, max: 6, ask: describe(scriptGroup, "simple", "unknown")},
		{name: "list groups", min: 0, max: 5, ask: func(*peer, int16) kmsg.Request { return kmsg.NewPtrListGroupsRequest() }},
		{name: "list stable groups", min: 4, max: 5, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrListGroupsRequest()
			req.StatesFilter = []string{"Stable"}
			return req
		}},
		{name: "delete groups", min: 0, max: 2, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Groups = []string{scriptGroup, "unknown"}
			return req
		}},
		{name: "delete offsets", min: 0, max: 0, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrOffsetDeleteRequest()
			req.Group = "simple"
			req.Topics = []kmsg.OffsetDeleteRequestTopic{
				{Topic: scriptMain, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}},
			}
			return req
		}},
		{name: "delete offsets of an unknown group", min: 0, max: 0, ask: func(*peer, int16) kmsg.Request {
			req := kmsg.NewPtrOffsetDeleteRequest()
			req.Group = "unknown"
			return req
		}},
		{name: "leave", min: 3, max: 3, ask: leave()},
		{name: "leave again", min: 0, max: 5, ask: leave()},
		{name: "describe an empty group", min: 0, max: 6, ask: describe(scriptGroup)},
	}
}
