package stream

import "fmt"

// Errors of any request.
var (
	// ErrAccountResources: the account has a limit on streams, consumers or bytes, and it is reached.
	ErrAccountResources = &Error{400, 10002, "resource limits exceeded for account"}
	// ErrBadRequest: the subject is none of the API's, or the request lacks what it is about.
	ErrBadRequest = &Error{400, 10003, "bad request"}
	// ErrClusterNotActive: the request is about a cluster, and this is one node.
	ErrClusterNotActive = &Error{500, 10006, "JetStream not in clustered mode"}
	// ErrUnavailable: JetStream cannot answer now; try again.
	ErrUnavailable = &Error{503, 10008, "JetStream system temporarily unavailable"}
	// ErrClusterRequired: the request needs a cluster.
	ErrClusterRequired = &Error{503, 10010, "JetStream clustering support required"}
	// ErrInsufficientResources: there is no memory or no disk for it.
	ErrInsufficientResources = &Error{503, 10023, "insufficient resources"}
	// ErrMemoryResources: there is no memory for it.
	ErrMemoryResources = &Error{500, 10028, "insufficient memory resources available"}
	// ErrNoAccount: there is no such account.
	ErrNoAccount = &Error{503, 10035, "account not found"}
	// ErrNotEmptyRequest: the request takes no body.
	ErrNotEmptyRequest = &Error{400, 10038, "expected an empty request payload"}
	// ErrNotEnabledForAccount: the account may not use JetStream.
	ErrNotEnabledForAccount = &Error{503, 10039, "JetStream not enabled for account"}
	// ErrStorageResources: there is no disk for it.
	ErrStorageResources = &Error{500, 10047, "insufficient storage resources available"}
	// ErrNotEnabled: this broker runs without JetStream.
	ErrNotEnabled = &Error{503, 10076, "JetStream not enabled"}
	// ErrTooManyRequests: more is waiting to be written than the stream may hold: send slower, and try again.
	ErrTooManyRequests = &Error{429, 10167, "too many requests"}
	// ErrRequiredAPILevel: the request names an API level that this broker does not have.
	ErrRequiredAPILevel = &Error{412, 10185, "JetStream minimum api level required"}
)

// Errors of requests about a stream.
var (
	// ErrMaximumStreams: there are as many streams as there may be.
	ErrMaximumStreams = &Error{400, 10027, "maximum number of streams reached"}
	// ErrNoMessage: nothing is stored at that sequence, or under that subject.
	ErrNoMessage = &Error{404, 10037, "no message found"}
	// ErrStreamMismatch: the name in the subject is another one than in the body.
	ErrStreamMismatch = &Error{400, 10056, "stream name in subject does not match request"}
	// ErrStreamExists: a stream of this name has another configuration.
	ErrStreamExists = &Error{400, 10058, "stream name already in use with a different configuration"}
	// ErrStreamNotFound: there is no such stream.
	ErrStreamNotFound = &Error{404, 10059, "stream not found"}
	// ErrSubjectOverlap: another stream has a subject in common with this one.
	ErrSubjectOverlap = &Error{400, 10065, "subjects overlap with an existing stream"}
	// ErrReplicas: this is one node, there can be no second copy.
	ErrReplicas = &Error{500, 10074, "replicas > 1 not supported in non-clustered mode"}
	// ErrStreamInvalid: the stream cannot be used.
	ErrStreamInvalid = &Error{500, 10096, "stream not valid"}
	// ErrTooManySubjects: there are more subjects than an answer may list.
	ErrTooManySubjects = &Error{500, 10117, "subject details would exceed maximum allowed"}
	// ErrStreamOffline: the stream's log cannot be used.
	ErrStreamOffline = &Error{500, 10118, "stream is offline"}
	// ErrNamePathSeparators: a stream's name has a slash in it.
	ErrNamePathSeparators = &Error{400, 10128, "Stream name can not contain path separators"}
	// ErrExistsRestore: a stream of this name exists, and nothing is restored over it.
	ErrExistsRestore = &Error{400, 10130, "stream name already in use, cannot restore"}
	// ErrReplicasNegative: the number of replicas is below zero.
	ErrReplicasNegative = &Error{400, 10133, "replicas count cannot be negative"}
	// ErrMaxBytesRequired: the account's streams need a limit in bytes.
	ErrMaxBytesRequired = &Error{400, 10113, "account requires a stream config to have max bytes set"}
	// ErrMaxStreamBytes: the limit in bytes is larger than the account's streams may have.
	ErrMaxStreamBytes = &Error{400, 10122, "stream max bytes exceeds account limit max stream bytes"}
	// ErrSnapshotDeliverSubject: a snapshot cannot be sent to this subject.
	ErrSnapshotDeliverSubject = &Error{400, 10015, "deliver subject not valid"}
)

// InvalidJSON says that a request is no JSON, or has a field that the API does not know.
func InvalidJSON(err error) *Error {
	return &Error{400, 10025, fmt.Sprintf("invalid JSON: %s", err)}
}

// NoSequence says that a sequence holds no message.
func NoSequence(sequence uint64) *Error {
	return &Error{400, 10043, fmt.Sprintf("sequence %d not found", sequence)}
}

// CreateFailed says why a stream could not be made, where no other code does.
func CreateFailed(err error) *Error {
	return &Error{500, 10049, err.Error()}
}

// DeleteFailed says why a stream could not be deleted.
func DeleteFailed(err error) *Error {
	return &Error{500, 10050, err.Error()}
}

// GeneralError says what went wrong, where no other code does.
func GeneralError(err error) *Error {
	return &Error{500, 10051, err.Error()}
}

// InvalidConfig says which rule a stream's configuration breaks.
func InvalidConfig(err error) *Error {
	return &Error{500, 10052, err.Error()}
}

// LimitsError says which limit of the account a stream would break.
func LimitsError(err error) *Error {
	return &Error{500, 10053, err.Error()}
}

// MessageDeleteFailed says why a message could not be deleted.
func MessageDeleteFailed(err error) *Error {
	return &Error{500, 10057, err.Error()}
}

// RestoreFailed says why a stream could not be restored.
func RestoreFailed(err error) *Error {
	return &Error{500, 10062, fmt.Sprintf("restore failed: %s", err)}
}

// SnapshotFailed says why a snapshot could not be made.
func SnapshotFailed(err error) *Error {
	return &Error{500, 10064, fmt.Sprintf("snapshot failed: %s", err)}
}

// UpdateFailed says why a stream could not be changed, where no other code does.
func UpdateFailed(err error) *Error {
	return &Error{500, 10069, err.Error()}
}

// PurgeFailed says why a stream could not be purged.
func PurgeFailed(err error) *Error {
	return &Error{500, 10110, err.Error()}
}

// Pedantic says what a pedantic request left to the broker to put right.
func Pedantic(err error) *Error {
	return &Error{400, 10157, fmt.Sprintf("pedantic mode: %s", err)}
}

// OfflineReason says why a stream cannot be used.
func OfflineReason(err error) *Error {
	return &Error{500, 10194, fmt.Sprintf("stream is offline: %s", err)}
}
