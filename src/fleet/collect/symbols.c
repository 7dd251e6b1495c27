/* symbols.c - uploads of programs and debug files: the sender asks first, then sends piece by piece.
 *
 * `GET /v1/symbols/SHA256?build_id=...&program=1&detail=2&size=N` asks whether a file with that sum is wanted, and how much of it is here.
 * `PUT /v1/symbols/SHA256?size=N&offset=M` sends the next piece, at most CAIRN_UPLOAD_PIECE bytes; if the upload has to continue at another
 * offset, the answer is 409 with that offset.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/symbols.h"

#include "base/json.h"
#include "base/text.h"
#include "fleet/collect/collector.h"

#include <stdio.h>
#include <stdlib.h>

static const char prefix[] = "/v1/symbols/";

bool cairn_symbols_is(const struct cairn_request *request)
{
	return cairn_bytes_start_with(request->path, prefix);
}

/* The value of the parameter NAME of QUERY, a number; 0 for none. */
static uint64_t number_of(struct cairn_bytes query, const char *name)
{
	char text[40];
	uint64_t value = 0;
	struct cairn_bytes rest = {text, 0};
	if (!cairn_query_get(query, name, text, sizeof text))
		return 0;
	rest.length = strlen(text);
	return cairn_text_decimal(&rest, &value) && rest.length == 0 ? value : 0;
}

static void answer_state(const struct cairn_upload_state *state, const char *problem, struct cairn_response *response)
{
	cairn_response_start(response, state->status, "application/json");
	struct cairn_json json = cairn_json_answer(&response->body);
	if (problem)
		cairn_json_text(&json, "error", cairn_bytes_of(problem));
	cairn_json_bool(&json, "complete", state->complete);
	cairn_json_integer(&json, "received", (int64_t)state->received);
	if (state->file.build_id[0])
		cairn_json_text(&json, "build_id", cairn_bytes_of(state->file.build_id));
	cairn_json_end(&json);
}

static void answer(struct cairn_collector *collector, struct cairn_exchange *exchange, struct cairn_bytes tenant)
{
	const struct cairn_request *request = &exchange->request;
	struct cairn_response *response = &exchange->response;
	struct cairn_upload_state state;
	struct cairn_error error;
	char sum[CAIRN_UPLOAD_SUM + 2];
	bool good;
	struct cairn_bytes name = cairn_bytes_skip(request->path, sizeof prefix - 1);
	snprintf(sum, sizeof sum, "%.*s", (int)(name.length < sizeof sum ? name.length : sizeof sum - 1), name.data);
	if (!cairn_upload_sum_valid(sum)) {
		cairn_collector_refuse(collector, response, 400, "the path must end with the SHA-256 in 64 hexadecimal digits");
		return;
	}
	if (cairn_request_is(request, "GET")) {
		struct cairn_build_file file = {.program = number_of(request->query, "program") != 0,
						.detail = (enum cairn_build_detail)(number_of(request->query, "detail") & 3),
						.size = number_of(request->query, "size")};
		cairn_query_get(request->query, "build_id", file.build_id, sizeof file.build_id);
		if (!cairn_build_id_valid(file.build_id)) {
			cairn_collector_refuse(collector, response, 400, "build_id is missing or invalid");
			return;
		}
		good = cairn_uploads_ask(&collector->uploads, tenant, sum, &file, &state, &error);
	} else if (cairn_request_is(request, "PUT")) {
		good = cairn_uploads_take(&collector->uploads, tenant, sum, number_of(request->query, "size"),
					  number_of(request->query, "offset"), request->body, &state, &error);
	} else {
		cairn_collector_refuse(collector, response, 405, "use GET to ask for a file, and PUT to send it");
		return;
	}
	collector->refused += !good && state.status != 409;
	answer_state(&state, good ? NULL : error.text, response);
}

bool cairn_symbols_send(void *context, void *item, struct cairn_error *error)
{
	struct cairn_collector *collector = context;
	struct cairn_exchange *exchange = *(struct cairn_exchange **)item;
	const char *tenant = cairn_senders_tenant(&collector->senders, &exchange->request);
	uint64_t before = collector->uploads.arrived;
	(void)error;
	answer(collector, exchange, cairn_bytes_of(tenant ? tenant : ""));
	if (collector->uploads.arrived != before) {
		pthread_mutex_lock(&collector->lock);
		pthread_cond_broadcast(&collector->arrived); /* stored frames without names may get some now */
		pthread_mutex_unlock(&collector->lock);
	}
	cairn_exchange_finish(exchange);
	return true;
}
