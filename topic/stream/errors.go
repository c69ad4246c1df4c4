package stream

import "fmt"

// Error is an error of JetStream's API, as its clients know it (nats-server errors.json).
type Error struct {
	Code        int    `json:"code"`     // like HTTP's
	ErrCode     uint16 `json:"err_code"` // what clients compare
	Description string `json:"description"`
}

func (e *Error) Error() string { return fmt.Sprintf("%s (%d)", e.Description, e.ErrCode) }

// Is makes errors with the same ErrCode equal, whatever their descriptions say.
func (e *Error) Is(other error) bool {
	o, ok := other.(*Error)
	return ok && o.ErrCode == e.ErrCode
}
