package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"brokerd/broker/kafka"
	"brokerd/broker/nats"
	"brokerd/consumer"
	"brokerd/consumer/durable"
	"brokerd/log"
	"brokerd/producer"
	"brokerd/topic"
	"brokerd/topic/stream"
)

// running is what start has brought up; stop takes it down, whatever of it there is.
type running struct {
	*parts
	admin, committer, retention, compaction, groups *part
	streams, consumers, kafka, nats                 *part

	topics *topic.Registry
	seats  *seats
}

// start brings the broker up, in the order in which one part needs the other. Health answers first, so that a long
// recovery is not taken for a dead process; clients come last.
func (b *Broker) start(r *running) error {
	metrics := prometheus.NewRegistry()
	syncs := newSyncMetrics()
	if err := registerAll(metrics, append(processMetrics(), syncs.durations, syncs.logs)...); err != nil {
		return err
	}
	admin, err := bind(r.ending, b.config.HTTP.Listen)
	if err != nil {
		return fmt.Errorf("start admin HTTP: %w", err)
	}
	b.httpAddr = admin.Addr()
	routes := newAdmin(b.health, metrics, b.config.HTTP.Pprof)
	r.admin = r.run(func(ctx context.Context) error { return serveAdmin(ctx, admin, routes, b.logger) })

	committer := log.NewCommitter(log.CommitterOptions{
		Workers:       b.config.Commit.Workers,
		SyncFSFrom:    b.config.Commit.SyncFSFrom,
		AsyncInterval: b.config.Commit.AsyncInterval,
		Observe:       syncs.observe,
	})
	r.committer = r.run(committer.Run)

	files := log.NewFiles(b.limits.segments)
	b.health.setNotReady("recovering the topics")
	r.topics, err = topic.Open(r.ending, b.topicOptions(committer, files))
	if err != nil {
		return explainTopics(err)
	}
	b.health.watch(r.topics)
	r.retention = r.run(r.topics.Run)
	r.compaction = r.run(r.topics.Compact)

	groups, err := consumer.Open(b.groupOptions(r.topics))
	if err != nil {
		return fmt.Errorf("open groups: %w", err)
	}
	r.groups = r.run(groups.Run)

	ids, err := producer.OpenIDs(b.dir.db)
	if err != nil {
		return fmt.Errorf("open producer ids: %w", err)
	}
	budget := producer.NewBudget(int64(b.config.Memory.Budget))
	server := kafka.New(b.kafkaOptions(r.topics, groups, ids, budget))
	options, err := b.natsOptions()
	if err != nil {
		return err
	}
	natsServer, err := nats.New(options)
	if err != nil {
		return fmt.Errorf("start NATS: %w", err)
	}
	all := sources{r.topics, groups, server, natsServer, budget, files, b.fs, b.dir.path}
	if err := registerAll(metrics, newCollector(all)); err != nil {
		return err
	}
	if b.config.NATS.JetStream {
		if err := b.startJetStream(r, natsServer, groups); err != nil {
			return err
		}
	}
	routes.monitor(natsServer.Monitor())
	if b.kafkaAddr, r.kafka, err = b.open(r, b.config.Kafka.Listen, server.ServeConn); err != nil {
		return fmt.Errorf("start Kafka: %w", err)
	}
	if b.natsAddr, r.nats, err = b.open(r, b.config.NATS.Listen, natsServer.ServeConn); err != nil {
		return fmt.Errorf("start NATS: %w", err)
	}
	return nil
}

// startJetStream brings up the streams that the topics are, and their consumers.
func (b *Broker) startJetStream(r *running, server *nats.Server, groups *consumer.Groups) error {
	streams, err := stream.Open(stream.Options{
		Topics:    r.topics,
		Logger:    b.logger,
		Republish: func(subject string, header, data []byte) { server.Publish(subject, "", header, data) },
		Advise:    server.Advise,
	})
	if err != nil {
		return fmt.Errorf("open streams: %w", err)
	}
	consumers, err := durable.Open(durable.Options{
		DB: b.dir.db, Streams: streams, Outlet: server.Outlet(), Logger: b.logger,
	})
	if err != nil {
		return fmt.Errorf("open consumers: %w", err)
	}
	server.Attach(streams, consumers)
	groups.AttachDurables(consumers.Groups())
	r.streams = r.run(streams.Run)
	r.consumers = r.run(consumers.Run)
	return nil
}

// open opens a front door.
func (b *Broker) open(r *running, address string, serve handler) (net.Addr, *part, error) {
	l, err := bind(r.ending, address)
	if err != nil {
		return nil, nil, err
	}
	clients := newListener(l, serve, r.seats, b.config.Shutdown.Drain, b.logger)
	return l.Addr(), r.run(clients.run), nil
}

// stop takes the broker down, in the order in which it happens.
func (b *Broker) stop(r *running) error {
	began := time.Now()
	b.health.setNotReady("draining")
	b.logger.Info().Dur("drain", b.config.Shutdown.Drain).Msg("stopping: no new connections, waiting for the answers due")
	r.consumers.stop() // tells those who wait for messages
	r.kafka.stop()     // stops accepting, then waits for the connections
	r.nats.stop()
	r.streams.stop() // when what was published is answered
	r.groups.stop()  // saves what members committed
	r.compaction.stop()
	r.retention.stop()
	var topics error
	if r.topics != nil {
		topics = r.topics.Close() // syncs what is left and marks the logs clean
	}
	r.committer.stop()
	r.admin.stop()
	err := errors.Join(r.group.Wait(), topics, b.dir.close())
	b.logger.Info().Dur("took", time.Since(began).Round(time.Millisecond)).Bool("clean", err == nil).Msg("stopped")
	return err
}

func (b *Broker) topicOptions(c *log.Committer, f *log.Files) topic.Options {
	return topic.Options{
		DB:        b.dir.db,
		FS:        b.fs,
		Dir:       b.dir.path,
		Committer: c,
		Files:     f,
		Defaults: topic.Defaults{
			Partitions:       b.config.Topic.Partitions,
			Settings:         b.config.Topic.Settings,
			ProducerIDExpiry: b.config.Topic.ProducerIDExpiry,
		},
		Logger:     b.logger,
		RetainEach: b.config.Topic.RetentionCheck,

		CompactEach:   b.config.Topic.CompactionCheck,
		CompactMemory: int64(b.config.Topic.CompactionMemory),
		MemoryLimit:   int64(b.config.Topic.MemoryLimit),
	}
}

// explainTopics gives an error of topic.Open the kind that decides how the process ends.
func explainTopics(err error) error {
	switch {
	case errors.Is(err, topic.ErrBadConfig):
		return &ConfigError{Problems: []string{"topic.settings: " + err.Error()}}
	case errors.Is(err, topic.ErrNewerFormat):
		return fmt.Errorf("%w: %w; run the newer brokerd that wrote it, or choose another directory with --data",
			ErrNewerFormat, err)
	}
	return fmt.Errorf("open topics: %w", err)
}

func (b *Broker) groupOptions(t *topic.Registry) consumer.Options {
	s := consumer.DefaultSettings()
	s.InitialDelay = b.config.Group.InitialRebalanceDelay
	s.MinSession = b.config.Group.MinSessionTimeout
	s.MaxSession = b.config.Group.MaxSessionTimeout
	s.Retention = b.config.Group.OffsetsRetention
	s.SweepEach = b.config.Group.OffsetsCheck
	s.MaxMembers = b.config.Group.MaxMembers
	s.ConsumerSession = b.config.Group.ConsumerSessionTimeout
	s.ConsumerHeartbeat = b.config.Group.ConsumerHeartbeatInterval
	return consumer.Options{DB: b.dir.db, Topics: consumer.RegistryTopics(t), Settings: s, Logger: b.logger}
}

func (b *Broker) kafkaOptions(t *topic.Registry, g *consumer.Groups, ids *producer.IDs, budget *producer.Budget) kafka.Options {
	return kafka.Options{
		Topics:     t,
		Groups:     g,
		IDs:        ids,
		Budget:     budget,
		Logger:     b.logger,
		FS:         b.fs,
		Dir:        shown(b.config.Data),
		Advertised: b.config.Kafka.Advertised,
		NodeID:     b.id.NodeID,
		ClusterID:  b.id.ClusterID,
		AutoCreate: b.config.Topic.AutoCreate,
		Settings:   kafkaSettings(b.config),
		Limits: kafka.Limits{
			MaxFrame:      int32(b.config.Kafka.MaxRequest),
			InFlightBytes: int64(b.config.Kafka.InFlight),
			Idle:          b.config.Kafka.Idle,
			Drain:         b.config.Shutdown.Drain,
		},
	}
}
