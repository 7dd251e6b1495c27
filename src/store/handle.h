/* handle.h - an open store, for the files that query it.
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
	uint64_t identity; /* of the tables: changes if they are created anew */
	int64_t hourly_since_ns; /* snapshots before that are not in the table `hourly`; 0 if all are */
	int64_t forgotten_ns; /* older rows were removed, by any program */
	int64_t tried_ns; /* when this program last tried to remove them */
	int64_t relearn_ns; /* when to ask again for the names of frames that had none */
};

/* Fetches the stacks of SAMPLES and their frames, except for those already known. */
bool cairn_store_learn(struct cairn_store *store, const struct cairn_stored_sample *samples, size_t count, struct cairn_error *error);

#endif
