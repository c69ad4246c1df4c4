package nats

import (
	"runtime"
	"runtime/metrics"
	"time"

	"golang.org/x/sys/unix"

	"brokerd/consumer/durable"
	"brokerd/topic/stream"
)

// statsz is the answer that `nats server list` gathers.
type statsz struct {
	Server serverInfo  `json:"server"`
	Stats  serverStats `json:"statsz"`
}

type serverStats struct {
	Start         time.Time `json:"start"`
	Memory        int64     `json:"mem"`
	Cores         int       `json:"cores"`
	CPU           float64   `json:"cpu"` // percent of one core, since the start
	Connections   int       `json:"connections"`
	Total         uint64    `json:"total_connections"`
	Accounts      int       `json:"active_accounts"`
	Subscriptions int       `json:"subscriptions"`
	Out           traffic   `json:"sent"`
	In            traffic   `json:"received"`
	SlowConsumers int64     `json:"slow_consumers"`
	Servers       int       `json:"active_servers"`
	JetStream     *jsVarz   `json:"jetstream,omitempty"`
	MaxProcs      int       `json:"gomaxprocs"`
}

func (s *system) statsz(*request) any { return statsz{s.info(), s.stats()} }

func (s *system) stats() serverStats {
	c := s.monitor.counts()
	return serverStats{
		Start: c.Start.UTC(), Memory: memory(), Cores: runtime.NumCPU(), CPU: cpu(time.Since(c.Start)),
		Connections: c.Connections, Total: c.Total, Accounts: 1, Subscriptions: c.Subscriptions,
		Out: c.Out, In: c.In, SlowConsumers: c.SlowConsumers, Servers: 1,
		JetStream: s.jetStream(), MaxProcs: runtime.GOMAXPROCS(0),
	}
}

// memory is what the process holds, in bytes.
func memory() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// cpu is the processor time of the process as a part of up, in percent.
func cpu(up time.Duration) float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil || up <= 0 {
		return 0
	}
	used := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	return float64(used) / float64(up) * 100
}

// varz is what `nats server info` shows.
type varz struct {
	ID            string    `json:"server_id"`
	Name          string    `json:"server_name"`
	Version       string    `json:"version"`
	Protocol      int       `json:"proto"`
	Host          string    `json:"host"`
	MaxPayload    int32     `json:"max_payload"`
	MaxPending    int64     `json:"max_pending"`
	Start         time.Time `json:"start"`
	Now           time.Time `json:"now"`
	Uptime        string    `json:"uptime"`
	Memory        int64     `json:"mem"`
	Cores         int       `json:"cores"`
	MaxProcs      int       `json:"gomaxprocs"`
	CPU           float64   `json:"cpu"`
	Connections   int       `json:"connections"`
	Total         uint64    `json:"total_connections"`
	InMessages    int64     `json:"in_msgs"`
	OutMessages   int64     `json:"out_msgs"`
	InBytes       int64     `json:"in_bytes"`
	OutBytes      int64     `json:"out_bytes"`
	SlowConsumers int64     `json:"slow_consumers"`
	Subscriptions int       `json:"subscriptions"`
	JetStream     *jsVarz   `json:"jetstream,omitempty"`
}

func (s *system) varz(*request) any {
	t := s.stats()
	return s.wrap(varz{
		ID: s.server.id, Name: s.server.name, Version: s.server.version, Protocol: 1, Host: s.server.host,
		MaxPayload: s.limits.MaxPayload, MaxPending: s.limits.MaxPending,
		Start: t.Start, Now: time.Now().UTC(), Uptime: uptime(time.Since(t.Start)),
		Memory: t.Memory, Cores: t.Cores, MaxProcs: t.MaxProcs, CPU: t.CPU,
		Connections: t.Connections, Total: t.Total,
		InMessages: t.In.Messages, OutMessages: t.Out.Messages, InBytes: t.In.Bytes, OutBytes: t.Out.Bytes,
		SlowConsumers: t.SlowConsumers, Subscriptions: t.Subscriptions, JetStream: t.JetStream,
	})
}

// uptime in whole seconds, as Go writes durations.
func uptime(d time.Duration) string { return d.Truncate(time.Second).String() }

// jsVarz is what JetStream uses; its limits are -1: there are none but the disk's.
type jsVarz struct {
	Config jsConfig `json:"config"`
	Stats  jsStats  `json:"stats"`
}

type jsConfig struct {
	MaxMemory  int64 `json:"max_memory"`
	MaxStorage int64 `json:"max_storage"`
}

type jsStats struct {
	Memory          uint64   `json:"memory"`
	Storage         uint64   `json:"storage"`
	ReservedMemory  uint64   `json:"reserved_memory"`
	ReservedStorage uint64   `json:"reserved_storage"`
	Accounts        int      `json:"accounts"`
	HighAvailable   int      `json:"ha_assets"`
	API             apiStats `json:"api"`
}

func (s *system) jetStream() *jsVarz {
	if s.api == nil {
		return nil
	}
	return &jsVarz{jsConfig{-1, -1}, statsOf(s.api.stats())}
}

func statsOf(a accountStats) jsStats {
	return jsStats{
		Memory: a.Memory, Storage: a.Storage, ReservedMemory: a.ReservedMemory, ReservedStorage: a.ReservedStorage,
		Accounts: 1, API: a.API,
	}
}

// jsz is what `nats server report jetstream` gathers.
type jsz struct {
	jsStats
	ID        string      `json:"server_id"`
	Now       time.Time   `json:"now"`
	Disabled  bool        `json:"disabled,omitempty"`
	Config    jsConfig    `json:"config"`
	Streams   int         `json:"streams"`
	Consumers int         `json:"consumers"`
	Messages  uint64      `json:"messages"`
	Bytes     uint64      `json:"bytes"`
	Details   []jsAccount `json:"account_details,omitempty"`
	Total     int         `json:"total"`
}

type jsAccount struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	jsStats
	Streams []jsStream `json:"stream_detail,omitempty"`
}

type jsStream struct {
	Name    string         `json:"name"`
	Created time.Time      `json:"created"`
	Config  *stream.Config `json:"config,omitempty"`
	State   streamState    `json:"state"`
	// Consumers are there when they are asked for.
	Consumers []durable.Info `json:"consumer_detail,omitempty"`
}

type jszRequest struct {
	Accounts  bool `json:"accounts"`
	Streams   bool `json:"streams"`  // which means accounts as well
	Consumers bool `json:"consumer"` // which means streams as well
	Config    bool `json:"config"`
}

func (s *system) jsz(r *request) any {
	z := jsz{ID: s.server.id, Now: time.Now().UTC(), Disabled: s.api == nil, Config: jsConfig{-1, -1}}
	if s.api == nil {
		return s.wrap(z)
	}
	var q jszRequest
	_ = r.optional(&q) // what is not understood is not asked for
	a := s.api.stats()
	z.jsStats, z.Streams, z.Consumers, z.Total = statsOf(a), a.Streams, a.Consumers, 1
	account := jsAccount{Name: account, ID: account, jsStats: z.jsStats}
	for _, st := range s.api.streams.List("") {
		state, err := s.api.state(st, (*stream.Stream).Glance)
		if err != nil {
			continue // it is offline
		}
		z.Messages += state.Messages
		z.Bytes += state.Bytes
		if q.Streams || q.Consumers {
			account.Streams = append(account.Streams, s.detail(st, state, &q))
		}
	}
	if q.Accounts || q.Streams || q.Consumers {
		z.Details = []jsAccount{account}
	}
	return s.wrap(z)
}

func (s *system) detail(st *stream.Stream, state streamState, q *jszRequest) jsStream {
	d := jsStream{Name: st.Name(), Created: st.Created().UTC(), State: state}
	if q.Config {
		c := s.api.told(st.Config())
		d.Config = &c
	}
	if q.Consumers {
		for _, c := range s.api.consumers.List(st.Name()) {
			d.Consumers = append(d.Consumers, s.api.toldConsumer(c.Info()))
		}
	}
	return d
}

// accountStatz is what the one account does.
func (s *system) accountStatz(*request) any {
	type accountStat struct {
		Account       string  `json:"acc"`
		Connections   int     `json:"conns"`
		Leafs         int     `json:"leafnodes"`
		Total         int     `json:"total_conns"`
		Subscriptions int     `json:"num_subscriptions"`
		Out           traffic `json:"sent"`
		In            traffic `json:"received"`
		SlowConsumers int64   `json:"slow_consumers"`
	}
	c := s.monitor.counts()
	return s.wrap(struct {
		ID       string        `json:"server_id"`
		Now      time.Time     `json:"now"`
		Accounts []accountStat `json:"account_statz"`
	}{s.server.id, time.Now().UTC(), []accountStat{{
		Account: account, Connections: c.Connections, Total: c.Connections, Subscriptions: c.Subscriptions,
		Out: c.Out, In: c.In, SlowConsumers: c.SlowConsumers,
	}}})
}
