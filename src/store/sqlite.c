/* sqlite.c - a store in one SQLite file.
 *
 * SQLite's library is loaded when the first store is opened: commands that need no store start without it. A writer waits while another has
 * the file locked; readers never wait (WAL).
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/library.h"
#include "store/engine.h"
#include "store/views.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sqlite_connection {
	sqlite3 *database;
	const atomic_bool *gone; /* nobody waits for the answer any more; NULL if there is no way to know */
};

static struct {
	__typeof__(sqlite3_open_v2) *open;
	__typeof__(sqlite3_close_v2) *close;
	__typeof__(sqlite3_exec) *exec;
	__typeof__(sqlite3_errmsg) *explain;
	__typeof__(sqlite3_busy_timeout) *busy_timeout;
	__typeof__(sqlite3_prepare_v2) *prepare;
	__typeof__(sqlite3_step) *step;
	__typeof__(sqlite3_reset) *reset;
	__typeof__(sqlite3_finalize) *finalize;
	__typeof__(sqlite3_bind_int64) *bind_number;
	__typeof__(sqlite3_bind_double) *bind_real;
	__typeof__(sqlite3_bind_text) *bind_text;
	__typeof__(sqlite3_bind_blob) *bind_list;
	__typeof__(sqlite3_column_int64) *number;
	__typeof__(sqlite3_column_double) *real;
	__typeof__(sqlite3_column_blob) *bytes;
	__typeof__(sqlite3_column_bytes) *length;
	__typeof__(sqlite3_progress_handler) *set_progress;
} library;

static struct cairn_library sqlite = {
	.files = "libsqlite3.so.0",
	.names = "sqlite3_open_v2 sqlite3_close_v2 sqlite3_exec sqlite3_errmsg sqlite3_busy_timeout sqlite3_prepare_v2 sqlite3_step "
		 "sqlite3_reset sqlite3_finalize sqlite3_bind_int64 sqlite3_bind_double sqlite3_bind_text sqlite3_bind_blob "
		 "sqlite3_column_int64 sqlite3_column_double sqlite3_column_blob sqlite3_column_bytes sqlite3_progress_handler",
	.members = &library,
	.size = sizeof library,
};

static bool fail(struct sqlite_connection *connection, struct cairn_error *error)
{
	return cairn_fail(error, "the store's SQLite says: %s", library.explain(connection->database));
}

static bool run(struct sqlite_connection *connection, const char *statement, struct cairn_error *error)
{
	return library.exec(connection->database, statement, NULL, NULL, NULL) == SQLITE_OK || fail(connection, error);
}

static void close_database(void *handle)
{
	struct sqlite_connection *connection = handle;
	library.close(connection->database);
	free(connection);
}

static void *open_database(const char *path, bool create, struct cairn_error *error)
{
	enum { patience_ms = 30000 };
	if (!cairn_library_is_there(&sqlite)) {
		cairn_fail(error, "a store in a file needs libsqlite3.so.0, which is not on this machine (Debian: libsqlite3-0)");
		return NULL;
	}
	if (!create && access(path, F_OK) != 0 && errno == ENOENT) {
		cairn_fail(error, "%s: no such file; 'cairn store init sqlite:%s' makes a store", path, path);
		return NULL;
	}
	struct sqlite_connection *connection = cairn_array_zero(1, sizeof *connection);
	mode_t mask = umask(077); /* others must not read the memory of services */
	int result = library.open(path, &connection->database, SQLITE_OPEN_READWRITE | (create ? SQLITE_OPEN_CREATE : 0), NULL);
	umask(mask);
	if (result == SQLITE_OK)
		library.busy_timeout(connection->database, patience_ms);
	if (result == SQLITE_OK && run(connection, "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL", error))
		return connection;
	if (result != SQLITE_OK)
		fail(connection, error);
	cairn_fail_within(error, "%s: ", path);
	close_database(connection);
	return NULL;
}

static bool make(void *handle, const struct cairn_table *table, const char *cluster, struct cairn_error *error)
{
	struct sqlite_connection *connection = handle;
	static const char *const types[] = {[CAIRN_COLUMN_NUMBER] = "INTEGER",
					    [CAIRN_COLUMN_REAL] = "REAL",
					    [CAIRN_COLUMN_TEXT] = "TEXT",
					    [CAIRN_COLUMN_LIST] = "BLOB"};
	struct cairn_buffer statement = cairn_buffer(1 << 16);
	if (cluster)
		return cairn_fail_usage(error, "--cluster is for ClickHouse; SQLite is one file");
	cairn_buffer_format(&statement, "CREATE TABLE IF NOT EXISTS %s (", table->name);
	for (const struct cairn_column *column = table->columns; column->name; column++)
		cairn_buffer_format(&statement, "%s %s NOT NULL, ", column->name, types[column->type]);
	cairn_buffer_format(&statement, "PRIMARY KEY (%s)) WITHOUT ROWID", table->key);
	cairn_buffer_byte(&statement, 0);
	bool good = run(connection, statement.data, error);
	cairn_buffer_free(&statement);
	return good;
}

static bool add_column(void *handle, const struct cairn_table *table, const char *column, uint64_t value,
		       const char *cluster, struct cairn_error *error)
{
	struct sqlite_connection *connection = handle;
	char statement[200];
	(void)cluster;
	snprintf(statement, sizeof statement, "ALTER TABLE %s ADD COLUMN %s INTEGER NOT NULL DEFAULT %llu", table->name, column,
		 (unsigned long long)value);
	return run(connection, statement, error);
}

/* Adds ROW of TABLE by STATEMENT. */
static bool insert_row(struct sqlite_connection *connection, sqlite3_stmt *statement, const struct cairn_table *table, const void *row,
		       struct cairn_error *error)
{
	for (int i = 0; table->columns[i].name; i++) {
		const struct cairn_column *column = &table->columns[i];
		const void *at = (const char *)row + column->offset;
		const struct cairn_bytes *text = at;
		const struct cairn_list *list = at;
		switch (column->type) {
		case CAIRN_COLUMN_NUMBER: library.bind_number(statement, i + 1, (sqlite3_int64)cairn_column_number(column, row)); break;
		case CAIRN_COLUMN_REAL: library.bind_real(statement, i + 1, *(const double *)at); break;
		case CAIRN_COLUMN_TEXT:
			library.bind_text(statement, i + 1, text->length ? text->data : "", (int)text->length, SQLITE_STATIC);
			break;
		case CAIRN_COLUMN_LIST:
			library.bind_list(statement, i + 1, list->items.length ? list->items.data : "", (int)list->items.length, SQLITE_STATIC);
			break;
		}
	}
	bool good = library.step(statement) == SQLITE_DONE;
	library.reset(statement);
	return good || fail(connection, error);
}

/* Writes the statement that adds a row to TABLE. A row with a higher rank than the existing one only updates `used_ns`. */
static void write_insert(const struct cairn_table *table, struct cairn_buffer *out)
{
	cairn_buffer_format(out, "INSERT%s INTO %s VALUES (?", table->rank ? "" : " OR REPLACE", table->name);
	for (const struct cairn_column *column = table->columns + 1; column->name; column++)
		cairn_buffer_text(out, ",?");
	cairn_buffer_byte(out, ')');
	if (table->rank) {
		cairn_buffer_format(out, " ON CONFLICT (%s) DO UPDATE SET used_ns = excluded.used_ns", table->key);
		for (const struct cairn_column *column = table->columns + 1; column->name; column++)
			if (strcmp(column->name, "used_ns") != 0)
				cairn_buffer_format(out, ", %s = CASE WHEN excluded.%s <= %s THEN excluded.%s ELSE %s END", column->name,
						    table->rank, table->rank, column->name, column->name);
	}
	cairn_buffer_byte(out, 0);
}

/* Adds the rows of TABLE, within a transaction that the caller began: outside of one, each row would be synced to the disk. */
static bool insert_rows(struct sqlite_connection *connection, const struct cairn_rows *rows, unsigned table, struct cairn_error *error)
{
	sqlite3_stmt *statement;
	struct cairn_buffer text = cairn_buffer(1 << 16);
	write_insert(&cairn_tables[table], &text);
	bool good = library.prepare(connection->database, text.data, -1, &statement, NULL) == SQLITE_OK;
	cairn_buffer_free(&text);
	if (!good)
		return fail(connection, error);
	for (size_t i = 0; good && i < rows->tables[table].count; i++)
		good = insert_row(connection, statement, &cairn_tables[table], cairn_rows_at(rows, table, i), error);
	library.finalize(statement);
	return good;
}

static bool begin(struct sqlite_connection *connection, struct cairn_error *error)
{
	return run(connection, "BEGIN IMMEDIATE", error);
}

/* Ends a transaction: keeps what was done in it if that was GOOD, and undoes it otherwise. */
static bool end(struct sqlite_connection *connection, bool good, struct cairn_error *error)
{
	good = good && run(connection, "COMMIT", error);
	if (!good)
		run(connection, "ROLLBACK", NULL);
	return good;
}

static bool insert(void *handle, const struct cairn_rows *rows, struct cairn_error *error)
{
	struct sqlite_connection *connection = handle;
	bool good = begin(connection, error);
	if (!good)
		return false;
	for (unsigned i = 0; good && i < CAIRN_TABLES; i++)
		good = rows->tables[i].count == 0 || insert_rows(connection, rows, i, error);
	return end(connection, good, error);
}

struct answer {
	struct sqlite_connection *connection;
	sqlite3_stmt *statement;
};

static void *select_rows(void *handle, const char *text, struct cairn_error *error)
{
	struct sqlite_connection *connection = handle;
	sqlite3_stmt *statement;
	if (connection->gone && atomic_load(connection->gone))
		cairn_fail(error, "the client no longer waits for the store's answer");
	else if (library.prepare(connection->database, text, -1, &statement, NULL) != SQLITE_OK)
		fail(connection, error);
	else
		return memcpy(cairn_array_new(1, sizeof(struct answer)), &(struct answer){connection, statement}, sizeof(struct answer));
	return NULL;
}

static bool next_row(void *handle, const struct cairn_column *columns, void *row, bool *good, struct cairn_error *error)
{
	struct answer *answer = handle;
	int result = library.step(answer->statement);
	if (result != SQLITE_ROW) {
		*good = result == SQLITE_DONE || fail(answer->connection, error);
		return false;
	}
	for (int i = 0; columns[i].name; i++) {
		void *at = (char *)row + columns[i].offset;
		struct cairn_bytes bytes = {0};
		if (columns[i].type == CAIRN_COLUMN_TEXT || columns[i].type == CAIRN_COLUMN_LIST)
			bytes = (struct cairn_bytes){library.bytes(answer->statement, i), (size_t)library.length(answer->statement, i)};
		switch (columns[i].type) {
		case CAIRN_COLUMN_NUMBER: *(int64_t *)at = library.number(answer->statement, i); break;
		case CAIRN_COLUMN_REAL: *(double *)at = library.real(answer->statement, i); break;
		case CAIRN_COLUMN_TEXT: *(struct cairn_bytes *)at = bytes.length ? bytes : (struct cairn_bytes){"", 0}; break;
		case CAIRN_COLUMN_LIST: *(struct cairn_list *)at = (struct cairn_list){{bytes.data, bytes.length & ~(size_t)7}}; break;
		}
	}
	return true;
}

static void end_answer(void *handle)
{
	struct answer *answer = handle;
	library.finalize(answer->statement);
	free(answer);
}

static bool lacks_table(const void *handle)
{
	const struct sqlite_connection *connection = handle;
	return cairn_bytes_start_with(cairn_bytes_of(library.explain(connection->database)), "no such table");
}

static bool make_view(struct sqlite_connection *connection, size_t i, struct cairn_error *error)
{
	static const struct cairn_column columns[] = {{0}};
	struct cairn_buffer statement = cairn_buffer(1 << 16);
	cairn_buffer_format(&statement, "SELECT 1 FROM sqlite_master WHERE name = '%s' AND type <> 'view'%c", cairn_view_names[i], 0);
	struct answer *answer = select_rows(connection, statement.data, error);
	bool good = answer != NULL, taken = good && next_row(answer, columns, NULL, &good, error);
	if (answer)
		end_answer(answer);
	if (good && !taken) {
		statement.length = 0;
		cairn_buffer_format(&statement, "DROP VIEW IF EXISTS %s; CREATE VIEW %s AS ", cairn_view_names[i], cairn_view_names[i]);
		cairn_view_write(i, CAIRN_VIEWS_SQLITE, NULL, &statement);
		cairn_buffer_byte(&statement, 0);
		good = run(connection, statement.data, error);
	}
	cairn_buffer_free(&statement);
	return good;
}

static bool make_views(void *handle, const char *cluster, struct cairn_error *error)
{
	struct sqlite_connection *connection = handle;
	(void)cluster;
	bool good = begin(connection, error);
	if (!good)
		return false;
	for (size_t i = 0; good && i < CAIRN_VIEWS; i++)
		good = make_view(connection, i, error);
	return end(connection, good, error);
}

static bool forget(void *handle, const struct cairn_table *table, int64_t time_ns, struct cairn_error *error)
{
	struct sqlite_connection *connection = handle;
	char statement[128];
	snprintf(statement, sizeof statement, "DELETE FROM %s WHERE %s < %lld", table->name, table->by_day ? "time_ns" : "used_ns",
		 (long long)time_ns);
	return run(connection, statement, error);
}

static int is_gone(void *context)
{
	const atomic_bool *gone = context;
	return atomic_load(gone);
}

static void cancel_when(void *handle, const atomic_bool *gone)
{
	struct sqlite_connection *connection = handle;
	enum { steps = 10000 }; /* of SQLite's machine: less than a millisecond */
	connection->gone = gone;
	library.set_progress(connection->database, gone ? steps : 0, gone ? is_gone : NULL, (void *)(uintptr_t)gone);
}

const struct cairn_store_engine cairn_engine_sqlite = {
	.open = open_database,
	.close = close_database,
	.make = make,
	.add_column = add_column,
	.make_views = make_views,
	.insert = insert,
	.select = select_rows,
	.next = next_row,
	.end = end_answer,
	.lacks_table = lacks_table,
	.forget = forget,
	.cancel_when = cancel_when,
	.first_start = "", /* with min() or max(), SQLite takes the other columns from the same row */
	.last_start = "",
	.row_end = "",
	.clock = "CAST(strftime('%s', 'now') AS INTEGER)",
	.latest = "",
};
