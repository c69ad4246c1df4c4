package consumer

import "time"

// Protocol is one way to assign that a member supports, with the subscription it states for it.
type Protocol struct {
	Name     string
	Metadata []byte
}

// JoinRequest asks to become, or to stay, a member of a group.
type JoinRequest struct {
	Group            string
	MemberID         string // "" asks for a new one
	InstanceID       string // "" for a dynamic member (KIP-345)
	ClientID         string
	Host             string
	ProtocolType     string
	Protocols        []Protocol // in the member's order of preference
	SessionTimeout   time.Duration
	RebalanceTimeout time.Duration // 0 or less takes the session timeout (JoinGroup v0 has none)
	RequireMemberID  bool          // the client understands ErrMemberIDRequired (KIP-394, v4 and later)
	CanSkip          bool          // the client understands SkipAssignment (v9)
}

// JoinResponse is the answer to a join. With ErrMemberIDRequired it carries the MemberID alone.
type JoinResponse struct {
	MemberID       string
	Generation     int32
	ProtocolType   string
	Protocol       string
	Leader         string         // the member that assigns
	SkipAssignment bool           // the leader is not to assign: nothing changed
	Members        []Subscription // for the leader alone, in the order in which they first joined
}

// Subscription is what the leader is told of a member.
type Subscription struct {
	MemberID   string
	InstanceID string
	Metadata   []byte
}

// SyncRequest asks for the member's assignment; the leader brings everybody's.
type SyncRequest struct {
	Group        string
	MemberID     string
	InstanceID   string
	Generation   int32
	ProtocolType string // "" is not checked (before SyncGroup v5)
	Protocol     string // "" is not checked
	Assignments  map[string][]byte
}

// SyncResponse is a member's assignment.
type SyncResponse struct {
	ProtocolType string
	Protocol     string
	Assignment   []byte
}

// MemberRef names a member. In a leave, an InstanceID alone is enough.
type MemberRef struct {
	MemberID   string
	InstanceID string
}

// Offset is a committed position.
type Offset struct {
	Offset      int64
	LeaderEpoch int32 // -1 when the client gave none
	Metadata    string
	Time        time.Time // of the commit
}

// Committed is a committed position with its place.
type Committed struct {
	Topic     string
	Partition int32
	Offset
}

// CommitRequest saves positions. A Generation below 0 commits from outside the group, which only a group without
// members takes: the way of consumers that assign themselves, and of administrators.
type CommitRequest struct {
	Group      string
	MemberID   string
	InstanceID string
	Generation int32       // or the epoch of a member of a consumer group
	Offsets    []Committed // Time is set by the broker

	MemberEpochs bool // the client knows of epochs (OffsetCommit v9)
}
