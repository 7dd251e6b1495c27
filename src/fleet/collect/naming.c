/* naming.c - collects unnamed frames as the locations of a profile, which is named as any other.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/naming.h"

#include "base/array.h"
#include "process/clock.h"
#include "store/names.h"
#include "store/snapshot.h"

#include <stdio.h>
#include <stdlib.h>

enum { page = 50000, module_shift = 44 };
static const int64_t pause_ns = 10 * CAIRN_MINUTE_NS, retry_ns = CAIRN_MINUTE_NS;

/* Unnamed frames of one tenant. */
struct places {
	const struct cairn_naming *naming;
	struct cairn_bytes tenant;
	const char *only; /* the build-id of the only build to name; NULL for all */
	uint64_t number; /* the tenant's number in the store */
	struct cairn_profile profile;
	struct cairn_map mappings; /* by module */
	uint64_t *frames; /* parallel to the profile's locations */
	size_t count, capacity;
};

/* Adds FRAME if it was not tried yet and its tenant has uploaded its program. */
static void add_place(void *context, const struct cairn_unnamed_frame *frame)
{
	struct places *places = context;
	struct cairn_profile *profile = &places->profile;
	char build_id[2 * 64 + 1];
	if (frame->build_id.length >= sizeof build_id || frame->offset >> module_shift ||
	    cairn_map_get(&places->naming->tried, frame->id) != CAIRN_NONE ||
	    frame->id != cairn_frame_id(places->number, frame->build_id, frame->offset))
		return;
	snprintf(build_id, sizeof build_id, "%.*s", (int)frame->build_id.length, frame->build_id.data);
	if (places->only && strcmp(places->only, build_id) != 0)
		return;
	uint32_t module = cairn_profile_add_module(profile, cairn_strings_add(&profile->strings, frame->module),
						   cairn_strings_add(&profile->strings, frame->build_id));
	uint32_t *mapping = cairn_map_at(&places->mappings, module);
	if (*mapping == CAIRN_NONE) {
		/* A debug file alone is not enough: only the program itself maps offsets in the file to addresses. */
		if (!cairn_uploads_has_program(&places->naming->collector->uploads, places->tenant, build_id))
			return;
		uint64_t start = (uint64_t)(module + 1) << module_shift;
		*mapping = cairn_profile_add_mapping(profile, &(struct cairn_mapping){.start = start,
										      .limit = start + ((uint64_t)1 << module_shift),
										      .module = module});
	}
	cairn_profile_new_location(profile, &(struct cairn_location){.address = profile->mappings[*mapping].start + frame->offset,
								     .mapping = *mapping,
								     .is_call = true});
	cairn_array_room(places->frames, places->count, places->capacity);
	places->frames[places->count++] = frame->id;
}

/* Names the frames in PLACES and puts the names into STORE. If naming fails, the builds are suspects now, and their frames are tried again
 * with one build after the other. */
static bool name_places(struct cairn_naming *naming, struct cairn_store *store, struct places *places, struct cairn_error *error)
{
	struct cairn_collector *collector = naming->collector;
	struct cairn_map known = {0};
	size_t named = 0;
	bool good = cairn_store_named(store, places->frames, places->count, &known, error);
	for (size_t i = 0; good && i < places->count; i++) {
		if (cairn_map_get(&known, places->frames[i]) != CAIRN_NONE)
			places->profile.locations[i].mapping = CAIRN_NONE; /* so that it is not named again */
	}
	if (good && cairn_namer_name(&collector->namer, places->tenant, &places->profile)) {
		for (size_t i = 0; i < places->count; i++)
			*cairn_map_at(&naming->tried, places->frames[i]) = 0;
		good = cairn_store_put_names(store, places->tenant, &places->profile, &named, error);
	}
	collector->named += good ? named : 0;
	cairn_map_free(&known);
	return good;
}

/* One pass for TENANT, over the build ONLY or, if that is NULL, all builds. */
static bool name_builds(struct cairn_naming *naming, struct cairn_store *store, const char *tenant, const char *only,
			struct cairn_error *error)
{
	uint64_t after = 0;
	size_t count = page;
	bool good = true;
	while (good && count == page && !naming->collector->stop) {
		struct places places = {.naming = naming, .tenant = cairn_bytes_of(tenant), .only = only};
		places.number = cairn_store_tenant(places.tenant);
		cairn_profile_init(&places.profile);
		good = cairn_store_unnamed(store, &after, page, add_place, &places, &count, error) &&
		       (places.count == 0 || name_places(naming, store, &places, error));
		cairn_profile_free(&places.profile);
		cairn_map_free(&places.mappings);
		free(places.frames);
	}
	return good;
}

/* One pass for TENANT: first the builds that are in use, then each suspect alone. */
static bool name_tenant(struct cairn_naming *naming, struct cairn_store *store, const char *tenant, struct cairn_error *error)
{
	struct cairn_uploads *uploads = &naming->collector->uploads;
	struct cairn_bytes whose = cairn_bytes_of(tenant);
	char build_id[CAIRN_UPLOAD_BUILD] = "";
	if (!cairn_uploads_has_any(uploads, whose))
		return true;
	bool good = name_builds(naming, store, tenant, NULL, error);
	while (good && cairn_suspects_next(uploads, whose, build_id)) {
		good = name_builds(naming, store, tenant, build_id, error);
		cairn_suspects_end(uploads, whose, build_id);
	}
	return good;
}

bool cairn_naming_is_due(const struct cairn_naming *naming)
{
	int64_t now = cairn_clock_ns();
	return now >= naming->earliest_ns && (naming->uploads != naming->collector->uploads.arrived || naming->collector->uploads.suspects.waiting || now >= naming->next_ns);
}

bool cairn_naming_run(struct cairn_naming *naming, struct cairn_store *store, struct cairn_error *error)
{
	const struct cairn_senders *senders = &naming->collector->senders;
	int64_t began = cairn_clock_ns();
	uint64_t uploads = naming->collector->uploads.arrived;
	if (uploads != naming->uploads)
		cairn_naming_free(naming);
	naming->collector->uploads.suspects.waiting = false;
	bool good = senders->count > 0 || name_tenant(naming, store, "", error);
	for (size_t i = 0; good && i < senders->count; i++) {
		bool seen = false;
		for (size_t k = 0; k < i; k++)
			seen = seen || strcmp(senders->items[k].tenant, senders->items[i].tenant) == 0;
		good = seen || name_tenant(naming, store, senders->items[i].tenant, error);
	}
	/* Snapshots wait meanwhile, so passes take at most a fifth of the time, even if a sender keeps uploading or a pass fails. */
	naming->earliest_ns = cairn_clock_ns() + 4 * (cairn_clock_ns() - began) + (good ? 0 : retry_ns);
	if (!good)
		return false;
	naming->collector->passes++;
	naming->uploads = uploads;
	naming->next_ns = cairn_clock_ns() + pause_ns;
	return true;
}

void cairn_naming_free(struct cairn_naming *naming)
{
	cairn_map_free(&naming->tried);
	naming->tried = (struct cairn_map){0};
}
