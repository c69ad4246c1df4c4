package durable

import "brokerd/topic/stream"

func testStream() stream.Config {
	return stream.Config{Name: "S", Subjects: []string{"s.>"}, Retention: stream.Limits, Replicas: 1, MaxMsgsPer: -1, MaxConsumers: -1}
}
