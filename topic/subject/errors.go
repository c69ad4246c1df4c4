package subject

import (
	"errors"
	"fmt"
)

var (
	// ErrInvalid says that something is neither a subject nor a filter, or not one that can stand where it does.
	ErrInvalid = errors.New("invalid subject")
	// ErrDestination says that a transform's destination cannot be made of what its source matches.
	ErrDestination = errors.New("invalid mapping destination")

	errDestinationSubject = fmt.Errorf("%w: invalid transform", ErrDestination)
	errUnknownFunction    = fmt.Errorf("%w: unknown function", ErrDestination)
	errIndexOutOfRange    = fmt.Errorf("%w: wildcard index out of range", ErrDestination)
	errNotEnoughArguments = fmt.Errorf("%w: not enough arguments passed to the function", ErrDestination)
	errTooManyArguments   = fmt.Errorf("%w: too many arguments passed to the function", ErrDestination)
	errInvalidArgument    = fmt.Errorf("%w: function argument is invalid or in the wrong format", ErrDestination)
)
