package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// DescribeLogDirs (35), versions 1 to 4: the data directory, the only one, with the size of each partition in it, and
// from version 4 on the size and the free bytes of its file system, -1 if unknown. A null list of topics means all of
// them; what does not exist is left out. There are no followers: nothing lags and nothing moves.

func (s *Server) describeLogDirs(r *request) answer {
	req := r.body.(*kmsg.DescribeLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	dir := kmsg.NewDescribeLogDirsResponseDir()
	dir.Dir = s.o.Dir
	if free, total, err := s.o.FS.Free(s.o.Dir); err == nil {
		dir.UsableBytes, dir.TotalBytes = free, total
	}
	if req.Topics == nil {
		for _, t := range s.topics.List() {
			dir.Topics = append(dir.Topics, sizesOf(t, t.Partitions()))
		}
	}
	seen := make(map[string]bool)
	for _, asked := range req.Topics {
		t, ok := s.topics.Get(asked.Topic)
		if !ok || seen[asked.Topic] {
			continue
		}
		seen[asked.Topic] = true
		var parts []*topic.Partition
		for _, n := range asked.Partitions {
			if p, err := t.Partition(n); err == nil {
				parts = append(parts, p)
			}
		}
		dir.Topics = append(dir.Topics, sizesOf(t, parts))
	}
	resp.Dirs = append(resp.Dirs, dir)
	return ready(resp)
}

func sizesOf(t *topic.Topic, parts []*topic.Partition) kmsg.DescribeLogDirsResponseDirTopic {
	dt := kmsg.NewDescribeLogDirsResponseDirTopic()
	dt.Topic = t.Name()
	for _, p := range parts {
		dp := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		dp.Partition, dp.Size = p.Index(), p.Size()
		dt.Partitions = append(dt.Partitions, dp)
	}
	return dt
}
