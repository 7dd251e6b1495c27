/* store_source.h - what a person asks a store about: the options, and the same as part of a source's name.
 *
 * A store is a SOURCE of every report: STORE?service=api&version=42&from=-6h is what the processes of that service held, averaged over
 * that time and added up over the processes. `cairn fleet top --store STORE --service api` makes such a name and calls `cairn top` with
 * it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_STORE_SOURCE_H
#define CAIRN_LIVE_STORE_SOURCE_H

#include "live/option_list.h"
#include "store/store.h"

struct cairn_fleet_options {
	const char *store;
	const char *tenant, *service, *version, *instance;
	const char *from, *to;
	struct cairn_option_list labels;
	bool per_instance; /* the mean over processes, not their sum */
	bool last_only; /* no option: only the last snapshot of each process, and how many there are */
	bool sparse; /* no option: where there are enough whole snapshots, points between them are of no use */
};

/* Opens the store of OPTIONS (or $CAIRN_STORE), checks it, and asks: what is asked about is there, or it fails with a sentence. Without
 * --from it is about the last BACK_NS, or everything for 0. */
struct cairn_store *cairn_fleet_ask(const struct cairn_fleet_options *options, int64_t back_ns, struct cairn_store_processes *processes,
				    struct cairn_error *error);

/* Appends the name of a source that stands for OPTIONS, which have a store. */
void cairn_fleet_source_name(const struct cairn_fleet_options *options, struct cairn_buffer *out);

/* Takes the question off NAME, a source: what follows the last question mark. Texts live as long as ARENA. */
bool cairn_fleet_source_parse(const char *name, struct cairn_arena *arena, struct cairn_fleet_options *options, struct cairn_error *error);

/* Reads the source NAME of that kind into PROFILE, an initialised one. */
bool cairn_fleet_source_read(struct cairn_profile *profile, const char *name, struct cairn_error *error);

#endif
