// Package kafka is the Kafka front door: it translates requests into calls on topics, groups and producers.
//
// # A connection
//
// ServeConn runs two goroutines. The reader takes frames from the socket: it checks the announced size, draws the frame
// from the process-wide budget before it reads the body, decodes it, and calls the request's handler. The handler does
// what must happen in the order of the requests (append, join, create) and returns an answer. The writer takes the
// answers in the same order, waits for each (a durable commit, a long poll, a parked join) and sends it. While an answer
// is awaited the reader goes on, until the connection's in-flight limits; then it stops reading and TCP does the rest.
//
// # Adding a request
//
// Write a file with one method of type handler, for example
//
//	func (s *Server) heartbeat(r *request) answer {
//		req := r.body.(*kmsg.HeartbeatRequest)
//		resp := req.ResponseKind().(*kmsg.HeartbeatResponse)
//		...
//		return ready(resp)
//	}
//
// and one line in table.go. The table feeds both dispatch and ApiVersions, so nothing unimplemented is ever advertised.
// See the comments at handler and answer for the rules.
package kafka
