/* pyroscope.c - Pyroscope's two push requests: /ingest of its older clients, and the call Push of its newer ones.
 *
 * Labels become those of the store: service_name is the service, version or service_version the release, and the first that is present of
 * host, hostname, pod and instance the host. Names that begin with two underscores are internal to Pyroscope.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/pyroscope.h"

#include "base/base64.h"
#include "base/json_read.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "base/time.h"
#include "base/url.h"

#include <stdio.h>
#include <string.h>

enum { labels_most = 64, text_most = 256 };

struct label {
	char name[text_most], value[text_most];
};

struct labels {
	struct label items[labels_most];
	size_t count;
};

static void copy_text(struct cairn_bytes text, char out[text_most])
{
	size_t length = text.length < text_most - 1 ? text.length : text_most - 1;
	memcpy(out, text.data, length);
	out[length] = 0;
}

static void add_label(struct labels *labels, struct cairn_bytes name, struct cairn_bytes value)
{
	if (labels->count == labels_most || name.length == 0)
		return;
	struct label *label = &labels->items[labels->count++];
	copy_text(name, label->name);
	copy_text(value, label->value);
}

static const char *value_of(const struct labels *labels, const char *name)
{
	for (size_t i = 0; i < labels->count; i++)
		if (strcmp(labels->items[i].name, name) == 0 && labels->items[i].value[0])
			return labels->items[i].value;
	return NULL;
}

/* The value of the first label in NAMES, which ends with NULL, that is present. */
static const char *first_of(const struct labels *labels, const char *const *names)
{
	const char *value = NULL;
	for (; *names && !value; names++)
		value = value_of(labels, *names);
	return value;
}

static void write_part(struct cairn_buffer *query, const char *key, const char *value)
{
	if (!value)
		return;
	if (query->length > 0)
		cairn_buffer_byte(query, '&');
	cairn_url_name(query, key);
	cairn_buffer_byte(query, '=');
	cairn_url_name(query, value);
}

/* Writes LABELS as the query of a request to /v1/snapshots. */
static void write_query(const struct labels *labels, const char *time, struct cairn_buffer *query)
{
	static const char *const services[] = {"service_name", "service", NULL}, *const versions[] = {"version", "service_version", NULL};
	static const char *const hosts[] = {"host", "hostname", "pod", "instance", NULL}, *const *const used[] = {services, versions,
														  hosts};
	static const char *const keys[] = {"service", "version", "host"};
	for (size_t i = 0; i < 3; i++)
		write_part(query, keys[i], first_of(labels, used[i]));
	write_part(query, "time", time);
	for (size_t i = 0; i < labels->count; i++) {
		const struct label *label = &labels->items[i];
		bool own = strncmp(label->name, "__", 2) == 0;
		for (size_t k = 0; k < 3; k++)
			own = own || label->value == first_of(labels, used[k]) || strcmp(label->name, keys[k]) == 0;
		if (!own && strcmp(label->name, "time") != 0)
			write_part(query, label->name, label->value);
	}
}

/* "APP{KEY=VALUE,...}" */
static void read_name(struct cairn_bytes name, struct labels *labels)
{
	const char *open = name.length ? memchr(name.data, '{', name.length) : NULL;
	struct cairn_bytes rest = {"", 0}, app = {name.data, open ? (size_t)(open - name.data) : name.length};
	add_label(labels, cairn_bytes_of("service_name"), app);
	if (open)
		rest = cairn_bytes_skip(name, app.length + 1);
	if (rest.length > 0 && rest.data[rest.length - 1] == '}')
		rest.length--;
	while (rest.length > 0) {
		struct cairn_bytes value = cairn_text_field(&rest, ',');
		if (!cairn_bytes_contain(value, "="))
			continue;
		struct cairn_bytes key = cairn_text_field(&value, '=');
		value = cairn_text_trim(value);
		if (value.length >= 2 && value.data[0] == '"' && value.data[value.length - 1] == '"')
			value = (struct cairn_bytes){value.data + 1, value.length - 2};
		add_label(labels, cairn_text_trim(key), value);
	}
}

/* Converts a time since 1970 to seconds; its magnitude tells whether it is in seconds, milliseconds, microseconds or nanoseconds. Returns
 * false if TEXT is not a time. */
static bool read_time(const char *text, char out[40])
{
	struct cairn_bytes rest = cairn_bytes_of(text);
	uint64_t value;
	if (!cairn_text_decimal(&rest, &value) || rest.length > 0 || value == 0)
		return false;
	for (unsigned i = 0; i < 3 && value < (uint64_t)CAIRN_SECOND_NS * 10000000; i++)
		value *= 1000;
	snprintf(out, 40, "%llu.%09llu", (unsigned long long)(value / CAIRN_SECOND_NS), (unsigned long long)(value % CAIRN_SECOND_NS));
	return true;
}

static struct cairn_bytes find(struct cairn_bytes text, struct cairn_bytes what)
{
	const char *at = what.length && text.length >= what.length ? memmem(text.data, text.length, what.data, what.length) : NULL;
	return at ? cairn_bytes_skip(text, (size_t)(at - text.data)) : (struct cairn_bytes){NULL, 0};
}

/* The boundary of a form, with the dashes that precede it. Returns false if TYPE is not that of a form. */
static bool read_boundary(struct cairn_bytes type, char out[text_most])
{
	if (!cairn_bytes_start_with(type, "multipart/form-data"))
		return false;
	struct cairn_bytes at = find(type, cairn_bytes_of("boundary="));
	at = cairn_bytes_skip(at, at.length ? strlen("boundary=") : 0);
	if (at.length > 0 && at.data[0] == '"')
		at = cairn_bytes_skip(at, 1);
	size_t length = 0;
	while (length < at.length && length < 200 && !strchr("\"; \t", at.data[length]))
		length++;
	snprintf(out, text_most, "--%.*s", (int)length, at.data ? at.data : "");
	return length > 0;
}

/* The part NAME of a form; empty if it is missing. */
static struct cairn_bytes form_part(struct cairn_bytes body, const char *boundary, const char *name)
{
	char wanted[64], line_and_boundary[text_most + 2];
	struct cairn_bytes edge = cairn_bytes_of(boundary), blank = cairn_bytes_of("\r\n\r\n");
	snprintf(wanted, sizeof wanted, "name=\"%s\"", name);
	snprintf(line_and_boundary, sizeof line_and_boundary, "\r\n%s", boundary);
	for (struct cairn_bytes at = find(body, edge); at.length > 0;) {
		at = cairn_bytes_skip(at, edge.length);
		struct cairn_bytes content = find(at, blank), head = {at.data, at.length - content.length};
		if (content.length == 0)
			break;
		content = cairn_bytes_skip(content, blank.length);
		struct cairn_bytes end = find(content, cairn_bytes_of(line_and_boundary));
		/* `filename="..."` also ends in name="...", but does not count. */
		struct cairn_bytes said = find(head, cairn_bytes_of(wanted));
		if (said.length > 0 && end.length > 0 && said.data > head.data && strchr("; \t", said.data[-1]))
			return (struct cairn_bytes){content.data, content.length - end.length};
		at = cairn_bytes_skip(end, end.length ? 2 : 0);
	}
	return (struct cairn_bytes){"", 0};
}

bool cairn_pyroscope_ingest(const struct cairn_request *request, cairn_pyroscope_visit *visit, void *context, struct cairn_error *error)
{
	char name[8192], text[64], time[40], boundary[text_most];
	static const char *const times[] = {"until", "from"};
	struct labels labels = {0};
	struct cairn_bytes profile = request->body;
	bool form = read_boundary(request->content_type, boundary), timed = false;
	if (!cairn_query_get(request->query, "name", name, sizeof name) || !name[0])
		return cairn_fail(error, "name is missing: /ingest?name=APP{KEY=VALUE}&format=pprof");
	if (form)
		profile = form_part(request->body, boundary, "profile");
	if (profile.length == 0)
		return cairn_fail(error, form ? "the form has no part called profile" : "the body is empty");
	if (cairn_query_get(request->query, "format", text, sizeof text) && text[0] && strcmp(text, "pprof") != 0)
		return cairn_fail(error, "only format=pprof is accepted here");
	read_name(cairn_bytes_of(name), &labels);
	for (size_t i = 0; i < 2 && !timed; i++)
		timed = cairn_query_get(request->query, times[i], text, sizeof text) && read_time(text, time);
	struct cairn_buffer query = cairn_buffer(1 << 16);
	write_query(&labels, timed ? time : NULL, &query);
	visit(context, cairn_buffer_bytes(&query), profile);
	cairn_buffer_free(&query);
	return true;
}

/* Whether a series is about memory, judging by its __name__; true if it has none. */
static bool is_memory(const struct labels *labels)
{
	const char *name = value_of(labels, "__name__");
	return !name || strcmp(name, "memory") == 0;
}

static bool visit_profile(const struct labels *labels, struct cairn_bytes profile, cairn_pyroscope_visit *visit, void *context)
{
	struct cairn_buffer query = cairn_buffer(1 << 16);
	write_query(labels, NULL, &query);
	bool more = visit(context, cairn_buffer_bytes(&query), profile);
	cairn_buffer_free(&query);
	return more;
}

static struct cairn_json_value either(struct cairn_json_value value, const char *one, const char *other)
{
	struct cairn_json_value found = cairn_json_find(value, one);
	return found.kind == CAIRN_JSON_NONE ? cairn_json_find(value, other) : found;
}

/* Reads one series in JSON. Returns false if VISIT did, or if the profile is not base64. */
static bool push_json_series(struct cairn_json_value series, cairn_pyroscope_visit *visit, void *context, bool *good)
{
	struct labels labels = {0};
	/* Looked up once, since each lookup walks over all members before it. */
	struct cairn_json_value pairs = cairn_json_find(series, "labels"), samples = cairn_json_find(series, "samples"), item;
	size_t position = 0;
	while (cairn_json_next(pairs, &position, NULL, &item)) {
		char name[text_most], value[text_most];
		cairn_json_copy(cairn_json_find(item, "name"), name, sizeof name);
		cairn_json_copy(cairn_json_find(item, "value"), value, sizeof value);
		add_label(&labels, cairn_bytes_of(name), cairn_bytes_of(value));
	}
	position = 0;
	while (is_memory(&labels) && cairn_json_next(samples, &position, NULL, &item)) {
		struct cairn_json_value raw = either(item, "rawProfile", "raw_profile");
		struct cairn_buffer profile = cairn_buffer(raw.text.length);
		*good = raw.kind == CAIRN_JSON_TEXT &&
			cairn_base64_read(&profile, (struct cairn_bytes){raw.text.data + 1, raw.text.length - 2});
		bool more = *good && visit_profile(&labels, cairn_buffer_bytes(&profile), visit, context);
		cairn_buffer_free(&profile);
		if (!more)
			return false;
	}
	return true;
}

/* A RawProfileSeries: labels 1 (name 1, value 2), samples 2 (raw_profile 1). */
static bool push_series(struct cairn_bytes bytes, cairn_pyroscope_visit *visit, void *context)
{
	struct labels labels = {0};
	struct cairn_cursor series = cairn_cursor(bytes);
	struct cairn_protobuf_field item, part;
	while (cairn_protobuf_next(&series, &item)) {
		struct cairn_cursor pair = cairn_cursor(item.bytes);
		struct cairn_bytes name = {"", 0}, value = {"", 0};
		while (item.id == 1 && cairn_protobuf_next(&pair, &part))
			*(part.id == 1 ? &name : &value) = part.bytes;
		if (item.id == 1)
			add_label(&labels, name, value);
	}
	series = cairn_cursor(bytes);
	while (is_memory(&labels) && cairn_protobuf_next(&series, &item)) {
		struct cairn_cursor sample = cairn_cursor(item.bytes);
		while (item.id == 2 && cairn_protobuf_next(&sample, &part))
			if (part.id == 1 && !visit_profile(&labels, part.bytes, visit, context))
				return false;
	}
	return true;
}

bool cairn_pyroscope_push(struct cairn_bytes body, cairn_pyroscope_visit *visit, void *context, struct cairn_error *error)
{
	struct cairn_json_value json = cairn_json_value(body), item;
	size_t position = 0;
	bool good = true;
	if (json.kind == CAIRN_JSON_OBJECT) {
		struct cairn_json_value all = cairn_json_find(json, "series");
		while (good && cairn_json_next(all, &position, NULL, &item))
			if (!push_json_series(item, visit, context, &good))
				break;
		return good || cairn_fail(error, "rawProfile must be a pprof profile in base64");
	}
	struct cairn_cursor request = cairn_cursor(body);
	struct cairn_protobuf_field series;
	while (cairn_protobuf_next(&request, &series))
		if (series.id == 1 && !push_series(series.bytes, visit, context))
			return true;
	return !request.failed || cairn_fail(error, "the body is not a PushRequest in JSON or protobuf");
}
