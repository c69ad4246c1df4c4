// Package topic is the registry of topics, their partitions and their settings.
//
// A Registry keeps names, ids, partition counts and settings in bbolt; each partition's records are a log.Log in
// topics/<id>/<partition> under the data directory: a topic's directory is named by its id, never by its name. A
// Partition joins a log with its producer table: the duplicate check and the append are one step.
//
// # Write path
//
// Partition.Append looks at the batch (size, structure, and the settings that concern records), then takes the
// partition's lock, asks the producer table whether the batch is new, appends it to the log, and enters it in the table.
// The caller waits for WaitDurable without any lock.
//
// # Changes
//
// Changes are made one at a time. Each is on disk before anybody sees it, and takes effect at once. The metadata decides:
// a directory that it does not name is never touched, only reported (see store.go), so that a lost metadata file never
// deletes a record; and a partition whose directory is missing is offline instead of starting again at offset 0.
//
// # Locks
//
// Registry.turn orders changes. Registry.mu guards the maps of topics, Partition.mu the producer table; the log has its
// own lock, taken under Partition.mu. A buffered write happens under Partition.mu, a sync never. What changes in a Topic
// is one immutable value behind an atomic pointer.
package topic
