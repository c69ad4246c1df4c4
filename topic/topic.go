package topic

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"go.etcd.io/bbolt"

	"brokerd/log"
	"brokerd/log/vfs"
	"brokerd/producer"
)

var errTODO = errors.New("topic: not written yet")

// Errors of the registry. Front ends map them one by one; each may be wrapped with the reason.
var (
	ErrNotFound      = errors.New("topic: no such topic")
	ErrNoPartition   = errors.New("topic: no such partition")
	ErrExists        = errors.New("topic: already exists")
	ErrBadName       = errors.New("topic: invalid name")
	ErrBadPartitions = errors.New("topic: invalid number of partitions")
	ErrBadConfig     = errors.New("topic: invalid setting")
	ErrTooLarge      = errors.New("topic: batch is larger than max.message.bytes")
	ErrBadTimestamp  = errors.New("topic: record time is outside the allowed window")
	ErrKeyless       = errors.New("topic: a compacted topic takes no record without a key")
)

// ID is a topic's identity: a new one for each creation, kept over restarts.
type ID [16]byte

// Options is what a Registry is opened with.
type Options struct {
	DB         *bbolt.DB
	FS         vfs.FS
	Dir        string // the data directory; topics live in Dir/topics
	Committer  *log.Committer
	Files      *log.Files
	Defaults   Defaults
	Logger     zerolog.Logger
	RetainEach time.Duration // between retention passes; 0 takes 10s
}

// Defaults are what a topic has when its creator did not say.
type Defaults struct {
	Partitions       int32             // for creations that leave it out (-1), and automatic ones
	Settings         map[string]string // by Kafka's topic setting names; checked by Open
	ProducerIDExpiry time.Duration     // 0 takes 24h
}

// Registry is the set of topics.
type Registry struct{}

// Open loads the topics and opens and recovers their logs, several at a time. Damage to one topic never stops the
// others: it is reported through the logger and the topic's partitions answer with the error.
func Open(ctx context.Context, o Options) (*Registry, error) { return nil, errTODO }

// Run applies retention, rolls segments by age and expires producers until ctx is done.
func (r *Registry) Run(ctx context.Context) error { <-ctx.Done(); return nil }

// Close closes every log cleanly.
func (r *Registry) Close() error { return errTODO }

// Spec describes a topic to create.
type Spec struct {
	Name         string
	Partitions   int32 // -1 takes the default
	Settings     map[string]string
	ValidateOnly bool
}

// Create makes a topic; when it returns, the topic survives a crash. With ValidateOnly it only says what would happen.
// Errors: ErrExists, ErrBadName (also for a name that differs from an existing one only in "." and "_"),
// ErrBadPartitions, ErrBadConfig.
func (r *Registry) Create(s Spec) (*Topic, error) { return nil, errTODO }

// Delete removes a topic: from the registry at once and durably, then from the disk. ErrNotFound.
func (r *Registry) Delete(name string) error { return errTODO }

// AddPartitions grows a topic to total partitions. ErrNotFound, ErrBadPartitions when total is not larger.
func (r *Registry) AddPartitions(name string, total int32, validateOnly bool) error { return errTODO }

// Op is what a Change does to a setting, numbered as in Kafka's IncrementalAlterConfigs (KIP-339).
type Op int8

const (
	Set Op = iota
	Unset
	Append
	Subtract
)

// Change is one change of one setting.
type Change struct {
	Key   string
	Op    Op
	Value string
}

// Alter changes settings, all or none. ErrNotFound, ErrBadConfig.
func (r *Registry) Alter(name string, changes []Change, validateOnly bool) error { return errTODO }

// Replace sets exactly these settings and unsets all others (Kafka's AlterConfigs). ErrNotFound, ErrBadConfig.
func (r *Registry) Replace(name string, settings map[string]string, validateOnly bool) error {
	return errTODO
}

// Get finds a topic by name.
func (r *Registry) Get(name string) (*Topic, bool) { return nil, false }

// ByID finds a topic by id.
func (r *Registry) ByID(id ID) (*Topic, bool) { return nil, false }

// List returns all topics ordered by name.
func (r *Registry) List() []*Topic { return nil }

// Topic is one topic. It stays valid, but refuses everything, after it was deleted.
type Topic struct{}

func (t *Topic) Name() string { return "" }
func (t *Topic) ID() ID       { return ID{} }

// Stats are the topic's counters since the process started, for the metrics. Append counts what comes in; the front ends
// count what they send.
func (t *Topic) Stats() *Stats { return nil }

// Stats are counters, safe for concurrent use.
type Stats struct {
	RecordsIn, BytesIn, RecordsOut, BytesOut atomic.Int64
}

// Partitions returns all partitions, in order.
func (t *Topic) Partitions() []*Partition { return nil }

// Partition returns one partition. ErrNoPartition.
func (t *Topic) Partition(n int32) (*Partition, error) { return nil, errTODO }

// Config returns the effective settings.
func (t *Topic) Config() Config { return Config{} }

// Settings lists every setting with its effective value, ordered by name.
func (t *Topic) Settings() []Setting { return nil }

// Config holds the effective settings of a topic, typed.
type Config struct {
	Log             log.Config
	MaxMessageBytes int32
	LogAppendTime   bool          // message.timestamp.type
	TimestampBefore time.Duration // message.timestamp.before.max.ms; < 0 = any
	TimestampAfter  time.Duration // message.timestamp.after.max.ms; < 0 = any
	Compression     string        // compression.type: "producer", "uncompressed", "gzip", ...
	Compact, Delete bool          // cleanup.policy
}

// Source says where a setting's value comes from, numbered as in Kafka's DescribeConfigs.
type Source int8

const (
	FromTopic   Source = 1
	FromBroker  Source = 4 // static broker configuration
	FromDefault Source = 5
)

// Type is a setting's value type, numbered as in Kafka's DescribeConfigs v3.
type Type int8

const (
	Boolean Type = 1
	String  Type = 2
	Int     Type = 3
	Short   Type = 4
	Long    Type = 5
	Double  Type = 6
	List    Type = 7
	Class   Type = 8
)

// Setting is one described setting.
type Setting struct {
	Name     string
	Value    string
	Default  string
	Source   Source
	Type     Type
	Doc      string
	Synonyms []Synonym // in the order in which they would apply, the effective one first
}

// Synonym is one level at which a setting has a value.
type Synonym struct {
	Name   string // the broker-wide name of the same setting, such as log.retention.ms
	Value  string
	Source Source
}

// Partition is one partition of a topic.
type Partition struct{}

// Topic is the topic it belongs to.
func (p *Partition) Topic() *Topic { return nil }

// Index is its number, from 0.
func (p *Partition) Index() int32 { return 0 }

// Appended is what became of a batch.
type Appended struct {
	Base, Last    int64
	LogAppendTime int64 // milliseconds, when the topic stamps records; else -1
	Duplicate     bool  // it was appended before; the offsets are the first ones
}

// Append checks a producer's batch (log.CheckBatch and the topic's settings) and its sequence, and appends it. It does
// not wait: use WaitDurable(Last), also for a duplicate, before acknowledging.
// Errors: the log's, the producer's, ErrTooLarge, ErrBadTimestamp, ErrKeyless, ErrNotFound after deletion.
func (p *Partition) Append(b log.Batch) (Appended, error) { return Appended{}, errTODO }

// WaitDurable, Read, Watch, Bounds and the lookups are the log's; ErrNotFound after deletion.
func (p *Partition) WaitDurable(ctx context.Context, offset int64) error { return errTODO }
func (p *Partition) Watch(ch chan<- struct{}) (cancel func())            { return func() {} }
func (p *Partition) Bounds() (log.Bounds, error)                         { return log.Bounds{}, errTODO }
func (p *Partition) Epoch() int32                                        { return 0 }
func (p *Partition) EpochEnd(epoch int32) (int32, int64)                 { return -1, -1 }
func (p *Partition) Size() int64                                         { return 0 }

// Isolation says which records a reader may see.
type Isolation uint8

const (
	ReadUncommitted Isolation = iota // up to Durable
	ReadCommitted                    // up to Stable
)

func (p *Partition) Read(offset, maxBytes int64, i Isolation) (log.Range, error) {
	return log.Range{}, errTODO
}

func (p *Partition) OffsetForTime(ms int64, i Isolation) (log.TimeOffset, bool, error) {
	return log.TimeOffset{}, false, errTODO
}

func (p *Partition) MaxTimestamp(i Isolation) (log.TimeOffset, bool, error) {
	return log.TimeOffset{}, false, errTODO
}

// Trim deletes records below offset (Kafka's DeleteRecords) and returns the new start; -1 trims to Durable.
func (p *Partition) Trim(offset int64) (start int64, err error) { return 0, errTODO }

// Producers lists the partition's idempotent producers.
func (p *Partition) Producers() []producer.Producer { return nil }
