package consumer

import (
	"errors"

	"brokerd/consumer/store"
)

// Errors that requests meet. Front ends map them one by one; each may be wrapped with the reason.
var (
	// ErrInvalidGroupID refuses an empty group id, or one longer than MaxGroupID.
	ErrInvalidGroupID = errors.New("consumer: invalid group id")
	// ErrInvalidSessionTimeout refuses a session timeout outside Settings.MinSession and MaxSession.
	ErrInvalidSessionTimeout = errors.New("consumer: session timeout is outside the allowed range")
	// ErrInconsistentProtocol refuses a member that shares no protocol with all others, or whose type is another.
	ErrInconsistentProtocol = errors.New("consumer: the member's protocols do not fit the group's")
	// ErrMemberIDRequired asks a new member to join again with the id that comes with it (KIP-394).
	ErrMemberIDRequired = errors.New("consumer: join again with the given member id")
	// ErrUnknownMember says that the group has no such member (any more): it has to join as a new one.
	ErrUnknownMember = errors.New("consumer: unknown member")
	// ErrIllegalGeneration refuses a request of an older generation: the member has to join again.
	ErrIllegalGeneration = errors.New("consumer: illegal generation")
	// ErrRebalanceInProgress asks the member to join again, because the group is being rebalanced.
	ErrRebalanceInProgress = errors.New("consumer: rebalance in progress")
	// ErrFencedInstance refuses a member whose instance id was taken over by a newer member (KIP-345).
	ErrFencedInstance = errors.New("consumer: instance id is owned by another member")
	// ErrInvalidHeartbeat refuses a heartbeat of a consumer group that contradicts itself or lacks something (KIP-848).
	ErrInvalidHeartbeat = errors.New("consumer: invalid heartbeat")
	// ErrFencedEpoch refuses a member whose epoch is not the one that the group knows: it has to give up its partitions
	// and join again.
	ErrFencedEpoch = errors.New("consumer: the member's epoch is not the expected one")
	// ErrStaleEpoch refuses the offsets of a member whose epoch is not the one that the group knows: it may try again
	// after the next heartbeat.
	ErrStaleEpoch = errors.New("consumer: the member's epoch is out of date")
	// ErrUnreleasedInstance refuses a static member whose instance id still belongs to another one.
	ErrUnreleasedInstance = errors.New("consumer: instance id is still in use")
	// ErrUnknownAssignor refuses an assignor that does not exist.
	ErrUnknownAssignor = errors.New("consumer: unknown assignor")
	// ErrInvalidRegex refuses a subscription that is no regular expression.
	ErrInvalidRegex = errors.New("consumer: invalid regular expression")
	// ErrClientTooOld refuses a commit by a member whose client knows nothing of member epochs.
	ErrClientTooOld = errors.New("consumer: the member's client has to send its epoch")
	// ErrGroupFull refuses a member above Settings.MaxMembers, or one whose subscription would not fit.
	ErrGroupFull = errors.New("consumer: group is full")
	// ErrTooLarge refuses a join whose subscriptions exceed MaxSubscription.
	ErrTooLarge = errors.New("consumer: subscription is too large")
	// ErrNotFound says that there is no such group.
	ErrNotFound = errors.New("consumer: no such group")
	// ErrNonEmpty refuses what only a group without members allows, such as its deletion.
	ErrNonEmpty = errors.New("consumer: group has members")
	// ErrSubscribed refuses to delete offsets of a topic that a member is subscribed to.
	ErrSubscribed = errors.New("consumer: group is subscribed to the topic")
	// ErrMetadataTooLarge refuses a commit whose text is longer than MaxMetadata.
	ErrMetadataTooLarge = errors.New("consumer: offset metadata is too large")
	// ErrUnknownPartition refuses a commit for a topic or partition that does not exist.
	ErrUnknownPartition = errors.New("consumer: no such topic or partition")
	// ErrInvalidOffset refuses a commit of a negative offset.
	ErrInvalidOffset = errors.New("consumer: invalid offset")
	// ErrStorage says that the change could not be saved; it may be tried again.
	ErrStorage = store.ErrFailed
	// ErrClosed says that the broker is stopping.
	ErrClosed = store.ErrClosed
)
