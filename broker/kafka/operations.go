package kafka

// Bit sets of what a client may do, as KIP-430 numbers it: everything, as long as there are no access rules.
const (
	opRead            = 1 << 3
	opWrite           = 1 << 4
	opCreate          = 1 << 5
	opDelete          = 1 << 6
	opAlter           = 1 << 7
	opDescribe        = 1 << 8
	opClusterAction   = 1 << 9
	opDescribeConfigs = 1 << 10
	opAlterConfigs    = 1 << 11
	opIdempotentWrite = 1 << 12

	clusterOperations = opCreate | opAlter | opDescribe | opClusterAction | opDescribeConfigs | opAlterConfigs |
		opIdempotentWrite
	topicOperations = opRead | opWrite | opCreate | opDelete | opAlter | opDescribe | opDescribeConfigs | opAlterConfigs
)
