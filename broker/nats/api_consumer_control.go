package nats

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"brokerd/consumer/durable"
	"brokerd/topic/stream"
)

// consumerThere says whether the consumer exists that a request for messages or for a reset names.
func (a *api) consumerThere(r *request) bool {
	_, err := a.consumer(r, r.namesAt())
	return err == nil
}

// namesAt is where the stream's and the consumer's name begin in CONSUMER.MSG.NEXT and CONSUMER.RESET.
func (r *request) namesAt() int {
	if r.token(1) == "MSG" {
		return 3
	}
	return 2
}

// next is a pull request.
func (a *api) next(r *request) {
	if r.reply == "" {
		return
	}
	if r.tooNew() {
		a.status(r, "412 Required Api Level")
		return
	}
	if c, err := a.consumer(r, r.namesAt()); err == nil {
		c.Pull(r.reply, r.body)
	}
}

type pauseRequest struct {
	Until time.Time `json:"pause_until"`
}

type paused struct {
	Paused    bool          `json:"paused"`
	Until     time.Time     `json:"pause_until"`
	Remaining time.Duration `json:"pause_remaining,omitempty"`
}

// pauseConsumer resumes when no time is given, or one that is past.
func (a *api) pauseConsumer(r *request) (any, error) {
	var q pauseRequest
	if err := r.optional(&q); err != nil {
		return nil, err
	}
	c, err := a.consumer(r, 2)
	if err != nil {
		return nil, err
	}
	if err := c.Pause(q.Until.UTC()); err != nil {
		return nil, err
	}
	p := paused{Until: q.Until.UTC()}
	if left := time.Until(q.Until); left > 0 {
		p.Paused, p.Remaining = true, left
	}
	return p, nil
}

type unpinRequest struct {
	Group string `json:"group"`
}

func (a *api) unpinConsumer(r *request) (any, error) {
	var q unpinRequest
	if err := json.Unmarshal(r.body, &q); err != nil {
		return nil, stream.InvalidJSON(err)
	}
	switch {
	case q.Group == "":
		return nil, stream.InvalidJSON(errors.New("consumer group not specified"))
	case !validGroup(q.Group):
		return nil, stream.ErrConsumerGroupName
	}
	c, err := a.consumer(r, 2)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(c.Info().Config.PriorityGroups, q.Group) {
		return nil, stream.ErrConsumerPriorityGroup
	}
	return struct{}{}, c.Unpin(q.Group)
}

// validGroup says that s can be the name of a priority group (ADR-42).
func validGroup(s string) bool {
	return len(s) <= 16 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_/=)+") == ""
}

type resetRequest struct {
	Sequence uint64 `json:"seq"`
}

type resetConsumer struct {
	durable.Info
	Sequence uint64 `json:"reset_seq"`
}

// resetConsumer goes back to the ack floor when no sequence is given.
func (a *api) resetConsumer(r *request) (any, error) {
	var q resetRequest
	if len(r.body) > 0 {
		if err := json.Unmarshal(r.body, &q); err != nil {
			return nil, stream.InvalidJSON(err)
		}
	}
	c, err := a.consumer(r, r.namesAt())
	if err != nil {
		return nil, err
	}
	sequence, err := c.Reset(q.Sequence)
	if err != nil {
		return nil, err
	}
	return resetConsumer{a.toldConsumer(c.Info()), sequence}, nil
}
