// Package producer knows who publishes: producer ids, and per partition the sequences by which a repeated batch is
// recognised.
package producer
