/* receiver.c - the request for each kind of receiver.
 *
 * Pyroscope: push.v1.PusherService/Push, in protobuf. OpenTelemetry: OTLP over HTTP. Parca: WriteRaw through its gateway, in JSON. Coroot:
 * the request of its own cluster agent, with the value names that its page knows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/forward/receiver.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/protobuf.h"
#include "base/unpack.h"
#include "base/url.h"
#include "fleet/forward/label.h"
#include "fleet/forward/otlp.h"
#include "store/rows.h"

#include <stdio.h>
#include <stdlib.h>

static const char protobuf[] = "Content-Type: application/x-protobuf";

/* HOST:PID, the name that `cairn fleet` uses for an instance. */
static struct cairn_bytes instance_name(const struct cairn_forward_item *item)
{
	const struct cairn_store_snapshot *snapshot = item->snapshot;
	if (!snapshot->host.length && !snapshot->profile->facts.process_id)
		return (struct cairn_bytes){"", 0};
	return cairn_bytes_of(cairn_arena_format(item->arena, "%.*s:%llu", (int)snapshot->host.length, snapshot->host.data,
						 (unsigned long long)snapshot->profile->facts.process_id));
}

/* The labels for every receiver: the snapshot's own except for TAKEN, and its tenant, version and instance. */
static struct cairn_forward_labels common_labels(const struct cairn_forward_item *item, const char *const *taken)
{
	struct cairn_forward_labels labels = {0};
	cairn_forward_labels_read(&labels, item->snapshot, taken, item->arena);
	cairn_forward_labels_add(&labels, "tenant", item->snapshot->tenant, item->arena);
	cairn_forward_labels_add(&labels, "version", item->snapshot->version, item->arena);
	cairn_forward_labels_add(&labels, "instance", instance_name(item), item->arena);
	return labels;
}

/* The labels for Pyroscope and Parca, with names that `cairn collect` understands. */
static struct cairn_forward_labels series_labels(const struct cairn_forward_item *item)
{
	static const char *const taken[] = {"service_name", "version", "host", "instance", "tenant", NULL};
	const struct cairn_store_snapshot *snapshot = item->snapshot;
	struct cairn_forward_labels labels = common_labels(item, taken);
	cairn_forward_labels_add(&labels, "host", snapshot->host, item->arena);
	cairn_forward_labels_add(&labels, "service_name", snapshot->service, item->arena);
	cairn_forward_labels_add(&labels, "__name__", cairn_bytes_of("memory"), item->arena);
	return labels;
}

/* An ID in the form of a UUID, the same whenever it is made of the same snapshot. */
static const char *identify(const struct cairn_forward_item *item)
{
	uint64_t one = cairn_store_id_number(item->instance, (uint64_t)item->profile->facts.time_ns), other = cairn_store_id_number(one, 6);
	return cairn_arena_format(item->arena, "%08llx-%04llx-8%03llx-a%03llx-%012llx", (unsigned long long)(one >> 32 & 0xffffffff),
				  (unsigned long long)(one >> 16 & 0xffff), (unsigned long long)(one & 0xfff),
				  (unsigned long long)(other >> 48 & 0xfff), (unsigned long long)(other & 0xffffffffffff));
}

/* PushRequest: series 1; a series: labels 1 (name 1, value 2), samples 2 (raw_profile 1, ID 2). */
static void write_pyroscope(const struct cairn_forward_item *item, struct cairn_forward_request *request)
{
	struct cairn_forward_labels labels = series_labels(item);
	struct cairn_buffer series = cairn_buffer(SIZE_MAX), part = cairn_buffer(SIZE_MAX);
	for (size_t i = 0; i < labels.count; i++) {
		cairn_protobuf_bytes(&part, 1, cairn_bytes_of(labels.items[i].name));
		cairn_protobuf_bytes(&part, 2, cairn_bytes_of(labels.items[i].value));
		cairn_protobuf_message(&series, 1, &part);
	}
	cairn_protobuf_bytes(&part, 1, item->packed);
	cairn_protobuf_bytes(&part, 2, cairn_bytes_of(identify(item)));
	cairn_protobuf_message(&series, 2, &part);
	cairn_protobuf_message(&request->body, 1, &series);
	cairn_buffer_free(&series);
	cairn_buffer_free(&part);
	request->type = "Content-Type: application/proto";
	if (item->snapshot->tenant.length > 0)
		cairn_buffer_format(&request->tenant, "X-Scope-OrgID: %.*s%c", (int)item->snapshot->tenant.length,
				    item->snapshot->tenant.data, 0);
}

static void write_otlp(const struct cairn_forward_item *item, struct cairn_forward_request *request)
{
	static const char *const taken[] = {"tenant", NULL};
	const struct cairn_store_snapshot *snapshot = item->snapshot;
	struct cairn_forward_labels resource = {0};
	struct cairn_buffer plain = cairn_buffer(SIZE_MAX);
	size_t length;
	cairn_forward_labels_read(&resource, snapshot, taken, item->arena);
	cairn_forward_labels_add(&resource, "tenant", snapshot->tenant, item->arena);
	cairn_forward_labels_add(&resource, "host.name", snapshot->host, item->arena);
	cairn_forward_labels_add(&resource, "service.instance.id", instance_name(item), item->arena);
	cairn_forward_labels_add(&resource, "service.version", snapshot->version, item->arena);
	cairn_forward_labels_add(&resource, "service.name", snapshot->service, item->arena);
	cairn_otlp_write(item->pprof, &resource, snapshot->profile->facts.process_id, item->since_ns, &plain);
	char *packed = cairn_pack_gzip(cairn_buffer_bytes(&plain), &length);
	if (!packed)
		cairn_out_of_memory(plain.length);
	cairn_buffer_append(&request->body, packed, length);
	request->type = protobuf;
	request->encoding = "Content-Encoding: gzip";
	free(packed);
	cairn_buffer_free(&plain);
}

static void write_parca(const struct cairn_forward_item *item, struct cairn_forward_request *request)
{
	struct cairn_forward_labels labels = series_labels(item);
	struct cairn_buffer profile = cairn_buffer(SIZE_MAX);
	struct cairn_json json = cairn_json(&request->body);
	cairn_base64_append(&profile, item->packed, false);
	cairn_json_open(&json, NULL, '{');
	cairn_json_open(&json, "series", '[');
	cairn_json_open(&json, NULL, '{');
	cairn_json_open(&json, "labels", '{');
	cairn_json_open(&json, "labels", '[');
	for (size_t i = 0; i < labels.count; i++) {
		cairn_json_open(&json, NULL, '{');
		cairn_json_text(&json, "name", cairn_bytes_of(labels.items[i].name));
		cairn_json_text(&json, "value", cairn_bytes_of(labels.items[i].value));
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	cairn_json_open(&json, "samples", '[');
	cairn_json_open(&json, NULL, '{');
	cairn_json_text(&json, "rawProfile", cairn_buffer_bytes(&profile));
	cairn_json_close(&json, '}');
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	request->type = "Content-Type: application/json";
	cairn_buffer_free(&profile);
}

static void write_coroot(const struct cairn_forward_item *item, struct cairn_forward_request *request)
{
	static const char *const taken[] = {"tenant", NULL};
	struct cairn_forward_labels labels = common_labels(item, taken);
	cairn_forward_labels_add(&labels, "service.name", item->snapshot->service, item->arena);
	request->url.length--; /* without the terminator */
	for (size_t i = 0; i < labels.count; i++) {
		cairn_buffer_byte(&request->url, i ? '&' : '?');
		cairn_url_name(&request->url, labels.items[i].name);
		cairn_buffer_byte(&request->url, '=');
		cairn_url_name(&request->url, labels.items[i].value);
	}
	cairn_buffer_byte(&request->url, 0);
	cairn_buffer_append(&request->body, item->packed.data, item->packed.length);
	request->type = "Content-Type: application/octet-stream";
}

const struct cairn_receiver cairn_receivers[] = {
	{"pyroscope", "/push.v1.PusherService/Push", true, NULL, write_pyroscope},
	{"otlp", "/v1development/profiles", true, NULL, write_otlp},
	{"parca", "/api/profiles/writeraw", false, NULL, write_parca},
	{"coroot", "/v1/profiles", true, "go:heap_", write_coroot},
};

const size_t cairn_receiver_count = sizeof cairn_receivers / sizeof *cairn_receivers;
