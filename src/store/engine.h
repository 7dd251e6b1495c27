/* engine.h - the interface that both kinds of store have.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_ENGINE_H
#define CAIRN_STORE_ENGINE_H

#include "base/arena.h"
#include "base/error.h"
#include "store/rows.h"

#include <stdatomic.h>

struct cairn_store_engine {
	/* Connects to the store NAME: a path for SQLite, the whole name for ClickHouse. A missing file is created only with CREATE. The
	 * result has a type of the engine's own; NULL is failure. */
	void *(*open)(const char *name, bool create, struct cairn_error *error);
	void (*close)(void *connection);
	/* Creates TABLE if it is missing. */
	bool (*make)(void *connection, const struct cairn_table *table, const char *cluster, struct cairn_error *error);
	/* Adds COLUMN, a number, to TABLE as its last, with VALUE in existing rows, which must be 0 if it is the rank. */
	bool (*add_column)(void *connection, const struct cairn_table *table, const char *column, uint64_t value,
			   const char *cluster, struct cairn_error *error);
	/* Creates the views (store/views.h), replacing those that exist. A table with such a name is somebody else's and stays. */
	bool (*make_views)(void *connection, const char *cluster, struct cairn_error *error);
	/* Makes what `insert` sends of ROWS, without using the connection; NULL if it needs no memory for that. */
	void (*pack)(struct cairn_rows *rows);
	/* Adds ROWS, in the order of the tables. If it fails, it may have added some of them. */
	bool (*insert)(void *connection, const struct cairn_rows *rows, struct cairn_error *error);
	/* Asks STATEMENT. Returns the answer, which has a type of the engine's own, or NULL if that fails. */
	void *(*select)(void *connection, const char *statement, struct cairn_error *error);
	/* Stores the next row of ANSWER in ROW; its texts are borrowed until the next call. Returns false if there is none, and sets *GOOD to
	 * false if that is a failure. */
	bool (*next)(void *answer, const struct cairn_column *columns, void *row, bool *good, struct cairn_error *error);
	void (*end)(void *answer);
	/* Whether the last statement failed since its table or the whole database does not exist. */
	bool (*lacks_table)(const void *connection);
	/* Removes the rows of TABLE that are older than TIME_NS or, if it is not kept by day, were last put before TIME_NS, on every
	 * machine of a cluster. */
	bool (*forget)(void *connection, const struct cairn_table *table, int64_t time_ns, struct cairn_error *error);
	/* From now on, a select that is under way or begins when *GONE is true fails; NULL for none. */
	void (*cancel_when)(void *connection, const atomic_bool *gone);
	/* SQL around a column that selects its value from the row with the lowest (`first_start`) or highest (`last_start`) time; `row_end`
	 * closes it. The statement must also select min(time_ns) or max(time_ns). */
	const char *first_start, *last_start, *row_end;
	const char *clock; /* SQL: the time by the clock of the machine that the store is on, in seconds since 1970 */
	const char *latest; /* follows a table's name in a statement that must see only the latest row of each key */
};

extern const struct cairn_store_engine cairn_engine_sqlite, cairn_engine_clickhouse;

#endif
