package producer

import "errors"

var (
	// ErrOutOfOrder refuses a batch whose first sequence does not follow the last one (KIP-98).
	ErrOutOfOrder = errors.New("producer: sequence out of order")
	// ErrFenced refuses a batch of an older producer epoch.
	ErrFenced = errors.New("producer: epoch is fenced by a newer one")
	// ErrOverBudget refuses a request for more memory than the whole budget.
	ErrOverBudget = errors.New("producer: larger than the whole memory budget")
	// ErrBadSnapshot is returned by Table.Restore for bytes that Table.Snapshot did not write.
	ErrBadSnapshot = errors.New("producer: invalid snapshot")
)
