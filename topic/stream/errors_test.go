package stream

import (
	"errors"
	"fmt"
	"testing"
)

func TestErrorsCarryTheirCause(t *testing.T) {
	for _, c := range []struct {
		err  *Error
		want Error
	}{
		{InvalidConfig(errors.New("invalid subject")), Error{500, 10052, "invalid subject"}},
		{InvalidJSON(errors.New("EOF")), Error{400, 10025, "invalid JSON: EOF"}},
		{WrongLastSequence(5), Error{400, 10071, "wrong last sequence: 5"}},
		{WrongLastID("a"), Error{400, 10070, "wrong last msg ID: a"}},
		{NoSequence(7), Error{400, 10043, "sequence 7 not found"}},
		{Pedantic(errors.New("x")), Error{400, 10157, "pedantic mode: x"}},
		{StoreFailed(errors.New("maximum messages exceeded")), Error{503, 10077, "maximum messages exceeded"}},
	} {
		if *c.err != c.want {
			t.Errorf("got %+v, want %+v", *c.err, c.want)
		}
	}
}

func TestErrorsAreComparedByCode(t *testing.T) {
	err := fmt.Errorf("publish: %w", WrongLastSequence(5))
	if !errors.Is(err, WrongLastSequence(0)) || errors.Is(err, ErrWrongLastSequence) {
		t.Error("the code does not decide")
	}
}
