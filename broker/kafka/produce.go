package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log"
	"brokerd/topic"
)

// Produce (0), versions 3 to 13, advertised from 0 (see advertisedMin). Exactly one batch of magic 2 per partition. The
// batches are appended in the order of the requests; the answer waits until they are durable, with acks=1 as with
// acks=all, since there is one replica. With acks=0 there is no answer, and an error closes the connection. Transactional
// writes are refused.

// minProduceWait is granted for durability even when the client's own timeout is shorter.
const minProduceWait = time.Second

// appended is a batch in the log whose durability is still to be awaited.
type appended struct {
	p    *topic.Partition
	last int64
	resp *kmsg.ProduceResponseTopicPartition
}

func (s *Server) produce(r *request) answer {
	req := r.body.(*kmsg.ProduceRequest)
	resp := req.ResponseKind().(*kmsg.ProduceResponse)
	resp.Topics = make([]kmsg.ProduceResponseTopic, len(req.Topics))
	var due []appended
	var failed error
	for i := range req.Topics {
		t, rt := &req.Topics[i], &resp.Topics[i]
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		rt.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(t.Partitions))
		for j := range t.Partitions {
			rp := &rt.Partitions[j]
			rp.Default()
			rp.Partition = t.Partitions[j].Partition
			p, last, err := s.appendBatch(req, t, t.Partitions[j].Records, rp)
			if err != nil {
				setProduceError(rp, err)
				failed = err
				continue
			}
			due = append(due, appended{p, last, rp})
		}
	}
	if req.Acks == 0 {
		if failed != nil {
			failed = fmt.Errorf("a batch sent with acks=0 was refused: %w", failed)
		}
		return func(context.Context) (reply, error) { return nil, failed }
	}
	deadline := r.arrived.Add(max(time.Duration(req.TimeoutMillis)*time.Millisecond, minProduceWait))
	return later(func(ctx context.Context) kmsg.Response {
		awaitDurable(ctx, deadline, due)
		return resp
	})
}

// appendBatch appends what a request holds for one partition, and fills in the answer for the case that it becomes
// durable.
func (s *Server) appendBatch(
	req *kmsg.ProduceRequest, t *kmsg.ProduceRequestTopic, records []byte, resp *kmsg.ProduceResponseTopicPartition,
) (*topic.Partition, int64, error) {
	if err := checkProduce(req); err != nil {
		return nil, 0, err
	}
	p, err := finder{s.topics, req.Version >= 13}.partition(t.Topic, t.TopicID, resp.Partition)
	if err != nil {
		return nil, 0, err
	}
	b, err := onlyBatch(req.Version, records)
	if err != nil {
		return nil, 0, err
	}
	a, err := p.Append(b)
	if err != nil {
		return nil, 0, err
	}
	resp.BaseOffset, resp.LogAppendTime = a.Base, a.LogAppendTime
	return p, a.Last, nil
}

// checkProduce applies the rules for a whole request.
func checkProduce(req *kmsg.ProduceRequest) error {
	if req.Acks < -1 || req.Acks > 1 {
		return faultf(codeInvalidRequiredAcks, "acks is %d, but only -1, 0 and 1 exist", req.Acks)
	}
	if req.TransactionID != nil {
		return errNoTransactions
	}
	return nil
}

// onlyBatch returns the one batch that records must hold. Its contents are checked by topic.Partition.Append.
func onlyBatch(version int16, records []byte) (log.Batch, error) {
	b, rest, err := log.ParseBatch(records)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, faultf(codeInvalidRecord, "%d bytes follow the first batch, but a partition takes one batch per request",
			len(rest))
	}
	if b.Transactional() {
		return nil, errNoTransactions
	}
	if b.Codec() == log.Zstd && version < 7 {
		return nil, faultf(codeUnsupportedCompressionType, "zstd needs Produce version 7 (KIP-110)")
	}
	return b, nil
}

// awaitDurable waits for all batches, and turns the answer of those that did not make it into an error.
func awaitDurable(ctx context.Context, deadline time.Time, due []appended) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for _, a := range due {
		if err := a.p.WaitDurable(ctx, a.last); err != nil {
			setProduceError(a.resp, err)
			continue
		}
		if b, err := a.p.Bounds(); err == nil {
			a.resp.LogStartOffset = b.Start
		}
	}
}

// setProduceError makes resp the answer for a batch that failed. It names the records at fault, for clients to send the
// others again (KIP-467).
func setProduceError(resp *kmsg.ProduceResponseTopicPartition, err error) {
	resp.ErrorCode, resp.ErrorMessage = codeOf(err), messageOf(err)
	resp.BaseOffset, resp.LogAppendTime = -1, -1
	if errors.Is(err, context.DeadlineExceeded) {
		resp.ErrorMessage = kmsg.StringPtr("the batch was appended, but was not durable in time: it may still become so")
	}
	var refused *topic.RecordsError
	if errors.As(err, &refused) {
		resp.ErrorRecords = make([]kmsg.ProduceResponseTopicPartitionErrorRecord, len(refused.Bad))
		for i, r := range refused.Bad {
			resp.ErrorRecords[i] = kmsg.ProduceResponseTopicPartitionErrorRecord{
				RelativeOffset: int32(r.Index), ErrorMessage: messageOf(r.Err),
			}
		}
	}
}
