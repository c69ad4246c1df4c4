package nats

import (
	"strings"

	"brokerd/topic/stream"
	"brokerd/topic/subject"
)

// What subjects of the API begin with, and what the types of its answers do.
const (
	apiPrefix  = "$JS.API."
	typePrefix = "io.nats.jetstream.api.v1."
)

// apiLevel is what the API can do (ADR-44): 4 is what nats-server 2.14 can.
const apiLevel = 4

// endpoint is one kind of request.
type endpoint struct {
	pattern string // of the subject, after apiPrefix
	answers string // the type of the answer, after typePrefix
	paged   bool   // the answer is one page of a list

	// there, if set, says whether somebody answers at all. If not, the client hears that nobody listens.
	there func(*api, *request) bool
	// answer makes the answer's payload. Requests of one connection are answered one after another.
	answer func(*api, *request) (any, error)
	// serve is for requests that are not answered with JSON.
	serve func(*api, *request)
	// inline: serve does not wait, and is called where the request is read.
	inline bool
}

// endpoints is the whole API. The first one whose pattern matches has the request.
func endpoints() []endpoint {
	return []endpoint{
		{pattern: "CONSUMER.MSG.NEXT.*.*", there: (*api).consumerThere, serve: (*api).next, inline: true},
		{pattern: "DIRECT.GET.*", there: (*api).directThere, serve: (*api).directGet},
		{pattern: "DIRECT.GET.*.>", there: (*api).directThere, serve: (*api).directGetLast},

		{pattern: "INFO", answers: "account_info_response", answer: (*api).accountInfo},

		{pattern: "STREAM.CREATE.*", answers: "stream_create_response", answer: (*api).createStream},
		{pattern: "STREAM.UPDATE.*", answers: "stream_update_response", answer: (*api).updateStream},
		{pattern: "STREAM.NAMES", answers: "stream_names_response", paged: true, answer: (*api).streamNames},
		{pattern: "STREAM.LIST", answers: "stream_list_response", paged: true, answer: (*api).streamList},
		{pattern: "STREAM.INFO.*", answers: "stream_info_response", answer: (*api).streamInfo},
		{pattern: "STREAM.DELETE.*", answers: "stream_delete_response", answer: (*api).deleteStream},
		{pattern: "STREAM.PURGE.*", answers: "stream_purge_response", answer: (*api).purgeStream},
		{pattern: "STREAM.MSG.GET.*", answers: "stream_msg_get_response", answer: (*api).getMessage},
		{pattern: "STREAM.MSG.DELETE.*", answers: "stream_msg_delete_response", answer: (*api).deleteMessage},
		{pattern: "STREAM.SNAPSHOT.*", answers: "stream_snapshot_response", answer: (*api).snapshotStream},
		{pattern: "STREAM.RESTORE.*", answers: "stream_restore_response", answer: (*api).restoreStream},

		{pattern: "CONSUMER.CREATE.*", answers: "consumer_create_response", answer: (*api).createEphemeral},
		{pattern: "CONSUMER.CREATE.*.>", answers: "consumer_create_response", answer: (*api).createConsumer},
		{pattern: "CONSUMER.DURABLE.CREATE.*.*", answers: "consumer_create_response", answer: (*api).createDurable},
		{pattern: "CONSUMER.NAMES.*", answers: "consumer_names_response", paged: true, answer: (*api).consumerNames},
		{pattern: "CONSUMER.LIST.*", answers: "consumer_list_response", paged: true, answer: (*api).consumerList},
		{pattern: "CONSUMER.INFO.*.*", answers: "consumer_info_response", answer: (*api).consumerInfo},
		{pattern: "CONSUMER.DELETE.*.*", answers: "consumer_delete_response", answer: (*api).deleteConsumer},
		{pattern: "CONSUMER.PAUSE.*.*", answers: "consumer_pause_response", answer: (*api).pauseConsumer},
		{pattern: "CONSUMER.UNPIN.*.*", answers: "consumer_unpin_response", answer: (*api).unpinConsumer},
		{pattern: "CONSUMER.RESET.*.*", answers: "consumer_reset_response", there: (*api).consumerThere, answer: (*api).resetConsumer},

		{pattern: "STREAM.LEADER.STEPDOWN.*", answers: "stream_leader_stepdown_response", answer: (*api).needsCluster},
		{pattern: "STREAM.PEER.REMOVE.*", answers: "stream_remove_peer_response", answer: (*api).needsCluster},
		{pattern: "STREAM.PEER.EVACUATE.*", answers: "stream_evacuate_peer_response", answer: (*api).needsCluster},
		{pattern: "STREAM.CANCEL_MOVE.*", answers: "stream_cancel_move_response", answer: (*api).needsCluster},
		{pattern: "CONSUMER.LEADER.STEPDOWN.*.*", answers: "consumer_leader_stepdown_response", answer: (*api).needsCluster},
		{pattern: "CONSUMER.PEER.REMOVE.*.*", answers: "consumer_remove_peer_response", answer: (*api).needsCluster},
		{pattern: "CONSUMER.PEER.EVACUATE.*.*", answers: "consumer_evacuate_peer_response", answer: (*api).needsCluster},
		{pattern: "META.LEADER.STEPDOWN", answers: "meta_leader_stepdown_response", answer: (*api).needsCluster},
		{pattern: "META.RESCUE", answers: "meta_rescue_response", answer: (*api).needsCluster},
		{pattern: "SERVER.REMOVE", answers: "meta_server_remove_response", answer: (*api).needsCluster},
		{pattern: "SERVER.EVACUATE", answers: "meta_server_evacuate_response", answer: (*api).needsCluster},
		{pattern: "ACCOUNT.PURGE.*", answers: "account_purge_response", answer: (*api).needsCluster},
		{pattern: "ACCOUNT.STREAM.MOVE.*.*", answers: "stream_update_response", answer: (*api).needsCluster},
		{pattern: "ACCOUNT.STREAM.CANCEL_MOVE.*.*", answers: "stream_update_response", answer: (*api).needsCluster},

		{pattern: ">", answers: "system_response", answer: (*api).unknown},
	}
}

// endpoint finds who has the request.
func (a *api) endpoint(r *request) *endpoint {
	rest := strings.TrimPrefix(r.subject, apiPrefix)
	for i := range a.endpoints {
		if e := &a.endpoints[i]; subject.Match(e.pattern, rest) {
			return e
		}
	}
	return nil
}

func (a *api) needsCluster(*request) (any, error) { return nil, stream.ErrClusterRequired }

func (a *api) unknown(*request) (any, error) { return nil, stream.ErrBadRequest }
