package nats

import (
	"fmt"
	"strings"

	"brokerd/consumer/durable"
	"brokerd/topic/stream"
)

// consumerRequest is the body of CONSUMER.CREATE and CONSUMER.DURABLE.CREATE.
type consumerRequest struct {
	Stream   string         `json:"stream_name"`
	Config   durable.Config `json:"config"`
	Action   durable.Action `json:"action"`
	Pedantic bool           `json:"pedantic"`
}

// createEphemeral is CONSUMER.CREATE.STREAM; the name, if there is one, is in the body only.
func (a *api) createEphemeral(r *request) (any, error) {
	q, err := consumerBody(r, r.token(2))
	if err != nil {
		return nil, err
	}
	if q.Config.Durable != "" {
		return nil, stream.ErrConsumerEphemeralWithDurable
	}
	return a.addConsumer(q)
}

// createDurable is CONSUMER.DURABLE.CREATE.STREAM.NAME.
func (a *api) createDurable(r *request) (any, error) {
	q, err := consumerBody(r, r.token(3))
	if err != nil {
		return nil, err
	}
	name := r.token(4)
	switch {
	case strings.ContainsAny(name, `\/`):
		return nil, stream.ErrConsumerPathSeparators
	case q.Config.Durable == "":
		return nil, stream.ErrConsumerDurableNotSet
	case q.Config.Durable != name:
		return nil, stream.ErrConsumerDurableMismatch
	}
	q.Config.Name = name
	return a.addConsumer(q)
}

// createConsumer is CONSUMER.CREATE.STREAM.NAME, or CONSUMER.CREATE.STREAM.NAME.FILTER.
func (a *api) createConsumer(r *request) (any, error) {
	q, err := consumerBody(r, r.token(2))
	if err != nil {
		return nil, err
	}
	name, filter := r.token(3), r.after(3)
	switch {
	case strings.ContainsAny(name, `\/`):
		return nil, stream.ErrConsumerPathSeparators
	case q.Config.Durable != "" && q.Config.Durable != name:
		return nil, stream.ErrConsumerDurableMismatch
	case filter != "" && len(q.Config.FilterSubjects) > 0:
		return nil, stream.ErrConsumerFiltersInSubject
	case filter != "" && filter != q.Config.FilterSubject:
		return nil, stream.ErrConsumerCreateFilter
	}
	q.Config.Name = name
	return a.addConsumer(q)
}

func consumerBody(r *request, streamName string) (consumerRequest, error) {
	var q consumerRequest
	if err := r.strict(&q); err != nil {
		return q, err
	}
	switch q.Action {
	case durable.CreateOrUpdate, durable.CreateOnly, durable.UpdateOnly:
	default:
		return q, stream.InvalidJSON(fmt.Errorf("unknown consumer action: %q", q.Action))
	}
	if q.Stream != streamName {
		return q, stream.ErrStreamMismatch
	}
	return q, nil
}

func (a *api) addConsumer(q consumerRequest) (any, error) {
	if strings.ContainsAny(q.Config.Name, `\/`) {
		return nil, stream.ErrConsumerPathSeparators
	}
	if q.Config.Replicas > 1 {
		return nil, stream.ErrReplicas
	}
	s, ok := a.streams.Get(q.Stream)
	if !ok {
		return nil, stream.ErrStreamNotFound
	}
	q.Config.Metadata = withoutVersions(q.Config.Metadata)
	if q.Pedantic {
		if err := q.Config.Pedantic(s.Config().Limits); err != nil {
			return nil, err
		}
	}
	flush(s)
	c, begin, err := a.consumers.CreateHeld(s.Name(), q.Config, q.Action)
	if err != nil {
		return nil, err
	}
	return createdConsumer{a.toldConsumer(c.Info()), begin}, nil
}

// createdConsumer is what a consumer is told to be when it was made. It begins to deliver after the answer.
type createdConsumer struct {
	durable.Info
	begin func()
}

func (c createdConsumer) follow() { c.begin() }

type consumerNames struct {
	page
	Consumers []string `json:"consumers"`
}

func (a *api) consumerNames(r *request) (any, error) {
	part, p, err := a.consumersOf(r, namesLimit)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(part))
	for i, c := range part {
		names[i] = c.Name()
	}
	return consumerNames{p, names}, nil
}

type consumerList struct {
	page
	Consumers []durable.Info `json:"consumers"`
}

func (a *api) consumerList(r *request) (any, error) {
	part, p, err := a.consumersOf(r, listLimit)
	if err != nil {
		return nil, err
	}
	infos := make([]durable.Info, len(part))
	for i, c := range part {
		infos[i] = a.toldConsumer(c.Info())
	}
	return consumerList{p, infos}, nil
}

func (a *api) consumersOf(r *request, limit int) ([]*durable.Consumer, page, error) {
	var q pageRequest
	if err := r.optional(&q); err != nil {
		return nil, page{}, err
	}
	s, err := a.stream(r, 2)
	if err != nil {
		return nil, page{}, err
	}
	part, p := cut(a.consumers.List(s.Name()), q.Offset, limit)
	return part, p, nil
}

func (a *api) consumerInfo(r *request) (any, error) {
	if !r.empty() {
		return nil, stream.ErrNotEmptyRequest
	}
	c, err := a.consumer(r, 2)
	if err != nil {
		return nil, err
	}
	return a.toldConsumer(c.Info()), nil
}

func (a *api) deleteConsumer(r *request) (any, error) {
	if !r.empty() {
		return nil, stream.ErrNotEmptyRequest
	}
	s, err := a.stream(r, 2)
	if err != nil {
		return nil, err
	}
	if err := a.consumers.Delete(s.Name(), r.token(3)); err != nil {
		return nil, err
	}
	return done{true}, nil
}

// consumer finds the consumer that the i-th token and the one after it name.
func (a *api) consumer(r *request, i int) (*durable.Consumer, error) {
	s, err := a.stream(r, i)
	if err != nil {
		return nil, err
	}
	c, ok := a.consumers.Get(s.Name(), r.token(i+1))
	if !ok {
		return nil, stream.ErrConsumerNotFound
	}
	return c, nil
}
