package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"brokerd/topic"
)

// AlterReplicaLogDirs (34), versions 1 and 2: every partition is already where it can be, in the data directory.

func (s *Server) alterReplicaLogDirs(r *request) answer {
	req := r.body.(*kmsg.AlterReplicaLogDirsRequest)
	resp := req.ResponseKind().(*kmsg.AlterReplicaLogDirsResponse)
	for _, dir := range req.Dirs {
		for _, t := range dir.Topics {
			rt := kmsg.NewAlterReplicaLogDirsResponseTopic()
			rt.Topic = t.Topic
			for _, n := range t.Partitions {
				rp := kmsg.NewAlterReplicaLogDirsResponseTopicPartition()
				rp.Partition = n
				if _, err := (finder{topics: s.topics}).partition(t.Topic, topic.ID{}, n); err != nil {
					rp.ErrorCode = codeReplicaNotAvailable
				}
				if dir.Dir != s.o.Dir {
					rp.ErrorCode = codeLogDirNotFound
				}
				rt.Partitions = append(rt.Partitions, rp)
			}
			resp.Topics = append(resp.Topics, rt)
		}
	}
	return ready(resp)
}
