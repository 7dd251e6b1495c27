/* receive.c - answers requests to a collector: checks the sender and the profile, and writes the profile to the spool.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/receive.h"

#include "base/json.h"
#include "base/note.h"
#include "base/text.h"
#include "base/unpack.h"
#include "fleet/collect/collector.h"
#include "fleet/collect/pyroscope.h"
#include "fleet/collect/symbols.h"
#include "http/access.h"
#include "profile/read.h"
#include "protocol/empty_profile.h"

#include <stdio.h>
#include <stdlib.h>

enum upload { NO_UPLOAD, SNAPSHOT, INGEST, PUSH };
/* The refusal of a snapshot for which the spool has no room. */
static int status_of(enum cairn_spool_room room, const char **why)
{
	*why = room == CAIRN_SPOOL_FULL
		       ? "the spool is full because the store does not accept its snapshots; try again later"
		       : "this tenant has its share of the spool, whose snapshots the store does not accept yet; try again later";
	return room == CAIRN_SPOOL_FULL ? 503 : 429;
}

static enum upload upload_of(const struct cairn_request *request)
{
	static const struct {
		const char *path;
		enum upload upload;
	} paths[] = {{"/v1/snapshots", SNAPSHOT}, {"/v1/pprof", SNAPSHOT}, {"/ingest", INGEST}, {"/push.v1.PusherService/Push", PUSH}};
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (cairn_bytes_equal(request->path, cairn_bytes_of(paths[i].path)))
			return paths[i].upload;
	return NO_UPLOAD;
}

void cairn_collector_refuse(struct cairn_collector *collector, struct cairn_response *response, int status, const char *why)
{
	collector->refused++;
	cairn_response_start(response, status, "application/json");
	struct cairn_json json = cairn_json_answer(&response->body);
	cairn_json_text(&json, "error", cairn_bytes_of(why));
	cairn_json_end(&json);
}

static bool is_probe(const struct cairn_request *request)
{
	return cairn_request_is(request, "GET") && cairn_bytes_equal(request->path, cairn_bytes_of("/health"));
}

static bool has_token(void *context, const struct cairn_request *request)
{
	const struct cairn_collector *collector = context;
	return cairn_senders_tenant(&collector->senders, request) != NULL;
}

/* Decides by the head of a request, so that nobody sends a large body in vain. */
bool cairn_receive_admit(void *context, struct cairn_exchange *exchange, size_t *body_maximum)
{
	struct cairn_collector *collector = context;
	const struct cairn_request *request = &exchange->request;
	struct cairn_response *response = &exchange->response;
	/* Probes of Kubernetes and load balancers have no token and learn only that the collector runs. */
	if (is_probe(request)) {
		*body_maximum = 0;
		return true;
	}
	const bool asks_token = collector->senders.count > 0;
	struct cairn_access access = {.server = CAIRN_ACCESS_COLLECTOR, .hosts = asks_token ? NULL : "", .asks_token = asks_token,
				      .has_token = has_token, .context = collector};
	const struct cairn_refusal *refusal = cairn_access_check(&access, request);
	if (refusal) {
		cairn_collector_refuse(collector, response, refusal->status, refusal->why);
		return false;
	}
	const char *tenant = cairn_senders_tenant(&collector->senders, request), *why;
	if (cairn_symbols_is(request)) {
		*body_maximum = CAIRN_UPLOAD_PIECE;
		return true;
	}
	if (upload_of(request) == NO_UPLOAD) {
		*body_maximum = 0;
		return true;
	}
	size_t length = request->has_length ? (size_t)request->content_length : CAIRN_COLLECT_BODY;
	enum cairn_spool_room room = cairn_spool_room(&collector->spool, cairn_bytes_of(tenant), length);
	if (room != CAIRN_SPOOL_FITS) {
		int status = status_of(room, &why);
		cairn_collector_refuse(collector, response, status, why);
	}
	return room == CAIRN_SPOOL_FITS;
}

static void show_metrics(struct cairn_collector *collector, struct cairn_response *response)
{
	const struct {
		const char *name, *type, *help;
		uint64_t value;
	} rows[] = {
		{"cairn_collect_accepted_total", "counter", "Snapshots accepted from senders.", collector->accepted},
		{"cairn_collect_refused_total", "counter", "Requests refused.", collector->refused},
		{"cairn_collect_stored_total", "counter", "Snapshots put into the store.", collector->stored},
		{"cairn_collect_rejected_total", "counter", "Accepted snapshots that no profile could be read from.", collector->rejected},
		{"cairn_collect_ignored_total", "counter", "Accepted profiles that are not of live memory, such as of CPU time.",
		 collector->ignored},
		{"cairn_collect_set_aside_total", "counter", "Files set aside because they crashed the collector too often.",
		 collector->spool.set_aside},
		{"cairn_collect_uploads_total", "counter", "Programs and debug files uploaded.", collector->uploads.arrived},
		{"cairn_collect_builds_refused_total", "counter", "Builds whose uploaded files could not be read, twice.",
		 collector->uploads.suspects.refused},
		{"cairn_collect_uploads_removed_total", "counter", "Uploaded files removed to make room.", collector->uploads.removed},
		{"cairn_collect_naming_failures_total", "counter",
		 "Times naming crashed or took too much memory or time.", collector->namer.deaths},
		{"cairn_collect_named_total", "counter", "Frames that got their names after they were stored.", collector->named},
		{"cairn_collect_naming_passes_total", "counter", "Times frames in the store that lack names were looked at.",
		 collector->passes},
		{"cairn_collect_store_failures_total", "counter", "Times the store did not take a batch.", collector->failures},
		{"cairn_collect_spool_files", "gauge", "Snapshots waiting for the store.", collector->spool.files},
		{"cairn_collect_spool_bytes", "gauge", "Bytes waiting for the store.", collector->spool.bytes},
	};
	cairn_response_start(response, 200, "text/plain; version=0.0.4");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cairn_buffer_format(&response->body, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", rows[i].name, rows[i].help, rows[i].name,
				    rows[i].type, rows[i].name, (unsigned long long)rows[i].value);
	if (collector->forwards)
		cairn_forward_queues_metrics(collector->forwards, &response->body);
}

/* Lets the thread of OUTBOX answer EXCHANGE. Answers it and returns false if too many wait. */
static bool queue_exchange(struct cairn_collector *collector, struct cairn_outbox *outbox, struct cairn_exchange *exchange)
{
	bool room = cairn_outbox_add(outbox, &exchange, 0);
	if (!room)
		cairn_collector_refuse(collector, &exchange->response, 503, "too many senders at once; try again");
	return room;
}

bool cairn_receive_handle(void *context, struct cairn_exchange *exchange)
{
	struct cairn_collector *collector = context;
	const struct cairn_request *request = &exchange->request;
	struct cairn_response *response = &exchange->response;
	bool get = cairn_request_is(request, "GET");
	if (get && cairn_bytes_equal(request->path, cairn_bytes_of("/metrics"))) {
		show_metrics(collector, response);
		return true;
	}
	if (is_probe(request)) {
		cairn_response_text(response, 200, "text/plain", "ok\n");
		return true;
	}
	struct cairn_bytes path = request->path;
	if (get && cairn_text_take(&path, "/debug/pprof/")) {
		cairn_response_start(response, 200, "application/octet-stream");
		if (cairn_empty_profile(path, &response->body))
			return true;
	}
	if (cairn_symbols_is(request))
		return !queue_exchange(collector, &collector->symbols, exchange);
	if (upload_of(request) != NO_UPLOAD && cairn_request_is(request, "POST"))
		return !queue_exchange(collector, &collector->snapshots, exchange);
	if (upload_of(request) == NO_UPLOAD)
		cairn_collector_refuse(collector, response, 404, "this is a collector: POST /v1/snapshots, GET /metrics, GET /health");
	else
		cairn_collector_refuse(collector, response, 405, "profiles are sent by POST");
	return true;
}

/* A request whose profiles are being written to the spool. */
struct taking {
	struct cairn_collector *collector;
	struct cairn_exchange *exchange;
	struct cairn_bytes tenant;
	size_t profiles; /* of this request so far */
	bool refused;    /* and answered */
};

/* Refuses the request; returns false. */
static bool refuse(struct taking *taking, int status, const char *why)
{
	cairn_collector_refuse(taking->collector, &taking->exchange->response, status, why);
	taking->refused = true;
	return false;
}

/* Writes a profile to the spool. Notes once that this fails, and once that it works again: smaller ones may fit on a full disk. */
static bool write_profile(struct taking *taking, struct cairn_bytes query, struct cairn_bytes profile)
{
	struct cairn_collector *collector = taking->collector;
	struct cairn_error error;
	size_t size = query.length + profile.length, least = collector->unwritten;
	bool good = cairn_spool_write(&collector->spool, query, taking->tenant, profile, &error);
	if (!good && !least)
		cairn_note("snapshots are refused, since they cannot be written to the spool: %s", error.text);
	if (good && least && size >= least)
		cairn_note("snapshots can be written to the spool again");
	if (!good)
		collector->unwritten = least && least < size ? least : size;
	else if (size >= least)
		collector->unwritten = 0;
	return good;
}

/* Takes a profile into the spool. If it must be refused, answers the request and returns false. */
static bool take(void *context, struct cairn_bytes query, struct cairn_bytes profile)
{
	struct taking *taking = context;
	struct cairn_collector *collector = taking->collector;
	enum { profiles_most = 256 };
	enum cairn_format format = cairn_profile_sniff(profile);
	if (taking->profiles++ == profiles_most)
		return refuse(taking, 413, "there are more than 256 profiles in it");
	const char *why;
	enum cairn_spool_room room = cairn_spool_room(&collector->spool, taking->tenant, query.length + profile.length);
	if (room != CAIRN_SPOOL_FITS) {
		int status = status_of(room, &why);
		return refuse(taking, status, why);
	}
	if (format == CAIRN_FORMAT_UNKNOWN || format == CAIRN_FORMAT_EMPTY)
		return refuse(taking, 400, "the body is no profile that cairn can read");
	if (!cairn_unpack_fits(profile, collector->unpacked_most))
		return refuse(taking, 413,
			      "it decompresses to more than this collector takes (--unpacked-bytes), or to more than 40 MiB and 40 times "
			      "its size");
	if (!write_profile(taking, query, profile))
		return refuse(taking, 503, "it could not be written to disk; try again later");
	collector->accepted++;
	return true;
}

/* Takes a call of Push, whose body may be compressed as a whole. The answer is JSON or protobuf, as the call was. */
static bool take_push(struct taking *taking, struct cairn_error *error)
{
	struct cairn_bytes body = taking->exchange->request.body;
	char *unpacked = NULL;
	size_t length;
	bool cut;
	if (cairn_unpack_sniff(body) != CAIRN_PACKED_NOT) {
		if (!cairn_unpack_within(body, taking->collector->unpacked_most, &unpacked, &length, &cut, error))
			return false;
		body = (struct cairn_bytes){unpacked, length};
	}
	bool json = body.length > 0 && body.data[0] == '{', good = cairn_pyroscope_push(body, take, taking, error);
	if (good && !taking->refused)
		cairn_response_text(&taking->exchange->response, 200, json ? "application/json" : "application/proto", json ? "{}" : "");
	free(unpacked);
	return good;
}

static void answer(struct taking *taking)
{
	struct cairn_exchange *exchange = taking->exchange;
	const struct cairn_request *request = &exchange->request;
	struct cairn_error error;
	bool good = true;
	switch (upload_of(request)) {
	case SNAPSHOT:
		if (take(taking, request->query, request->body))
			cairn_response_text(&exchange->response, 202, "application/json", "{\"version\":1,\"accepted\":true}\n");
		break;
	case INGEST:
		good = cairn_pyroscope_ingest(request, take, taking, &error);
		if (good && !taking->refused)
			cairn_response_text(&exchange->response, 200, "application/json", "{}");
		break;
	case PUSH: good = take_push(taking, &error); break;
	case NO_UPLOAD: break;
	}
	if (!good)
		refuse(taking, 400, error.text);
}

bool cairn_receive_send(void *context, void *item, struct cairn_error *error)
{
	struct cairn_collector *collector = context;
	struct cairn_exchange *exchange = *(struct cairn_exchange **)item;
	const char *tenant = cairn_senders_tenant(&collector->senders, &exchange->request);
	struct taking taking = {.collector = collector, .exchange = exchange, .tenant = cairn_bytes_of(tenant ? tenant : "")};
	(void)error;
	answer(&taking);
	pthread_mutex_lock(&collector->lock);
	pthread_cond_broadcast(&collector->arrived);
	pthread_mutex_unlock(&collector->lock);
	cairn_exchange_finish(exchange);
	return true;
}
