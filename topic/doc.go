// Package topic is the registry of topics, their partitions and their settings.
//
// A Registry keeps names, ids, partition counts and settings in bbolt; each partition's records are a log.Log in
// topics/<id>/<partition> under the data directory: a topic's directory is named by its id, never by its name. A
// Partition joins a log with its producer table: the duplicate check and the append are one step.
package topic
