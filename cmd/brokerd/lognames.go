package main

import (
	"fmt"
	"path"
	"time"

	"go.etcd.io/bbolt"

	"brokerd/topic"
)

// namesTimeout is how long to wait for the metadata: a running broker has it locked.
const namesTimeout = 100 * time.Millisecond

// nameLogs calls logs by topic and partition, where the metadata beside them can be read; the others keep their paths.
// Partitions lie in DATA/topics/ID/PARTITION.
func nameLogs(logs []logFiles) {
	known := make(map[string]map[string]string) // by data directory, by topic id
	for i, l := range logs {
		dir := l.path
		if path.Ext(dir) == ".log" {
			dir = path.Dir(dir)
		}
		id := path.Base(path.Join(dir, ".."))
		data := path.Join(dir, "../../..")
		names, ok := known[data]
		if !ok {
			names = readNames(path.Join(data, "meta.db"))
			known[data] = names
		}
		if name, ok := names[id]; ok {
			logs[i].label = fmt.Sprintf("%s/%s", name, path.Base(dir))
			if dir != l.path {
				logs[i].label += "/" + path.Base(l.path)
			}
		}
	}
}

// readNames returns the names of topics by id; none when meta is absent or in use.
func readNames(meta string) map[string]string {
	db, err := bbolt.Open(meta, 0, &bbolt.Options{ReadOnly: true, Timeout: namesTimeout})
	if err != nil {
		return nil
	}
	defer db.Close()
	byID, err := topic.Names(db)
	if err != nil {
		return nil
	}
	names := make(map[string]string, len(byID))
	for id, name := range byID {
		names[id.String()] = name
	}
	return names
}
