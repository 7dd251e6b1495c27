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
	int64_t retry_ns; /* when this program may try again to remove them, by the monotonic clock */
	char removal[160]; /* for cairn_store_removal; empty for NULL */
	int64_t relearn_ns; /* when to ask again for the names of frames that had none */
};

/* The answer to a statement, row after row:
 *
 *     cairn_selection_begin(&selection, store, statement, types, error);
 *     while (cairn_selection_next(&selection)) {
 *             uint64_t instance = cairn_row_take_number(&selection.row), ...;
 *             if (!selection.row.failed)
 *                     ...
 *     }
 *     return cairn_selection_end(&selection, error);
 */
struct cairn_selection {
	struct cairn_buffer rows;
	struct cairn_cursor row; /* columns are taken from here, in their order */
	bool good; /* false ends the loop */
};

/* Asks STATEMENT; TYPES as in engine.h. */
void cairn_selection_begin(struct cairn_selection *selection, struct cairn_store *store, const char *statement, const char *types,
			   struct cairn_error *error);

/* Whether there is another row. */
bool cairn_selection_next(const struct cairn_selection *selection);

/* Frees the rows. Returns whether all was good; an answer that ends within a row is not. */
bool cairn_selection_end(struct cairn_selection *selection, struct cairn_error *error);

/* Fetches the stacks of SAMPLES and their frames, except for those already known. */
bool cairn_store_learn(struct cairn_store *store, const struct cairn_stored_sample *samples, size_t count, struct cairn_error *error);

#endif
