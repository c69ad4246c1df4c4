package kafka

import (
	"context"
	"errors"

	"brokerd/consumer"
	"brokerd/log"
	"brokerd/producer"
	"brokerd/topic"
)

// Error codes of the Kafka protocol, under its names.
const (
	codeNone                       int16 = 0
	codeOffsetOutOfRange           int16 = 1
	codeCorruptMessage             int16 = 2
	codeUnknownTopicOrPartition    int16 = 3
	codeRequestTimedOut            int16 = 7
	codeReplicaNotAvailable        int16 = 9
	codeMessageTooLarge            int16 = 10
	codeOffsetMetadataTooLarge     int16 = 12
	codeCoordinatorNotAvailable    int16 = 15
	codeInvalidTopic               int16 = 17
	codeRecordListTooLarge         int16 = 18
	codeInvalidRequiredAcks        int16 = 21
	codeIllegalGeneration          int16 = 22
	codeInconsistentGroupProtocol  int16 = 23
	codeInvalidGroupID             int16 = 24
	codeUnknownMemberID            int16 = 25
	codeInvalidSessionTimeout      int16 = 26
	codeRebalanceInProgress        int16 = 27
	codeInvalidTimestamp           int16 = 32
	codeUnsupportedVersion         int16 = 35
	codeTopicAlreadyExists         int16 = 36
	codeInvalidPartitions          int16 = 37
	codeInvalidReplicationFactor   int16 = 38
	codeInvalidReplicaAssignment   int16 = 39
	codeInvalidConfig              int16 = 40
	codeInvalidRequest             int16 = 42
	codePolicyViolation            int16 = 44
	codeOutOfOrderSequence         int16 = 45
	codeInvalidProducerEpoch       int16 = 47
	codeTransactionalIDDenied      int16 = 53
	codeStorageError               int16 = 56
	codeLogDirNotFound             int16 = 57
	codeNonEmptyGroup              int16 = 68
	codeGroupIDNotFound            int16 = 69
	codeFetchSessionIDNotFound     int16 = 70
	codeInvalidFetchSessionEpoch   int16 = 71
	codeFencedLeaderEpoch          int16 = 74
	codeUnknownLeaderEpoch         int16 = 75
	codeUnsupportedCompressionType int16 = 76
	codeMemberIDRequired           int16 = 79
	codeGroupMaxSizeReached        int16 = 81
	codeFencedInstanceID           int16 = 82
	codeElectionNotNeeded          int16 = 84
	codeNoReassignmentInProgress   int16 = 85
	codeGroupSubscribedToTopic     int16 = 86
	codeInvalidRecord              int16 = 87
	codeUnknownTopicID             int16 = 100
	codeFetchSessionTopicID        int16 = 106
	codeFencedMemberEpoch          int16 = 110
	codeUnreleasedInstanceID       int16 = 111
	codeUnsupportedAssignor        int16 = 112
	codeStaleMemberEpoch           int16 = 113
	codeMismatchedEndpointType     int16 = 114
	codeUnsupportedEndpointType    int16 = 115
	codeInvalidRegularExpression   int16 = 128
)

// errorCodes maps every error of the packages below to what a client sees, the more special ones first.
var errorCodes = []struct {
	err  error
	code int16
}{
	{topic.ErrNotFound, codeUnknownTopicOrPartition},
	{topic.ErrNoPartition, codeUnknownTopicOrPartition},
	{topic.ErrExists, codeTopicAlreadyExists},
	{topic.ErrBadName, codeInvalidTopic},
	{topic.ErrBadPartitions, codeInvalidPartitions},
	{topic.ErrBadConfig, codeInvalidConfig},
	{topic.ErrTooLarge, codeMessageTooLarge},
	{topic.ErrBadTimestamp, codeInvalidTimestamp},
	{topic.ErrKeyless, codeInvalidRecord},
	{topic.ErrPolicy, codePolicyViolation},
	{topic.ErrRefused, codePolicyViolation},
	{topic.ErrNewerFormat, codeStorageError},

	{producer.ErrOutOfOrder, codeOutOfOrderSequence},
	{producer.ErrFenced, codeInvalidProducerEpoch},
	{producer.ErrOverBudget, codeMessageTooLarge},
	{producer.ErrBadSnapshot, codeStorageError},

	{log.ErrTooLarge, codeRecordListTooLarge},
	{log.ErrBadCRC, codeCorruptMessage},
	{log.ErrBadCodec, codeUnsupportedCompressionType},
	{log.ErrInflated, codeMessageTooLarge},
	{log.ErrBadBatch, codeInvalidRecord},
	{log.ErrNoSpace, codeStorageError},
	{log.ErrTooManyFiles, codeStorageError},
	{log.ErrFailed, codeStorageError},
	{log.ErrClosed, codeStorageError},
	{log.ErrNewerFormat, codeStorageError},

	{consumer.ErrInvalidGroupID, codeInvalidGroupID},
	{consumer.ErrInvalidSessionTimeout, codeInvalidSessionTimeout},
	{consumer.ErrInconsistentProtocol, codeInconsistentGroupProtocol},
	{consumer.ErrMemberIDRequired, codeMemberIDRequired},
	{consumer.ErrUnknownMember, codeUnknownMemberID},
	{consumer.ErrIllegalGeneration, codeIllegalGeneration},
	{consumer.ErrRebalanceInProgress, codeRebalanceInProgress},
	{consumer.ErrFencedInstance, codeFencedInstanceID},
	{consumer.ErrInvalidHeartbeat, codeInvalidRequest},
	{consumer.ErrFencedEpoch, codeFencedMemberEpoch},
	{consumer.ErrStaleEpoch, codeStaleMemberEpoch},
	{consumer.ErrUnreleasedInstance, codeUnreleasedInstanceID},
	{consumer.ErrUnknownAssignor, codeUnsupportedAssignor},
	{consumer.ErrInvalidRegex, codeInvalidRegularExpression},
	{consumer.ErrClientTooOld, codeUnsupportedVersion},
	{consumer.ErrGroupFull, codeGroupMaxSizeReached},
	{consumer.ErrTooLarge, codeInvalidRequest},
	{consumer.ErrNotFound, codeGroupIDNotFound},
	{consumer.ErrNonEmpty, codeNonEmptyGroup},
	{consumer.ErrSubscribed, codeGroupSubscribedToTopic},
	{consumer.ErrMetadataTooLarge, codeOffsetMetadataTooLarge},
	{consumer.ErrUnknownPartition, codeUnknownTopicOrPartition},
	{consumer.ErrInvalidOffset, codeInvalidRequest},
	{consumer.ErrStorage, codeCoordinatorNotAvailable},
	{consumer.ErrClosed, codeCoordinatorNotAvailable},

	{context.DeadlineExceeded, codeRequestTimedOut},
	{context.Canceled, codeRequestTimedOut},
}

// codeOf is the protocol's code for an error; KAFKA_STORAGE_ERROR, which clients retry, for one that is not known, since
// nearly all of those come from the disk.
func codeOf(err error) int16 {
	if err == nil {
		return codeNone
	}
	var f *fault
	if errors.As(err, &f) {
		return f.code
	}
	var outside *log.RangeError
	if errors.As(err, &outside) {
		return codeOffsetOutOfRange
	}
	var damage *log.CorruptError
	if errors.As(err, &damage) {
		return codeCorruptMessage
	}
	for _, e := range errorCodes {
		if errors.Is(err, e.err) {
			return e.code
		}
	}
	return codeStorageError
}

// messageOf is the text that goes with codeOf, for responses that have a place for it.
func messageOf(err error) *string {
	if err == nil {
		return nil
	}
	m := err.Error()
	return &m
}
