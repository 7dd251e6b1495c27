/* sqlite.c - a store in one SQLite file.
 *
 * SQLite's library is loaded when the first store is opened: commands that need no store start without it. A writer waits while another has
 * the file locked; readers never wait (WAL).
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "store/engine.h"
#include "store/views.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
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
static bool library_ready;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void load_library(void)
{
	void *handle = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
	const struct {
		void *function;
		const char *name;
	} wanted[] = {
		{&library.open, "sqlite3_open_v2"},
		{&library.close, "sqlite3_close_v2"},
		{&library.exec, "sqlite3_exec"},
		{&library.explain, "sqlite3_errmsg"},
		{&library.busy_timeout, "sqlite3_busy_timeout"},
		{&library.prepare, "sqlite3_prepare_v2"},
		{&library.step, "sqlite3_step"},
		{&library.reset, "sqlite3_reset"},
		{&library.finalize, "sqlite3_finalize"},
		{&library.bind_number, "sqlite3_bind_int64"},
		{&library.bind_real, "sqlite3_bind_double"},
		{&library.bind_text, "sqlite3_bind_text"},
		{&library.bind_list, "sqlite3_bind_blob"},
		{&library.number, "sqlite3_column_int64"},
		{&library.real, "sqlite3_column_double"},
		{&library.bytes, "sqlite3_column_blob"},
		{&library.length, "sqlite3_column_bytes"},
		{&library.set_progress, "sqlite3_progress_handler"},
	};
	for (size_t i = 0; handle && i < sizeof wanted / sizeof *wanted; i++) {
		void *function = dlsym(handle, wanted[i].name);
		if (!function)
			return;
		memcpy(wanted[i].function, &function, sizeof function);
	}
	library_ready = handle != NULL;
}

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
	pthread_once(&library_once, load_library);
	if (!library_ready) {
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

/* Takes one row of TABLE off ROWS and adds it by STATEMENT. */
static bool insert_row(struct sqlite_connection *connection, sqlite3_stmt *statement, const struct cairn_table *table,
		       struct cairn_cursor *rows, struct cairn_error *error)
{
	for (int i = 0; table->columns[i].name; i++) {
		struct cairn_bytes bytes;
		size_t count;
		switch (table->columns[i].type) {
		case CAIRN_COLUMN_NUMBER: library.bind_number(statement, i + 1, (sqlite3_int64)cairn_row_take_number(rows)); break;
		case CAIRN_COLUMN_REAL: library.bind_real(statement, i + 1, cairn_row_take_real(rows)); break;
		case CAIRN_COLUMN_TEXT:
			bytes = cairn_row_take_text(rows);
			library.bind_text(statement, i + 1, bytes.data, (int)bytes.length, SQLITE_STATIC);
			break;
		case CAIRN_COLUMN_LIST:
			bytes = cairn_row_take_list(rows, &count);
			library.bind_list(statement, i + 1, bytes.length ? bytes.data : "", (int)bytes.length, SQLITE_STATIC);
			break;
		}
	}
	bool good = !rows->failed && library.step(statement) == SQLITE_DONE;
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

/* Adds the rows in BYTES to TABLE, within a transaction that the caller began: outside of one, each row would be synced to the disk. */
static bool insert_rows(struct sqlite_connection *connection, const struct cairn_table *table, struct cairn_bytes bytes,
			struct cairn_error *error)
{
	sqlite3_stmt *statement;
	struct cairn_cursor rows = cairn_cursor(bytes);
	struct cairn_buffer text = cairn_buffer(1 << 16);
	write_insert(table, &text);
	bool good = library.prepare(connection->database, text.data, -1, &statement, NULL) == SQLITE_OK;
	cairn_buffer_free(&text);
	if (!good)
		return fail(connection, error);
	while (good && cairn_cursor_left(&rows))
		good = insert_row(connection, statement, table, &rows, error);
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

static bool insert_into(void *handle, const struct cairn_table *table, struct cairn_bytes rows, struct cairn_error *error)
{
	struct sqlite_connection *connection = handle;
	return begin(connection, error) && end(connection, insert_rows(connection, table, rows, error), error);
}

static bool insert(void *handle, const struct cairn_buffer rows[CAIRN_TABLES], struct cairn_error *error)
{
	struct sqlite_connection *connection = handle;
	bool good = begin(connection, error);
	if (!good)
		return false;
	for (size_t i = 0; good && i < CAIRN_TABLES; i++)
		good = insert_rows(connection, &cairn_tables[i], cairn_buffer_bytes(&rows[i]), error);
	return end(connection, good, error);
}

static void take_row(sqlite3_stmt *statement, const char *types, struct cairn_buffer *rows)
{
	for (int i = 0; types[i]; i++) {
		struct cairn_bytes bytes = {0};
		if (types[i] == 't' || types[i] == 'l')
			bytes = (struct cairn_bytes){library.bytes(statement, i), (size_t)library.length(statement, i)};
		switch (types[i]) {
		case 'n': cairn_row_number(rows, (uint64_t)library.number(statement, i)); break;
		case 'r': cairn_row_real(rows, library.real(statement, i)); break;
		case 't': cairn_row_text(rows, bytes); break;
		default:
			cairn_buffer_uleb(rows, bytes.length / 8);
			cairn_buffer_append(rows, bytes.data, bytes.length & ~(size_t)7);
		}
	}
}

static bool select_rows(void *handle, const char *text, const char *types, struct cairn_buffer *rows, struct cairn_error *error)
{
	struct sqlite_connection *connection = handle;
	sqlite3_stmt *statement;
	if (connection->gone && atomic_load(connection->gone))
		return cairn_fail(error, "the client no longer waits for the store's answer");
	if (library.prepare(connection->database, text, -1, &statement, NULL) != SQLITE_OK)
		return fail(connection, error);
	int result;
	while ((result = library.step(statement)) == SQLITE_ROW)
		take_row(statement, types, rows);
	bool good = result == SQLITE_DONE || fail(connection, error);
	library.finalize(statement);
	return good;
}

static bool lacks_table(const void *handle)
{
	const struct sqlite_connection *connection = handle;
	return cairn_bytes_start_with(cairn_bytes_of(library.explain(connection->database)), "no such table");
}

static bool make_view(struct sqlite_connection *connection, size_t i, struct cairn_error *error)
{
	struct cairn_buffer statement = cairn_buffer(1 << 16), rows = cairn_buffer(1 << 10);
	cairn_buffer_format(&statement, "SELECT 1 FROM sqlite_master WHERE name = '%s' AND type <> 'view'%c", cairn_view_names[i], 0);
	bool good = select_rows(connection, statement.data, "n", &rows, error);
	if (good && rows.length == 0) {
		statement.length = 0;
		cairn_buffer_format(&statement, "DROP VIEW IF EXISTS %s; CREATE VIEW %s AS ", cairn_view_names[i], cairn_view_names[i]);
		cairn_view_write(i, CAIRN_VIEWS_SQLITE, NULL, &statement);
		cairn_buffer_byte(&statement, 0);
		good = run(connection, statement.data, error);
	}
	cairn_buffer_free(&statement);
	cairn_buffer_free(&rows);
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
	.insert_into = insert_into,
	.select = select_rows,
	.lacks_table = lacks_table,
	.forget = forget,
	.cancel_when = cancel_when,
	.first_start = "", /* with min() or max(), SQLite takes the other columns from the same row */
	.last_start = "",
	.row_end = "",
	.clock = "CAST(strftime('%s', 'now') AS INTEGER)",
	.latest = "",
};
