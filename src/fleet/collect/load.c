/* load.c - reads and names a profile, and finds out from its query which process it belongs to.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/load.h"

#include "base/path.h"
#include "base/text.h"
#include "base/time.h"
#include "base/unpack.h"
#include "http/request.h"
#include "profile/read.h"
#include "store/snapshot.h"
#include "symbol/symbolize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Copies the parameters of QUERY other than service, version, host and time. */
static void keep_labels(struct cairn_bytes query, struct cairn_buffer *out)
{
	static const char *const own[] = {"service=", "version=", "host=", "time="};
	while (query.length > 0) {
		const char *end = memchr(query.data, '&', query.length);
		struct cairn_bytes part = {query.data, end ? (size_t)(end - query.data) : query.length};
		bool label = part.length > 0;
		query = cairn_bytes_skip(query, end ? part.length + 1 : part.length);
		for (size_t i = 0; i < sizeof own / sizeof *own; i++)
			label = label && !cairn_bytes_start_with(part, own[i]);
		if (label && out->length > 0)
			cairn_buffer_byte(out, '&');
		if (label)
			cairn_buffer_append(out, part.data, part.length);
	}
}

/* Makes the bill of DUMP, the text that LOADED was read from; its total is 0 if there is none. */
static void make_bill(struct cairn_loaded *loaded, struct cairn_bytes dump)
{
	struct cairn_trailer trailer;
	struct cairn_bill_facts facts;
	if (!cairn_trailer_read(dump, &trailer) || !cairn_bill_facts_read(&facts, &trailer, NULL))
		return;
	cairn_bill_facts_profile(&facts, &loaded->profile, &trailer);
	cairn_bill_make(&loaded->bill, &facts);
	if (loaded->bill.lines[CAIRN_BILL_REST] == loaded->bill.total) /* nothing is known about the mappings */
		loaded->bill = (struct cairn_bill){0};
}

/* Reads BODY, which may decompress to at most MOST bytes. */
static bool read_within(size_t most, struct cairn_bytes body, struct cairn_loaded *loaded, struct cairn_error *error)
{
	char *unpacked = NULL;
	bool cut;
	loaded->size = body.length;
	if (cairn_unpack_sniff(body) != CAIRN_PACKED_NOT) {
		if (!cairn_unpack_within(body, most, &unpacked, &loaded->size, &cut, error))
			return false;
		body = (struct cairn_bytes){unpacked, loaded->size};
	}
	bool good = cairn_profile_read(&loaded->profile, body, "a snapshot", &(struct cairn_read_options){0}, error);
	if (good)
		make_bill(loaded, body);
	free(unpacked);
	return good;
}

enum { modules_most = 8192 };

/* Names what it can. */
static void name(struct cairn_profile *profile, const struct cairn_load_options *options)
{
	if (options->namer) {
		cairn_namer_name(options->namer, options->tenant, profile);
	} else {
		struct cairn_symbolize_options symbolize = {.find = cairn_source_find(options->source)};
		struct cairn_symbolize_report report;
		cairn_symbolize(profile, &symbolize, &report);
		cairn_symbolize_report_free(&report);
	}
}

bool cairn_loaded_read(struct cairn_loaded *loaded, const struct cairn_load_options *options, struct cairn_error *error)
{
	struct cairn_bytes query = options->query;
	*loaded = (struct cairn_loaded){.labels = cairn_buffer(1 << 16)};
	cairn_profile_init(&loaded->profile);
	cairn_query_get(query, "host", loaded->host, sizeof loaded->host);
	if (!read_within(options->unpacked_most, options->body, loaded, error))
		return false;
	struct cairn_profile *profile = &loaded->profile;
	char time[40];
	if (profile->facts.time_ns <= 0 && cairn_query_get(query, "time", time, sizeof time))
		cairn_text_seconds(cairn_bytes_of(time), &profile->facts.time_ns);
	/* A day covers every zone that a clock may be set to; what is further off would stretch the time of its whole service. */
	if (profile->facts.time_ns <= 0 || profile->facts.time_ns > options->arrived_ns + CAIRN_DAY_NS)
		profile->facts.time_ns = options->arrived_ns;
	/* Clients of other systems send profiles of CPU time and locks as well, whatever is kept of them. */
	loaded->ignored = !cairn_store_accepts(profile, error);
	if (loaded->ignored)
		return false;
	/* Each is looked for on disk. */
	if (profile->module_count > modules_most)
		return cairn_fail(error, "it has %zu modules, and a process has at most %d", profile->module_count, modules_most);
	name(profile, options);
	/* One name takes a few bytes at each of many addresses, and is written out at each of them. */
	size_t names = cairn_frames_size(profile);
	loaded->size += names;
	if (names / CAIRN_NAMES_SHARE > options->unpacked_most)
		return cairn_fail(error, "the names at its %zu addresses take %zu MiB, more than %d times --unpacked-bytes",
				  profile->location_count, names >> 20, CAIRN_NAMES_SHARE);
	if (!cairn_query_get(query, "service", loaded->service, sizeof loaded->service) || !loaded->service[0])
		snprintf(loaded->service, sizeof loaded->service, "%.250s",
			 profile->facts.process ? cairn_base_name(cairn_profile_string(profile, profile->facts.process)) : "unknown");
	cairn_query_get(query, "version", loaded->version, sizeof loaded->version);
	keep_labels(query, &loaded->labels);
	loaded->snapshot = (struct cairn_store_snapshot){
		.profile = profile,
		.tenant = options->tenant,
		.service = cairn_bytes_of(loaded->service),
		.version = cairn_bytes_of(loaded->version),
		.host = cairn_bytes_of(loaded->host),
		.labels = cairn_buffer_bytes(&loaded->labels),
		.bill = loaded->bill.total ? &loaded->bill : NULL,
	};
	return true;
}

void cairn_loaded_free(struct cairn_loaded *loaded)
{
	cairn_profile_free(&loaded->profile);
	cairn_buffer_free(&loaded->labels);
}
