package durable

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"brokerd/topic/stream"
)

func testStream() stream.Config {
	return stream.Config{Name: "S", Subjects: []string{"s.>"}, Retention: stream.Limits, Replicas: 1, MaxMsgsPer: -1, MaxConsumers: -1}
}

func TestCheckConfig(t *testing.T) {
	queue := func(s *stream.Config) { s.Retention = stream.WorkQueue }
	limited := func(s *stream.Config) {
		s.Limits = stream.ConsumerLimits{InactiveThreshold: time.Minute, MaxAckPending: 10}
	}
	for _, c := range []struct {
		config string
		code   uint16 // 0 for none
		text   string
		stream func(*stream.Config)
	}{
		{`{}`, 0, "", nil},
		{`{"name":"a.b"}`, 10052, `consumer name can not contain '.', '*', '>', '\', '/'`, nil},
		{`{"durable_name":"a b"}`, 10052, "consumer durable name can not contain", nil},
		{`{"durable_name":"` + strings.Repeat("x", 256) + `"}`, 10102, "maximum allowed is 255", nil},
		{`{"durable_name":"a","name":"b"}`, 10132, "have to be equal", nil},
		{`{"num_replicas":3}`, 10074, "non-clustered", nil},
		{`{"num_replicas":-1}`, 10133, "", nil},
		{`{"ack_policy":"explicit","backoff":[-1]}`, 10184, "", nil},
		{`{"ack_policy":"explicit","ack_wait":-1}`, 10183, "", nil},
		{`{"ack_policy":"explicit","backoff":[1,2],"max_deliver":1}`, 10116, "", nil},
		{`{"ack_policy":"explicit","backoff":[1,2],"max_deliver":2}`, 0, "", nil},
		{`{"description":"` + strings.Repeat("x", 4097) + `"}`, 10107, "maximum allowed is 4096", nil},
		{`{"deliver_subject":"a.*"}`, 10079, "wildcards", nil},
		{`{"deliver_subject":"a..b"}`, 10112, "", nil},
		{`{"deliver_subject":"$JS.API.x"}`, 10112, "", nil},
		{`{"deliver_subject":"s.a"}`, 10081, "cycle", nil},
		{`{"deliver_subject":"d","max_waiting":1}`, 10080, "", nil},
		{`{"deliver_subject":"d","max_ack_pending":1}`, 10082, "", nil},
		{`{"deliver_subject":"d","idle_heartbeat":1}`, 10083, "100ms", nil},
		{`{"deliver_subject":"d","flow_control":true}`, 10108, "", nil},
		{`{}`, 10084, "", queue},
		{`{"ack_policy":"explicit"}`, 0, "", queue},
		{`{"rate_limit_bps":1}`, 10086, "", nil},
		{`{"idle_heartbeat":1000000000}`, 10088, "", nil},
		{`{"flow_control":true}`, 10089, "", nil},
		{`{"max_expires":1}`, 10115, "", nil},
		{`{"ack_policy":"explicit","max_ack_pending":11}`, 10121, "limit of 10", limited},
		{`{"inactive_threshold":60000000001}`, 10153, "limit of 1m0s", limited},
		{`{"direct":true}`, 10090, "", nil},
		{`{"direct":true,"deliver_subject":"d","durable_name":"x"}`, 10091, "", nil},
		{`{"filter_subject":"s.a","filter_subjects":["s.b"]}`, 10136, "", nil},
		{`{"filter_subject":"s..a"}`, 10052, "invalid subject", nil},
		{`{"filter_subjects":[""]}`, 10139, "", nil},
		{`{"filter_subjects":["s.*","s.a"]}`, 10138, "", nil},
		{`{"opt_start_seq":1}`, 10094, "consumer delivery policy is deliver all, but optional start sequence is also set", nil},
		{`{"deliver_policy":"last","opt_start_time":"2026-01-01T00:00:00Z"}`, 10094, "deliver last, but optional start time is also set", nil},
		{`{"deliver_policy":"last_per_subject"}`, 10094, "deliver last per subject, but optional filter subject is not set", nil},
		{`{"deliver_policy":"by_start_sequence"}`, 10094, "deliver by start sequence, but optional start sequence is not set", nil},
		{`{"deliver_policy":"by_start_time"}`, 10094, "deliver by start time, but optional start time is not set", nil},
		{`{"sample_freq":"x"}`, 10095, "failed to parse", nil},
		{`{"sample_freq":"100%"}`, 0, "", nil},
		{`{"metadata":{"k":"` + strings.Repeat("x", 128<<10) + `"}}`, 10135, "128KB", nil},
		{`{"priority_groups":["A"]}`, 10196, "", nil},
		{`{"priority_timeout":1}`, 10197, "", nil},
		{`{"priority_policy":"overflow"}`, 10159, "", nil},
		{`{"priority_policy":"overflow","priority_groups":["A"],"deliver_subject":"d"}`, 10178, "", nil},
		{`{"priority_policy":"overflow","priority_groups":[""]}`, 10161, "", nil},
		{`{"priority_policy":"overflow","priority_groups":["a b"]}`, 10162, "", nil},
		{`{"priority_policy":"none"}`, 0, "", nil},
	} {
		var config Config
		if err := json.Unmarshal([]byte(c.config), &config); err != nil {
			t.Fatal(err)
		}
		s := testStream()
		if c.stream != nil {
			c.stream(&s)
		}
		config.complete(s.Limits)
		err := config.check(&s)
		var known *stream.Error
		if c.code == 0 && err != nil || c.code != 0 && (!errors.As(err, &known) || known.ErrCode != c.code || !strings.Contains(known.Description, c.text)) {
			t.Errorf("%.80s: %v, want %d %s", c.config, err, c.code, c.text)
		}
	}
}

func TestUnknownWordsAreNotRead(t *testing.T) {
	for _, text := range []string{`{"deliver_policy":"x"}`, `{"ack_policy":"x"}`, `{"replay_policy":1}`, `{"priority_policy":"x"}`} {
		if err := json.Unmarshal([]byte(text), &Config{}); err == nil || !strings.HasPrefix(err.Error(), "can not unmarshal") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestCompleteConfig(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		{`{}`, `{"deliver_policy":"all","ack_policy":"none","max_deliver":-1,"replay_policy":"instant","max_waiting":512,"num_replicas":0}`},
		{`{"ack_policy":"explicit"}`, `{"deliver_policy":"all","ack_policy":"explicit","ack_wait":30000000000,"max_deliver":-1,"replay_policy":"instant","max_waiting":512,"max_ack_pending":1000,"num_replicas":0}`},
		{`{"ack_policy":"all","backoff":[5,6],"max_deliver":3,"max_ack_pending":-7,"deliver_subject":"d"}`,
			`{"deliver_policy":"all","ack_policy":"all","ack_wait":5,"max_deliver":3,"backoff":[5,6],"replay_policy":"instant","max_ack_pending":-1,"deliver_subject":"d","num_replicas":0}`},
		{`{"priority_policy":"pinned_client","priority_groups":["A"]}`, `{"deliver_policy":"all","ack_policy":"none","max_deliver":-1,"replay_policy":"instant","max_waiting":512,"num_replicas":0,"priority_groups":["A"],"priority_policy":"pinned_client","priority_timeout":120000000000}`},
	} {
		var config Config
		if err := json.Unmarshal([]byte(c.given), &config); err != nil {
			t.Fatal(err)
		}
		config.complete(stream.ConsumerLimits{})
		got, err := json.Marshal(config)
		if err != nil || string(got) != c.want {
			t.Errorf("%s became\n%s\nwant\n%s\n%v", c.given, got, c.want, err)
		}
	}
}

func TestUpdateRules(t *testing.T) {
	for _, c := range []struct {
		from, to string
		bound    bool
		code     uint16
		text     string
	}{
		{`{"ack_policy":"explicit"}`, `{"ack_policy":"explicit","max_ack_pending":5,"description":"d","ack_wait":7,"filter_subject":"s.a"}`, false, 0, ""},
		{`{}`, `{"deliver_policy":"new"}`, false, 10012, "deliver policy can not be updated"},
		{`{}`, `{"ack_policy":"all"}`, false, 10012, "ack policy can not be updated"},
		{`{}`, `{"replay_policy":"original"}`, false, 10012, "replay policy can not be updated"},
		{`{}`, `{"mem_storage":true}`, false, 10012, "storage type can not be updated"},
		{`{}`, `{"max_waiting":7}`, false, 10012, "max waiting can not be updated"},
		{`{}`, `{"deliver_subject":"d"}`, false, 10012, "can not update pull consumer to push based"},
		{`{"deliver_subject":"d"}`, `{}`, false, 10012, "can not update push consumer to pull based"},
		{`{"deliver_subject":"d"}`, `{"deliver_subject":"e"}`, false, 0, ""},
		{`{"deliver_subject":"d"}`, `{"deliver_subject":"e"}`, true, 10013, "consumer name already in use"},
		{`{"deliver_subject":"d","idle_heartbeat":100000000}`, `{"deliver_subject":"d","idle_heartbeat":200000000}`, false, 10012, "heart beats can not be updated"},
		{`{"deliver_policy":"by_start_sequence","opt_start_seq":1}`, `{"deliver_policy":"by_start_sequence","opt_start_seq":2}`, false, 10012, "start sequence can not be updated"},
	} {
		from, to := mustConfig(t, c.from), mustConfig(t, c.to)
		err := from.checkUpdate(&to, c.bound)
		var known *stream.Error
		if c.code == 0 && err != nil || c.code != 0 && (!errors.As(err, &known) || known.ErrCode != c.code || known.Description != c.text) {
			t.Errorf("%s to %s: %v, want %d %s", c.from, c.to, err, c.code, c.text)
		}
	}
}

func TestVersionsInMetadataMakeNoDifference(t *testing.T) {
	a := mustConfig(t, `{"metadata":{"k":"v","_nats.ver":"1.2.3","_nats.level":"1","_nats.req.level":"0"}}`)
	b := mustConfig(t, `{"metadata":{"k":"v"}}`)
	if !a.equal(&b) {
		t.Error("they differ")
	}
	b.stampLevel()
	if b.Metadata["_nats.req.level"] != "0" || b.Metadata["k"] != "v" {
		t.Errorf("metadata is %v", b.Metadata)
	}
	c := mustConfig(t, `{"metadata":{"k":"w"}}`)
	if a.equal(&c) {
		t.Error("another value makes no difference")
	}
}
