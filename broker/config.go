package broker

import "time"

// Config is every setting of the broker. The key names are those of config.yaml, which documents each one; the
// environment name of a.b is BROKERD_A_B.
type Config struct {
	Data     string         `mapstructure:"data"`
	Kafka    KafkaConfig    `mapstructure:"kafka"`
	NATS     NATSConfig     `mapstructure:"nats"`
	HTTP     HTTPConfig     `mapstructure:"http"`
	Log      LogConfig      `mapstructure:"log"`
	Memory   MemoryConfig   `mapstructure:"memory"`
	Limits   LimitsConfig   `mapstructure:"limits"`
	Commit   CommitConfig   `mapstructure:"commit"`
	Topic    TopicConfig    `mapstructure:"topic"`
	Group    GroupConfig    `mapstructure:"group"`
	Shutdown ShutdownConfig `mapstructure:"shutdown"`
}

// KafkaConfig is the Kafka listener.
type KafkaConfig struct {
	Listen     string        `mapstructure:"listen"`     // host:port
	Advertised string        `mapstructure:"advertised"` // host:port told to clients; empty for the address they connected to
	MaxRequest Bytes         `mapstructure:"max_request"`
	InFlight   Bytes         `mapstructure:"in_flight"` // per connection
	Idle       time.Duration `mapstructure:"idle"`
}

// NATSConfig is the NATS listener, and who may connect to it.
type NATSConfig struct {
	Listen           string        `mapstructure:"listen"` // host:port
	ServerName       string        `mapstructure:"server_name"`
	JetStream        bool          `mapstructure:"jetstream"`
	Domain           string        `mapstructure:"domain"` // of JetStream
	MaxPayload       Bytes         `mapstructure:"max_payload"`
	MaxControlLine   Bytes         `mapstructure:"max_control_line"`
	MaxPending       Bytes         `mapstructure:"max_pending"`       // per connection
	MaxConnections   int           `mapstructure:"max_connections"`   // 0: no limit but limits.connections
	MaxSubscriptions int           `mapstructure:"max_subscriptions"` // per connection; 0: no limit
	InFlight         Bytes         `mapstructure:"in_flight"`         // per connection
	PingInterval     time.Duration `mapstructure:"ping_interval"`
	WriteDeadline    time.Duration `mapstructure:"write_deadline"`
	Auth             NATSAuth      `mapstructure:"auth"`
	TLS              NATSTLS       `mapstructure:"tls"`
}

// NATSTLS is the encryption of the NATS listener; without a certificate there is none.
type NATSTLS struct {
	Cert           string        `mapstructure:"cert"` // files in PEM form
	Key            string        `mapstructure:"key"`
	CA             string        `mapstructure:"ca"`
	Verify         bool          `mapstructure:"verify"`
	HandshakeFirst bool          `mapstructure:"handshake_first"`
	Timeout        time.Duration `mapstructure:"timeout"`
}

// NATSAuth is who may connect. Without a token and users everybody may.
type NATSAuth struct {
	Token      string        `mapstructure:"token"`
	Users      []NATSUser    `mapstructure:"users"`
	NoAuthUser string        `mapstructure:"no_auth_user"`
	Timeout    time.Duration `mapstructure:"timeout"`
}

// NATSUser is one login.
type NATSUser struct {
	User      string         `mapstructure:"user"`
	Password  string         `mapstructure:"password"`
	NKey      string         `mapstructure:"nkey"`
	Publish   NATSPermission `mapstructure:"publish"`
	Subscribe NATSPermission `mapstructure:"subscribe"`

	Respond     bool `mapstructure:"allow_responses"`
	NoJetStream bool `mapstructure:"no_jetstream"`
}

// NATSPermission is the subjects that a user may use: those allowed, all if none is named, but those denied.
type NATSPermission struct {
	Allow []string `mapstructure:"allow"`
	Deny  []string `mapstructure:"deny"`
}

// HTTPConfig is the admin HTTP listener.
type HTTPConfig struct {
	Listen string `mapstructure:"listen"` // host:port
	Pprof  bool   `mapstructure:"pprof"`
}

// LogConfig is the broker's own messages, not the topics' records.
type LogConfig struct {
	Level  string `mapstructure:"level"`
	Format string `mapstructure:"format"`
}

// MemoryConfig bounds the memory of requests.
type MemoryConfig struct {
	Budget Bytes `mapstructure:"budget"`
}

// LimitsConfig bounds open files; 0 derives a value from the process's own limit.
type LimitsConfig struct {
	Connections  int `mapstructure:"connections"`
	SegmentFiles int `mapstructure:"segment_files"`
}

// CommitConfig is the group commit.
type CommitConfig struct {
	Workers       int           `mapstructure:"workers"`
	SyncFSFrom    int           `mapstructure:"syncfs_from"`
	AsyncInterval time.Duration `mapstructure:"async_interval"`
}

// TopicConfig is what topics have when their creator did not say.
type TopicConfig struct {
	AutoCreate       bool          `mapstructure:"auto_create"`
	Partitions       int32         `mapstructure:"partitions"`
	Settings         Settings      `mapstructure:"settings"` // by Kafka's topic setting names
	RetentionCheck   time.Duration `mapstructure:"retention_check"`
	CompactionCheck  time.Duration `mapstructure:"compaction_check"`
	CompactionMemory Bytes         `mapstructure:"compaction_memory"`
	MemoryLimit      Bytes         `mapstructure:"memory_limit"` // of all topics that are kept in memory
	ProducerIDExpiry time.Duration `mapstructure:"producer_id_expiry"`
}

// GroupConfig is the consumer groups.
type GroupConfig struct {
	InitialRebalanceDelay time.Duration `mapstructure:"initial_rebalance_delay"`
	MinSessionTimeout     time.Duration `mapstructure:"min_session_timeout"`
	MaxSessionTimeout     time.Duration `mapstructure:"max_session_timeout"`
	MaxMembers            int           `mapstructure:"max_members"`
	OffsetsRetention      time.Duration `mapstructure:"offsets_retention"`
	OffsetsCheck          time.Duration `mapstructure:"offsets_check"`

	ConsumerSessionTimeout    time.Duration `mapstructure:"consumer_session_timeout"`
	ConsumerHeartbeatInterval time.Duration `mapstructure:"consumer_heartbeat_interval"`
}

// ShutdownConfig is the clean stop.
type ShutdownConfig struct {
	Drain time.Duration `mapstructure:"drain"`
}

// Default returns the settings of a broker that was told nothing. Where Kafka or nats-server have the same setting, the
// value is theirs.
func Default() Config {
	return Config{
		Data: "./data",
		Kafka: KafkaConfig{
			Listen:     "127.0.0.1:9092",
			MaxRequest: 100 << 20,
			InFlight:   32 << 20,
			Idle:       10 * time.Minute,
		},
		NATS: NATSConfig{
			Listen:         "127.0.0.1:4222",
			JetStream:      true,
			MaxPayload:     1 << 20,
			MaxControlLine: 4 << 10,
			MaxPending:     64 << 20,
			InFlight:       32 << 20,
			PingInterval:   2 * time.Minute,
			WriteDeadline:  10 * time.Second,
			Auth:           NATSAuth{Users: []NATSUser{}, Timeout: 2 * time.Second},
			TLS:            NATSTLS{Timeout: 2 * time.Second},
		},
		HTTP:   HTTPConfig{Listen: "127.0.0.1:8222"},
		Log:    LogConfig{Level: "info", Format: "auto"},
		Memory: MemoryConfig{Budget: 256 << 20},
		Commit: CommitConfig{Workers: 8, SyncFSFrom: 64, AsyncInterval: time.Second},
		Topic: TopicConfig{
			AutoCreate:       true,
			Partitions:       1,
			Settings:         Settings{},
			RetentionCheck:   10 * time.Second,
			CompactionCheck:  15 * time.Second,
			CompactionMemory: 64 << 20,
			MemoryLimit:      1 << 30,
			ProducerIDExpiry: 24 * time.Hour,
		},
		Group: GroupConfig{
			InitialRebalanceDelay: 3 * time.Second,
			MinSessionTimeout:     6 * time.Second,
			MaxSessionTimeout:     30 * time.Minute,
			MaxMembers:            10_000,
			OffsetsRetention:      7 * 24 * time.Hour,
			OffsetsCheck:          10 * time.Minute,

			ConsumerSessionTimeout:    45 * time.Second,
			ConsumerHeartbeatInterval: 5 * time.Second,
		},
		Shutdown: ShutdownConfig{Drain: 10 * time.Second},
	}
}
