// Package kafka is the Kafka front door: it translates requests into calls on topics, groups and producers.
package kafka
