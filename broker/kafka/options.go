package kafka

import (
	"time"

	"github.com/rs/zerolog"

	"brokerd/consumer"
	"brokerd/log/vfs"
	"brokerd/producer"
	"brokerd/topic"
)

// Options is what a Server is made of. Zero limits take the defaults named beside them.
type Options struct {
	Topics *topic.Registry
	Groups *consumer.Groups
	IDs    *producer.IDs
	Budget *producer.Budget // every request frame is drawn from it
	Logger zerolog.Logger
	FS     vfs.FS // with Dir, for DescribeLogDirs
	Dir    string // the data directory

	Advertised string          // host:port given to clients; "" is the address that they connected to
	NodeID     int32           // this broker's id; it is also the controller
	ClusterID  string          // shown by Metadata and DescribeCluster
	AutoCreate bool            // Metadata may create topics when the client asks for it
	Settings   []topic.Setting // what DescribeConfigs shows for the broker besides the server's own
	Limits     Limits
}

// Limits bound what one connection may take.
type Limits struct {
	MaxFrame         int32         // bytes of one request; 100 MiB
	InFlightBytes    int64         // bytes accepted and not yet answered; 32 MiB (a larger frame travels alone)
	InFlightRequests int           // requests accepted and not yet answered; 128
	FirstRequest     time.Duration // from connecting to the first byte; 30s
	Idle             time.Duration // without a request and nothing to answer; 10min
	Frame            time.Duration // for each MiB of a frame once its first byte came; 15s
	Send             time.Duration // without progress while sending; 1min
	Drain            time.Duration // for answers still due when the server stops; 5s
}

func (l *Limits) setDefaults() {
	def(&l.MaxFrame, 100<<20)
	def(&l.InFlightBytes, 32<<20)
	def(&l.InFlightRequests, 128)
	def(&l.FirstRequest, 30*time.Second)
	def(&l.Idle, 10*time.Minute)
	def(&l.Frame, 15*time.Second)
	def(&l.Send, time.Minute)
	def(&l.Drain, 5*time.Second)
}

func def[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}
