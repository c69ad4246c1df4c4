package kafka

import (
	"fmt"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/log/vfs"
)

// askMetadata asks for topics; nil asks for all.
func askMetadata(c *client, version int16, names ...string) *kmsg.MetadataResponse {
	c.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.Version = version
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	return ask[*kmsg.MetadataResponse](c, req)
}

func TestMetadataVersions(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{NodeID: 7, ClusterID: "c"})
	made := ts.create("t", 3, nil)
	c := ts.dial()
	for version := int16(0); version <= 13; version++ {
		resp := askMetadata(c, version, "t", "nowhere", "t")
		if len(resp.Topics) != 2 || len(resp.Brokers) != 1 || resp.Brokers[0].NodeID != 7 {
			t.Fatalf("version %d: %+v", version, resp)
		}
		got := resp.Topics[0]
		if got.ErrorCode != 0 || *got.Topic != "t" || len(got.Partitions) != 3 || got.Partitions[2].Leader != 7 {
			t.Errorf("version %d: %+v", version, got)
		}
		if version >= 10 && got.TopicID != made.ID() {
			t.Errorf("version %d: topic id %x", version, got.TopicID)
		}
		if resp.Topics[1].ErrorCode != codeUnknownTopicOrPartition {
			t.Errorf("version %d: a missing topic has error %d", version, resp.Topics[1].ErrorCode)
		}
		if version >= 1 && resp.ControllerID != 7 {
			t.Errorf("version %d: controller %d", version, resp.ControllerID)
		}
	}
}

// TestMetadataOfAll: null asks for all topics, an empty list for none, except in version 0.
func TestMetadataOfAll(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{})
	ts.create("a", 1, nil)
	ts.create("b", 1, nil)
	c := ts.dial()
	for version := int16(0); version <= 13; version++ {
		for _, list := range [][]kmsg.MetadataRequestTopic{nil, {}} {
			want := 2
			if list != nil && version > 0 {
				want = 0
			}
			req := kmsg.NewPtrMetadataRequest()
			req.Version, req.Topics = version, list
			if got := ask[*kmsg.MetadataResponse](c, req); len(got.Topics) != want {
				t.Errorf("version %d, null %v: %d topics, want %d", version, list == nil, len(got.Topics), want)
			}
		}
	}
}

func TestMetadataByID(t *testing.T) {
	ts := startBroker(t, vfs.OS{}, Options{AutoCreate: true})
	made := ts.create("t", 1, nil)
	req := kmsg.NewPtrMetadataRequest()
	req.Version, req.AllowAutoTopicCreation = 12, true
	req.Topics = []kmsg.MetadataRequestTopic{{TopicID: made.ID()}, {TopicID: [16]byte{1, 2, 3}}}
	resp := ask[*kmsg.MetadataResponse](ts.dial(), req)
	if got := resp.Topics[0]; got.ErrorCode != 0 || *got.Topic != "t" {
		t.Errorf("%+v", got)
	}
	if got := resp.Topics[1]; got.ErrorCode != codeUnknownTopicID {
		t.Errorf("unknown id: %+v", got)
	}
}

func TestAutoCreate(t *testing.T) {
	tests := []struct {
		broker, client bool
		version        int16
		want           int16
	}{
		{true, true, 12, codeNone}, {true, false, 12, codeUnknownTopicOrPartition},
		{false, true, 12, codeUnknownTopicOrPartition}, {true, false, 3, codeNone},
		{false, false, 3, codeUnknownTopicOrPartition},
	}
	for _, test := range tests {
		ts := startBroker(t, vfs.OS{}, Options{AutoCreate: test.broker})
		req := kmsg.NewPtrMetadataRequest()
		req.Version, req.AllowAutoTopicCreation = test.version, test.client
		req.Topics = []kmsg.MetadataRequestTopic{
			{Topic: kmsg.StringPtr("new")}, {Topic: kmsg.StringPtr("not a name")},
		}
		got := ask[*kmsg.MetadataResponse](ts.dial(), req).Topics
		if got[0].ErrorCode != test.want || test.want == 0 && len(got[0].Partitions) != 1 {
			t.Errorf("%+v: %+v", test, got[0])
		}
		if test.want == 0 && got[1].ErrorCode != codeInvalidTopic {
			t.Errorf("%+v: an invalid name has error %d", test, got[1].ErrorCode)
		}
	}
}

// TestAddress: a client is sent to the address that it has connected to, unless another one is configured.
func TestAddress(t *testing.T) {
	for advertised, want := range map[string]string{
		"": "the address connected to", "kafka.example:9092": "kafka.example:9092", "[::1]:1": "[::1]:1",
	} {
		ts := startServer(t, Options{Advertised: advertised})
		if want == "the address connected to" {
			want = ts.addr
		}
		req := kmsg.NewPtrDescribeClusterRequest()
		resp := ask[*kmsg.DescribeClusterResponse](ts.dial(), req)
		b := resp.Brokers[0]
		if got := net.JoinHostPort(b.Host, fmt.Sprint(b.Port)); got != want || resp.ClusterID != "test" {
			t.Errorf("advertised %q: %s, want %s", advertised, got, want)
		}
	}
}

func TestEndpointTypes(t *testing.T) {
	c := startServer(t, Options{}).dial()
	for endpoint, want := range map[int8]int16{1: codeNone, 2: codeMismatchedEndpointType, 3: codeUnsupportedEndpointType} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.Version, req.EndpointType = 2, endpoint
		if got := ask[*kmsg.DescribeClusterResponse](c, req); got.ErrorCode != want {
			t.Errorf("endpoint type %d: error %d, want %d", endpoint, got.ErrorCode, want)
		}
	}
}
