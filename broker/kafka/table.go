package kafka

import "sync/atomic"

// api is one kind of request: its versions, and who handles it.
type api struct {
	key      int16
	name     string
	min, max int16 // served
	handle   handler

	count, failed, nanos atomic.Int64
}

// maxKey bounds the keys of the table.
const maxKey = 92

// table lists what this server speaks. It feeds dispatch and ApiVersions.
func table() []*api {
	return []*api{
		{key: keyProduce, name: "Produce", min: 3, max: 13, handle: (*Server).produce},
		{key: 1, name: "Fetch", min: 4, max: 18, handle: (*Server).fetch},
		{key: 2, name: "ListOffsets", min: 1, max: 11, handle: (*Server).listOffsets},
		{key: 3, name: "Metadata", min: 0, max: 13, handle: (*Server).metadata},
		{key: 8, name: "OffsetCommit", min: 2, max: 10, handle: (*Server).offsetCommit},
		{key: 9, name: "OffsetFetch", min: 1, max: 10, handle: (*Server).offsetFetch},
		{key: 10, name: "FindCoordinator", min: 0, max: 6, handle: (*Server).findCoordinator},
		{key: 11, name: "JoinGroup", min: 0, max: 9, handle: (*Server).joinGroup},
		{key: 12, name: "Heartbeat", min: 0, max: 4, handle: (*Server).heartbeat},
		{key: 13, name: "LeaveGroup", min: 0, max: 5, handle: (*Server).leaveGroup},
		{key: 14, name: "SyncGroup", min: 0, max: 5, handle: (*Server).syncGroup},
		{key: 15, name: "DescribeGroups", min: 0, max: 6, handle: (*Server).describeGroups},
		{key: 16, name: "ListGroups", min: 0, max: 5, handle: (*Server).listGroups},
		{key: keyApiVersions, name: "ApiVersions", min: 0, max: 4, handle: (*Server).apiVersions},
		{key: 19, name: "CreateTopics", min: 2, max: 7, handle: (*Server).createTopics},
		{key: 20, name: "DeleteTopics", min: 1, max: 6, handle: (*Server).deleteTopics},
		{key: 21, name: "DeleteRecords", min: 0, max: 2, handle: (*Server).deleteRecords},
		{key: 22, name: "InitProducerId", min: 0, max: 4, handle: (*Server).initProducerID},
		{key: 23, name: "OffsetForLeaderEpoch", min: 2, max: 4, handle: (*Server).offsetForLeaderEpoch},
		{key: 32, name: "DescribeConfigs", min: 1, max: 4, handle: (*Server).describeConfigs},
		{key: 33, name: "AlterConfigs", min: 0, max: 2, handle: (*Server).alterConfigs},
		{key: 34, name: "AlterReplicaLogDirs", min: 1, max: 2, handle: (*Server).alterReplicaLogDirs},
		{key: 35, name: "DescribeLogDirs", min: 1, max: 4, handle: (*Server).describeLogDirs},
		{key: 37, name: "CreatePartitions", min: 0, max: 3, handle: (*Server).createPartitions},
		{key: 42, name: "DeleteGroups", min: 0, max: 2, handle: (*Server).deleteGroups},
		{key: 43, name: "ElectLeaders", min: 0, max: 2, handle: (*Server).electLeaders},
		{key: 44, name: "IncrementalAlterConfigs", min: 0, max: 1, handle: (*Server).incrementalAlterConfigs},
		{key: 45, name: "AlterPartitionReassignments", min: 0, max: 1, handle: (*Server).alterPartitionReassignments},
		{key: 46, name: "ListPartitionReassignments", min: 0, max: 0, handle: (*Server).listPartitionReassignments},
		{key: 47, name: "OffsetDelete", min: 0, max: 0, handle: (*Server).offsetDelete},
		{key: 60, name: "DescribeCluster", min: 0, max: 2, handle: (*Server).describeCluster},
		{key: 61, name: "DescribeProducers", min: 0, max: 0, handle: (*Server).describeProducers},
		{key: keyConsumerGroupHeartbeat, name: "ConsumerGroupHeartbeat", min: 0, max: 1, handle: (*Server).consumerGroupHeartbeat},
		{key: 69, name: "ConsumerGroupDescribe", min: 0, max: 1, handle: (*Server).consumerGroupDescribe},
		{key: 74, name: "ListConfigResources", min: 0, max: 1, handle: (*Server).listConfigResources},
		{key: 75, name: "DescribeTopicPartitions", min: 0, max: 0, handle: (*Server).describeTopicPartitions},
	}
}

// advertisedMin is the lowest version that ApiVersions names. librdkafka turns compression off unless Produce reaches
// down to 0, although it never sends it (KAFKA-18659).
func (a *api) advertisedMin() int16 {
	if a.key == keyProduce {
		return 0
	}
	return a.min
}
