package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"brokerd/log/vfs"
)

// logFiles is one log: a directory of segments, or one segment.
type logFiles struct {
	label    string // how it is called in what is printed
	path     string
	segments int
	bytes    int64
}

// deepest is how far below a path logs are looked for: data/topics/ID/PARTITION.
const deepest = 3

// findLogs returns the logs that name stands for.
func findLogs(fsys vfs.FS, name string) ([]logFiles, error) {
	name = path.Clean(name)
	_, err := fsys.List(name)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		logs, err := oneSegment(fsys, name)
		nameLogs(logs)
		return logs, err
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s does not exist", name)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	logs, err := findBelow(fsys, name, deepest)
	if err != nil {
		return nil, err
	}
	if len(logs) == 0 {
		return nil, fmt.Errorf("there is no log below %s: name a data directory, a topic's or a partition's, or a .log file", name)
	}
	nameLogs(logs)
	return logs, nil
}

func oneSegment(fsys vfs.FS, name string) ([]logFiles, error) {
	f, err := fsys.OpenRead(name)
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("open segment: %w", err)
	}
	return []logFiles{{label: name, path: name, segments: 1, bytes: size}}, nil
}

func findBelow(fsys vfs.FS, dir string, depth int) ([]logFiles, error) {
	entries, err := fsys.List(dir)
	if err != nil {
		return nil, fmt.Errorf("read directory: %w", err)
	}
	var logs []logFiles
	here := logFiles{label: dir, path: dir}
	for _, e := range entries {
		switch {
		case e.Dir && depth > 0:
			below, err := findBelow(fsys, path.Join(dir, e.Name), depth-1)
			if err != nil {
				return nil, err
			}
			logs = append(logs, below...)
		case !e.Dir && strings.HasSuffix(e.Name, ".log"):
			here.segments++
			here.bytes += e.Size
		}
	}
	if here.segments > 0 {
		logs = append(logs, here)
	}
	return logs, nil
}
