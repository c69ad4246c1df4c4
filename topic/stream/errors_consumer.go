package stream

import "fmt"

// Errors of requests about a consumer.
var (
	// ErrConsumerNotFound: there is no such consumer.
	ErrConsumerNotFound = &Error{404, 10014, "consumer not found"}
	// ErrConsumerNameExists: a consumer of this name has another configuration that cannot be changed to this one.
	ErrConsumerNameExists = &Error{400, 10013, "consumer name already in use"}
	// ErrMaximumConsumers: the stream has as many consumers as it may have.
	ErrMaximumConsumers = &Error{400, 10026, "maximum consumers limit reached"}
	// ErrConsumerConfigRequired: the request has no configuration.
	ErrConsumerConfigRequired = &Error{400, 10078, "consumer config required"}
	// ErrConsumerActive: the push consumer exists, and somebody listens to it.
	ErrConsumerActive = &Error{400, 10105, "consumer already exists and is still active"}
	// ErrConsumerExists: the request was to create it, and it exists with another configuration.
	ErrConsumerExists = &Error{400, 10148, "consumer already exists"}
	// ErrConsumerMissing: the request was to update it, and it does not exist.
	ErrConsumerMissing = &Error{400, 10149, "consumer does not exist"}
	// ErrConsumerOffline: the consumer's stream cannot be used.
	ErrConsumerOffline = &Error{500, 10119, "consumer is offline"}
)

// Errors of a consumer's name.
var (
	// ErrConsumerDurableNotInSubject: a durable name is in the body only.
	ErrConsumerDurableNotInSubject = &Error{400, 10016, "consumer expected to be durable but no durable name set in subject"}
	// ErrConsumerDurableMismatch: the durable names in the subject and in the body differ.
	ErrConsumerDurableMismatch = &Error{400, 10017, "consumer name in subject does not match durable name in request"}
	// ErrConsumerDurableNotSet: a durable name is in the subject only.
	ErrConsumerDurableNotSet = &Error{400, 10018, "consumer expected to be durable but a durable name was not set"}
	// ErrConsumerEphemeralInSubject: the body has no durable name, but the subject has.
	ErrConsumerEphemeralInSubject = &Error{400, 10019, "consumer expected to be ephemeral but detected a durable name set in subject"}
	// ErrConsumerEphemeralWithDurable: the subject is that of consumers without a durable name, and the body has one.
	ErrConsumerEphemeralWithDurable = &Error{400, 10020, "consumer expected to be ephemeral but a durable name was set in request"}
	// ErrConsumerBadDurable: the durable name holds what a name may not.
	ErrConsumerBadDurable = &Error{400, 10103, "durable name can not contain '.', '*', '>'"}
	// ErrConsumerReplacement: a consumer is replaced under another name.
	ErrConsumerReplacement = &Error{400, 10106, "consumer replacement durable config not the same"}
	// ErrConsumerPathSeparators: a consumer's name has a slash in it.
	ErrConsumerPathSeparators = &Error{400, 10127, "Consumer name can not contain path separators"}
	// ErrConsumerCreateFilter: the filters in the subject and in the body differ.
	ErrConsumerCreateFilter = &Error{400, 10131, "Consumer create request did not match filtered subject from create subject"}
	// ErrConsumerNames: name and durable_name differ.
	ErrConsumerNames = &Error{400, 10132, "Consumer Durable and Name have to be equal if both are provided"}
)

// Errors of push consumers.
var (
	// ErrConsumerDeliverWildcards: the deliver subject has wildcards.
	ErrConsumerDeliverWildcards = &Error{400, 10079, "consumer deliver subject has wildcards"}
	// ErrConsumerPushMaxWaiting: max_waiting is for pull consumers.
	ErrConsumerPushMaxWaiting = &Error{400, 10080, "consumer in push mode can not set max waiting"}
	// ErrConsumerDeliverCycle: the stream would store what it delivers.
	ErrConsumerDeliverCycle = &Error{400, 10081, "consumer deliver subject forms a cycle"}
	// ErrConsumerHeartbeatSmall: idle_heartbeat is below 100 ms.
	ErrConsumerHeartbeatSmall = &Error{400, 10083, "consumer idle heartbeat needs to be >= 100ms"}
	// ErrConsumerHeartbeatPush: idle_heartbeat is for push consumers.
	ErrConsumerHeartbeatPush = &Error{400, 10088, "consumer idle heartbeat requires a push based consumer"}
	// ErrConsumerFlowControlPush: flow_control is for push consumers.
	ErrConsumerFlowControlPush = &Error{400, 10089, "consumer flow control requires a push based consumer"}
	// ErrConsumerFlowControlHeartbeat: flow_control needs idle_heartbeat.
	ErrConsumerFlowControlHeartbeat = &Error{400, 10108, "consumer with flow control also needs heartbeats"}
	// ErrConsumerDeliverSubject: the deliver subject is none.
	ErrConsumerDeliverSubject = &Error{400, 10112, "invalid push consumer deliver subject"}
	// ErrConsumerPushPriority: priority groups are for pull consumers.
	ErrConsumerPushPriority = &Error{400, 10178, "priority groups can not be used with push consumers"}
	// ErrConsumerDirectPush: a direct consumer needs a deliver subject.
	ErrConsumerDirectPush = &Error{400, 10090, "consumer direct requires a push based consumer"}
	// ErrConsumerDirectEphemeral: a direct consumer is not durable.
	ErrConsumerDirectEphemeral = &Error{400, 10091, "consumer direct requires an ephemeral consumer"}
)

// Errors of pull consumers.
var (
	// ErrConsumerPullAck: a work queue is pulled with explicit acks.
	ErrConsumerPullAck = &Error{400, 10084, "consumer in pull mode requires explicit ack policy on workqueue stream"}
	// ErrConsumerPullNotDurable: this pull consumer needs a durable name.
	ErrConsumerPullNotDurable = &Error{400, 10085, "consumer in pull mode requires a durable name"}
	// ErrConsumerPullRateLimit: rate_limit_bps is for push consumers.
	ErrConsumerPullRateLimit = &Error{400, 10086, "consumer in pull mode can not have rate limit set"}
	// ErrConsumerMaxWaiting: max_waiting is below zero.
	ErrConsumerMaxWaiting = &Error{400, 10087, "consumer max waiting needs to be positive"}
	// ErrConsumerMaxBatch: max_batch is below zero.
	ErrConsumerMaxBatch = &Error{400, 10114, "consumer max request batch needs to be > 0"}
	// ErrConsumerMaxExpires: max_expires is below 1 ms.
	ErrConsumerMaxExpires = &Error{400, 10115, "consumer max request expires needs to be >= 1ms"}
	// ErrConsumerPriorityWithoutGroup: a priority policy needs a group.
	ErrConsumerPriorityWithoutGroup = &Error{400, 10159, "Setting PriorityPolicy requires at least one PriorityGroup to be set"}
	// ErrConsumerPriorityGroup: the consumer has no such group.
	ErrConsumerPriorityGroup = &Error{400, 10160, "Provided priority group does not exist for this consumer"}
	// ErrConsumerEmptyGroup: a group needs a name.
	ErrConsumerEmptyGroup = &Error{400, 10161, "Group name cannot be an empty string"}
	// ErrConsumerGroupName: a group's name holds what it may not, or is too long.
	ErrConsumerGroupName = &Error{400, 10162, "Valid priority group name must match A-Z, a-z, 0-9, -_/=)+ and may not exceed 16 characters"}
	// ErrConsumerGroupWithoutPolicy: groups need a priority policy.
	ErrConsumerGroupWithoutPolicy = &Error{400, 10196, "consumer can not have priority groups when policy is none"}
	// ErrConsumerPinnedWithoutPolicy: priority_timeout needs a priority policy.
	ErrConsumerPinnedWithoutPolicy = &Error{400, 10197, "PinnedTTL cannot be set when PriorityPolicy is none"}
)

// Errors of filters, acks and work queues.
var (
	// ErrConsumerMaxAckPending: without acks nothing can be pending.
	ErrConsumerMaxAckPending = &Error{400, 10082, "consumer requires ack policy for max ack pending"}
	// ErrConsumerFilterSubset: the filter matches nothing of the stream.
	ErrConsumerFilterSubset = &Error{400, 10093, "consumer filter subject is not a valid subset of the interest subjects"}
	// ErrConsumerWorkQueueAck: a work queue needs explicit acks.
	ErrConsumerWorkQueueAck = &Error{400, 10098, "workqueue stream requires explicit ack"}
	// ErrConsumerWorkQueueUnfiltered: a work queue has one consumer without a filter, and no other.
	ErrConsumerWorkQueueUnfiltered = &Error{400, 10099, "multiple non-filtered consumers not allowed on workqueue stream"}
	// ErrConsumerWorkQueueFilter: two consumers of a work queue have a subject in common.
	ErrConsumerWorkQueueFilter = &Error{400, 10100, "filtered consumer not unique on workqueue stream"}
	// ErrConsumerWorkQueuePolicy: a work queue delivers all of it.
	ErrConsumerWorkQueuePolicy = &Error{400, 10101, "consumer must be deliver all on workqueue stream"}
	// ErrConsumerBackoff: backoff has as many steps as there are deliveries, or more.
	ErrConsumerBackoff = &Error{400, 10116, "max deliver is required to be > length of backoff values"}
	// ErrConsumerReplicasStream: the stream has fewer replicas.
	ErrConsumerReplicasStream = &Error{400, 10126, "consumer config replica count exceeds parent stream"}
	// ErrConsumerReplicasInterest: the stream has another number of replicas.
	ErrConsumerReplicasInterest = &Error{400, 10134, "consumer config replicas must match interest retention stream's replicas"}
	// ErrConsumerTwoFilters: filter_subject and filter_subjects were both given.
	ErrConsumerTwoFilters = &Error{400, 10136, "consumer cannot have both FilterSubject and FilterSubjects specified"}
	// ErrConsumerFiltersInSubject: several filters cannot stand in the subject of a request.
	ErrConsumerFiltersInSubject = &Error{400, 10137, "consumer with multiple subject filters cannot use subject based API"}
	// ErrConsumerFiltersOverlap: two filters match the same subject.
	ErrConsumerFiltersOverlap = &Error{400, 10138, "consumer subject filters cannot overlap"}
	// ErrConsumerEmptyFilter: a filter is empty.
	ErrConsumerEmptyFilter = &Error{400, 10139, "consumer filter in FilterSubjects cannot be empty"}
	// ErrConsumerAckPolicy: the ack policy is unknown, or not for this consumer.
	ErrConsumerAckPolicy = &Error{400, 10181, "consumer ack policy invalid"}
	// ErrConsumerReplayPolicy: the replay policy is unknown.
	ErrConsumerReplayPolicy = &Error{400, 10182, "consumer replay policy invalid"}
	// ErrConsumerAckWait: ack_wait is below zero.
	ErrConsumerAckWait = &Error{400, 10183, "consumer ack wait needs to be positive"}
	// ErrConsumerBackoffNegative: a step of backoff is below zero.
	ErrConsumerBackoffNegative = &Error{400, 10184, "consumer backoff needs to be positive"}
)

// ConsumerCreateFailed says why a consumer could not be made, where no other code does.
func ConsumerCreateFailed(err error) *Error {
	return &Error{500, 10012, err.Error()}
}

// ConsumerPolicy says why a deliver policy cannot be used.
func ConsumerPolicy(err error) *Error {
	return &Error{400, 10094, err.Error()}
}

// ConsumerSampling says that sample_freq is no percentage.
func ConsumerSampling(err error) *Error {
	return &Error{400, 10095, fmt.Sprintf("failed to parse consumer sampling configuration: %s", err)}
}

// ConsumerNameTooLong tells the length that a consumer's name may have.
func ConsumerNameTooLong(most int) *Error {
	return &Error{400, 10102, fmt.Sprintf("consumer name is too long, maximum allowed is %d", most)}
}

// ConsumerDescriptionTooLong tells the length that a consumer's description may have.
func ConsumerDescriptionTooLong(most int) *Error {
	return &Error{400, 10107, fmt.Sprintf("consumer description is too long, maximum allowed is %d", most)}
}

// ConsumerMaxAckPendingExcess tells the highest max_ack_pending.
func ConsumerMaxAckPendingExcess(limit int) *Error {
	return &Error{400, 10121, fmt.Sprintf("consumer max ack pending exceeds system limit of %d", limit)}
}

// ConsumerMaxBatchExcess tells the highest max_batch.
func ConsumerMaxBatchExcess(limit int) *Error {
	return &Error{400, 10125, fmt.Sprintf("consumer max request batch exceeds server limit of %d", limit)}
}

// ConsumerMetadataTooLong tells how large a consumer's metadata may be.
func ConsumerMetadataTooLong(limit string) *Error {
	return &Error{400, 10135, fmt.Sprintf("consumer metadata exceeds maximum size of %s", limit)}
}

// ConsumerInactiveExcess tells the highest inactive_threshold.
func ConsumerInactiveExcess(limit string) *Error {
	return &Error{400, 10153, fmt.Sprintf("consumer inactive threshold exceeds system limit of %s", limit)}
}

// ConsumerReset says why a consumer cannot be reset to a sequence.
func ConsumerReset(err error) *Error {
	return &Error{400, 10204, fmt.Sprintf("invalid reset: %s", err)}
}
