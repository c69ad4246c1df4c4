package kafka

import (
	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeCluster (60), versions 0 to 2: one broker, which is its own controller. Endpoints of controllers (KIP-919) do
// not exist apart from it.

// endpointBrokers asks for brokers, endpointControllers for controllers.
const (
	endpointBrokers     = 1
	endpointControllers = 2
)

func (s *Server) describeCluster(r *request) answer {
	req := r.body.(*kmsg.DescribeClusterRequest)
	resp := req.ResponseKind().(*kmsg.DescribeClusterResponse)
	resp.ClusterID, resp.ControllerID = s.o.ClusterID, s.o.NodeID
	if req.Version >= 1 && req.EndpointType != endpointBrokers {
		err := faultf(codeUnsupportedEndpointType, "there is no endpoint type %d", req.EndpointType)
		if req.EndpointType == endpointControllers {
			err = faultf(codeMismatchedEndpointType, "this is a broker; there are no separate controllers")
		}
		resp.ErrorCode, resp.ErrorMessage = codeOf(err), messageOf(err)
		return ready(resp)
	}
	b := kmsg.NewDescribeClusterResponseBroker()
	b.NodeID = s.o.NodeID
	b.Host, b.Port = r.conn.address()
	resp.Brokers = append(resp.Brokers, b)
	if req.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	return ready(resp)
}
