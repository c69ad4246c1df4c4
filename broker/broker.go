package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/rs/zerolog"

	"brokerd/log/vfs"
)

// Broker is one broker on one data directory.
type Broker struct {
	config Config
	logger zerolog.Logger
	fs     vfs.FS
	dir    *dataDir
	id     Identity
	limits openLimits
	health *health
	ready  chan struct{} // closed when requests are served

	httpAddr, kafkaAddr, natsAddr net.Addr // valid once ready is closed
}

// Open takes the data directory for this process, making it if it is absent. The broker does nothing until Run, which
// must be called, once: it gives the directory back. Errors: ErrInUse, ErrNewerFormat.
func Open(c Config, logger zerolog.Logger) (*Broker, error) { return open(c, logger, vfs.OS{}) }

// open is Open on any file system; the metadata's file is always the system's.
func open(c Config, logger zerolog.Logger, fsys vfs.FS) (*Broker, error) {
	b := &Broker{config: c, logger: logger, fs: fsys, health: newHealth(), ready: make(chan struct{})}
	files, err := raiseOpenLimit()
	if err != nil {
		return nil, fmt.Errorf("open broker: %w", err)
	}
	b.limits = shareOpenLimit(files, c.Limits)
	if b.dir, err = openDataDir(b.fs, c.Data); err != nil {
		return nil, fmt.Errorf("open broker: %w", err)
	}
	if b.id, err = loadIdentity(b.dir.db); err != nil {
		return nil, errors.Join(fmt.Errorf("open broker: %w", err), b.dir.close())
	}
	return b, nil
}

// Ready is closed when requests are served.
func (b *Broker) Ready() <-chan struct{} { return b.ready }

// KafkaAddr is the address of the Kafka listener, once Ready is closed.
func (b *Broker) KafkaAddr() net.Addr { return b.kafkaAddr }

// NATSAddr is the address of the NATS listener, once Ready is closed.
func (b *Broker) NATSAddr() net.Addr { return b.natsAddr }

// HTTPAddr is the address of the admin HTTP listener, once Ready is closed.
func (b *Broker) HTTPAddr() net.Addr { return b.httpAddr }

// Run serves until ctx is done, then stops cleanly and returns nil; or until a part fails, then it stops what is left
// and returns that part's error. Either way the data directory is given back.
func (b *Broker) Run(ctx context.Context) error {
	began := time.Now()
	b.greet()
	r := &running{parts: newParts(ctx), seats: &seats{most: b.limits.connections}}
	err := b.start(r)
	if err == nil {
		b.health.setNotReady("")
		close(b.ready)
		b.logger.Info().Stringer("kafka", b.kafkaAddr).Stringer("nats", b.natsAddr).Stringer("http", b.httpAddr).
			Dur("took", time.Since(began).Round(time.Millisecond)).Msg("ready")
		<-r.ending.Done()
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // told to stop during the start
	}
	return errors.Join(err, b.stop(r))
}

// greet logs what this broker is, and what about its surroundings an operator should change.
func (b *Broker) greet() {
	build := BuildInfo()
	b.logger.Info().Str("version", build.Version).Str("data", b.config.Data).Str("cluster", b.id.ClusterID).
		Int32("node", b.id.NodeID).Int("open_files", b.limits.files).Int("connections", b.limits.connections).
		Msg("starting")
	if b.limits.files < fewFiles {
		b.logger.Warn().Int("limit", b.limits.files).Int("connections", b.limits.connections).
			Int("segment_files", b.limits.segments).
			Msgf("the limit of open files is low: connections and open segment files are bounded by it; set it to %d or more "+
				"(ulimit -n, or LimitNOFILE= in a systemd unit)", fewFiles)
	}
}
