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
 *     struct cairn_row_bill row;
 *     cairn_selection_begin(&selection, store, statement, columns, &row, error);
 *     while (cairn_selection_next(&selection))
 *             visit(row.bytes);
 *     return cairn_selection_end(&selection);
 */
struct cairn_selection {
	struct cairn_store *store;
	const struct cairn_column *columns;
	void *row, *answer;
	struct cairn_error *error;
	bool good; /* false ends the loop */
};

/* Asks STATEMENT, whose answer has COLUMNS of ROW. */
void cairn_selection_begin(struct cairn_selection *selection, struct cairn_store *store, const char *statement,
			   const struct cairn_column *columns, void *row, struct cairn_error *error);

/* Fills the row. Its texts are borrowed until the next call. Returns false after the last. */
bool cairn_selection_next(struct cairn_selection *selection);

/* Frees the answer. Returns whether all was good. */
bool cairn_selection_end(struct cairn_selection *selection);

/* Appends "COLUMN IN (ITEMS)". */
void cairn_statement_list(struct cairn_buffer *out, const char *column, const uint64_t *items, size_t count);

/* Calls VISIT with each row of TABLE whose key, a number, is one of the COUNT numbers in IDS; AND precedes that in the statement. ROW
 * receives the row, which has COLUMNS. */
bool cairn_store_each(struct cairn_store *store, unsigned table, const struct cairn_column *columns, void *row, const char *and,
		      const uint64_t *ids, size_t count, void (*visit)(void *context, const void *row), void *context,
		      struct cairn_error *error);

/* Adds ROWS. */
bool cairn_store_insert(struct cairn_store *store, struct cairn_rows *rows, struct cairn_error *error);

/* Fetches the stacks of SAMPLES and their frames, except for those already known. */
bool cairn_store_learn(struct cairn_store *store, const struct cairn_stored_sample *samples, size_t count, struct cairn_error *error);

#endif
