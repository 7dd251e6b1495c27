/* handle.h - an open store, for the files that ask it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_HANDLE_H
#define CAIRN_STORE_HANDLE_H

#include "store/engine.h"
#include "store/snapshot.h"
#include "store/written.h"

struct cairn_store {
	const struct cairn_store_engine *engine;
	void *connection; /* what the engine's `open` returned */
	struct cairn_dictionary dictionary;
	struct cairn_written written;
	uint64_t version, keep_days;
	uint64_t views; /* their version; 0 for none */
	uint64_t identity; /* of the tables: others if they were made anew */
	int64_t hourly_since_ns; /* snapshots before that are not in the table `hourly`; 0 where all are */
	int64_t forgotten_ns; /* what is older was removed, by whichever program */
	int64_t tried_ns; /* when this one last tried to */
	int64_t relearn_ns; /* when to ask for the names of frames again that had none */
};

/* Fetches the stacks of SAMPLES and their frames, as far as they are not known yet. */
bool cairn_store_learn(struct cairn_store *store, const struct cairn_stored_sample *samples, size_t count, struct cairn_error *error);

#endif
