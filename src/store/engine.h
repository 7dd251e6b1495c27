/* engine.h - what the two kinds of store differ in.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_ENGINE_H
#define CAIRN_STORE_ENGINE_H

#include "base/arena.h"
#include "base/error.h"
#include "store/rows.h"

#include <stdatomic.h>

/* The letters that say what the columns of an answer are: n a number, r a real, t a text, l a list. */
struct cairn_store_engine {
	/* Connects to what comes after the scheme of a store's name. A file that is not there is made only with CREATE. The result is of a
	 * type of the engine's own; NULL is failure. */
	void *(*open)(const char *name, bool create, struct cairn_error *error);
	void (*close)(void *connection);
	/* Makes TABLE unless it is there. */
	bool (*make)(void *connection, const struct cairn_table *table, const char *cluster, struct cairn_error *error);
	/* Adds COLUMN, a number, to TABLE as its last; it is VALUE in the rows that are there. That of a rank has to be 0. */
	bool (*add_column)(void *connection, const struct cairn_table *table, const char *column, uint64_t value,
			   const char *cluster, struct cairn_error *error);
	/* Makes the views (store/views.h) anew. What has such a name and is no view belongs to somebody else, and stays. */
	bool (*make_views)(void *connection, const char *cluster, struct cairn_error *error);
	/* Brings the rows of each table into the form that `insert` sends, which takes memory and no server; NULL where it is theirs. */
	void (*pack)(struct cairn_buffer rows[CAIRN_TABLES]);
	/* Adds the rows of each table, in order: all of them or, where that fails, some of them. */
	bool (*insert)(void *connection, const struct cairn_buffer rows[CAIRN_TABLES], struct cairn_error *error);
	/* Adds rows to one table. */
	bool (*insert_into)(void *connection, const struct cairn_table *table, struct cairn_bytes rows, struct cairn_error *error);
	/* Appends the answer to STATEMENT to ROWS. */
	bool (*select)(void *connection, const char *statement, const char *types, struct cairn_buffer *rows, struct cairn_error *error);
	/* Removes the rows of TABLE that are older than TIME_NS; of a table that is not by day, those that were last put before it, on
	 * every machine of a cluster. */
	bool (*forget)(void *connection, const struct cairn_table *table, int64_t time_ns, struct cairn_error *error);
	/* From now on, a select that is under way or begins when *GONE is true fails; NULL for none. */
	void (*heed)(void *connection, const atomic_bool *gone);
	/* SQL around a column that selects its value from the row with the lowest (`first_start`) or highest (`last_start`) time; `row_end`
	 * closes it. The statement must also select min(time_ns) or max(time_ns). */
	const char *first_start, *last_start, *row_end;
	const char *latest; /* what follows a table's name in a statement that must see the latest row of each key only */
};

extern const struct cairn_store_engine cairn_engine_sqlite, cairn_engine_clickhouse;

#endif
