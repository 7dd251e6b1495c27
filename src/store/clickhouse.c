/* clickhouse.c - a store in a ClickHouse server or cluster, over HTTP.
 *
 * Statements and tables are limited to what version 18.16, the oldest in use, understands: no codecs, no TTL, no parameters. A row is
 * identified by its key. The server merges rows with the same key at some later time, so statements that count ask for the latest (FINAL).
 * On a cluster, the tables called NAME_local are replicated, and NAME is distributed over them by its first column. A rank is part of the
 * key here: the server keeps a row of each rank, and readers take the one with the lowest.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/clickhouse.h"

#include "base/array.h"
#include "base/text.h"
#include "base/unpack.h"
#include "base/url.h"
#include "http/client.h"
#include "process/clock.h"
#include "store/engine.h"
#include "store/views.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct clickhouse_connection {
	char *address; /* http://HOST:PORT/ */
	char *database;
	char *user, *key; /* header lines; NULL for none */
	bool made;        /* the database exists */
	bool lacks_table; /* the last statement failed for lack of its table or database */
	const atomic_bool *gone; /* nobody waits for the answer any more; NULL if there is no way to know */
	char query_id[64]; /* the server's ID of the last query, if `gone` is set: so it can be killed */
};

static const char user_header[] = "X-ClickHouse-User: ", key_header[] = "X-ClickHouse-Key: ";
enum { on_cluster_size = 160 };
static const char cluster_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
static const char day_of_row[] = "toYYYYMMDD(toDateTime(intDiv(time_ns, 1000000000), 'UTC'))"; /* the partitioning key */

static void close_server(void *handle)
{
	struct clickhouse_connection *connection = handle;
	free(connection->address);
	free(connection->database);
	free(connection->user);
	free(connection->key);
	free(connection);
}

/* HEADER followed by VALUE or, if that is NULL, by the value of the environment variable NAME. */
static char *credential(const char *header, const char *value, size_t length, const char *name)
{
	char *line;
	const char *other = value ? NULL : getenv(name);
	if (!value && !other)
		return NULL;
	if (asprintf(&line, "%s%.*s", header, value ? (int)length : (int)strlen(other), value ? value : other) < 0)
		cairn_out_of_memory(length);
	return line;
}

/* NAME is clickhouse://HOST:PORT/DATABASE, or the same with clickhouses:// for HTTPS; user and password were set aside (base/url.h). */
static void *open_server(const char *name, bool create, struct cairn_error *error)
{
	(void)create;
	bool secure = cairn_bytes_start_with(cairn_bytes_of(name), "clickhouses://");
	const char *host = strstr(name, "://") + 3, *slash = strchr(host, '/');
	if (!slash || slash == host ||
	    strspn(slash + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != strlen(slash + 1) || !slash[1]) {
		cairn_fail_usage(error,
				 "a ClickHouse store is called clickhouse://[USER:PASSWORD@]HOST:PORT/DATABASE; the database has letters, "
				 "digits and _ only");
		return NULL;
	}
	struct clickhouse_connection *connection = cairn_array_zero(1, sizeof *connection);
	const char *user = cairn_url_credentials(name), *colon = user ? strchr(user, ':') : NULL;
	connection->database = strdup(slash + 1);
	if (!connection->database ||
	    asprintf(&connection->address, "http%s://%.*s/", secure ? "s" : "", (int)(slash - host), host) < 0)
		cairn_out_of_memory(strlen(name));
	connection->user = credential(user_header, user, user ? strcspn(user, ":") : 0, "CAIRN_STORE_USER");
	connection->key = credential(key_header, colon ? colon + 1 : NULL, colon ? strlen(colon + 1) : 0, "CAIRN_STORE_PASSWORD");
	return connection;
}

/* Whether BODY, the server's words about a failure, has the code of a missing table (60) or database (81). */
static bool is_about_lack(struct cairn_bytes body)
{
	uint64_t code;
	return cairn_text_take(&body, "Code: ") && cairn_text_decimal(&body, &code) && (code == 60 || code == 81);
}

/* Sends STATEMENT and, unless NULL, ROWS to insert, compressed with gzip. Stores the answer in ANSWER unless that is NULL. */
static bool ask(struct clickhouse_connection *connection, const char *database, const char *statement, const struct cairn_bytes *rows,
		struct cairn_buffer *answer, struct cairn_error *error)
{
	const char *headers[4] = {0};
	size_t header_count = 0;
	struct cairn_buffer url = cairn_buffer(1 << 20);
	struct cairn_http_answer got = {0};
	if (connection->user)
		headers[header_count++] = connection->user;
	if (connection->key)
		headers[header_count++] = connection->key;
	if (rows)
		headers[header_count++] = "Content-Encoding: gzip";
	/* Statements list instances and call paths, thousands of each. On a cluster, an insert returns once the rows have reached their
	 * shard, so that the next query finds them through any node. */
	cairn_buffer_format(
		&url, "%s?max_query_size=16777216&max_ast_elements=5000000&max_expanded_ast_elements=5000000&insert_distributed_sync=1",
		connection->address);
	if (database)
		cairn_buffer_format(&url, "&database=%s", database);
	if (connection->gone) {
		snprintf(connection->query_id, sizeof connection->query_id, "cairn-%d-%lld", (int)getpid(),
			 (long long)cairn_clock_wall_ns());
		cairn_buffer_format(&url, "&query_id=%s", connection->query_id);
	}
	if (rows) {
		cairn_buffer_text(&url, "&query=");
		cairn_url_name(&url, statement);
	}
	cairn_buffer_byte(&url, 0);
	struct cairn_http_call call = {.url = url.data, .method = "POST", .headers = headers,
				       .body = rows ? *rows : cairn_bytes_of(statement),
				       .stop = connection->gone};
	bool good = cairn_http_ask(&call, &got, error);
	connection->lacks_table = good && got.status != 200 && is_about_lack(cairn_buffer_bytes(&got.body));
	if (good && got.status != 200) {
		char words[600];
		cairn_http_words(cairn_buffer_bytes(&got.body), words, sizeof words);
		good = cairn_fail(error, "the store's ClickHouse at %s answers %d: %s", connection->address, got.status, words);
	}
	if (good && answer)
		cairn_buffer_append(answer, got.body.data, got.body.length);
	cairn_http_answer_free(&got);
	cairn_buffer_free(&url);
	return good;
}

/* Stores " ON CLUSTER 'CLUSTER'" in TEXT, or "" if CLUSTER is NULL. */
static void write_on_cluster(const char *cluster, char text[on_cluster_size])
{
	text[0] = 0;
	if (cluster)
		snprintf(text, on_cluster_size, " ON CLUSTER '%.100s'", cluster);
}

static bool make_database(struct clickhouse_connection *connection, const char *on_cluster, struct cairn_error *error)
{
	char statement[600];
	snprintf(statement, sizeof statement, "CREATE DATABASE IF NOT EXISTS %.200s%s", connection->database, on_cluster);
	connection->made = connection->made || ask(connection, NULL, statement, NULL, NULL, error);
	return connection->made;
}

static void list_columns(const struct cairn_table *table, struct cairn_buffer *out)
{
	static const char *const types[] = {[CAIRN_COLUMN_NUMBER] = "UInt64",
					    [CAIRN_COLUMN_REAL] = "Float64",
					    [CAIRN_COLUMN_TEXT] = "String",
					    [CAIRN_COLUMN_LIST] = "Array(UInt64)"};
	for (const struct cairn_column *column = table->columns; column->name; column++)
		cairn_buffer_format(out, "%s%s %s", column == table->columns ? "(" : ", ", column->name, types[column->type]);
	cairn_buffer_byte(out, ')');
}

static bool make(void *handle, const struct cairn_table *table, const char *cluster, struct cairn_error *error)
{
	struct clickhouse_connection *connection = handle;
	char on_cluster[on_cluster_size];
	struct cairn_buffer statement = cairn_buffer(1 << 16);
	if (cluster && strspn(cluster, cluster_letters) != strlen(cluster))
		return cairn_fail_usage(error, "--cluster takes the name of a cluster in the server's configuration, not '%.60s'", cluster);
	write_on_cluster(cluster, on_cluster);
	cairn_buffer_format(&statement, "CREATE TABLE IF NOT EXISTS %s%s%s ", table->name, cluster ? "_local" : "", on_cluster);
	list_columns(table, &statement);
	if (cluster)
		cairn_buffer_format(&statement, " ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/%s/%s', '{replica}')",
				    connection->database, table->name);
	else
		cairn_buffer_text(&statement, " ENGINE = ReplacingMergeTree");
	if (table->by_day)
		cairn_buffer_format(&statement, " PARTITION BY %s", day_of_row);
	cairn_buffer_format(&statement, " ORDER BY (%s%s%s)", table->key, table->rank ? ", " : "", table->rank ? table->rank : "");
	if (table->block)
		cairn_buffer_format(&statement, " SETTINGS index_granularity = %u", table->block);
	cairn_buffer_byte(&statement, 0);
	bool good =
		make_database(connection, on_cluster, error) && ask(connection, connection->database, statement.data, NULL, NULL, error);
	statement.length = 0;
	if (good && cluster) {
		cairn_buffer_format(&statement, "CREATE TABLE IF NOT EXISTS %s%s ", table->name, on_cluster);
		list_columns(table, &statement);
		cairn_buffer_format(&statement, " ENGINE = Distributed('%.100s', '%s', '%s_local', %s)", cluster, connection->database,
				    table->name, table->columns->name);
		cairn_buffer_byte(&statement, 0);
		good = ask(connection, connection->database, statement.data, NULL, NULL, error);
	}
	cairn_buffer_free(&statement);
	return good;
}

/* Finds out by the server's major version which form of the views it understands. */
static bool find_form(struct clickhouse_connection *connection, enum cairn_views_form *form, struct cairn_error *error)
{
	enum { with_maps = 22 };
	struct cairn_buffer answer = cairn_buffer(1 << 10);
	uint64_t version = 0;
	bool good = ask(connection, connection->database, "SELECT version() FORMAT TabSeparated", NULL, &answer, error);
	struct cairn_bytes text = cairn_buffer_bytes(&answer);
	*form = good && cairn_text_decimal(&text, &version) && version >= with_maps ? CAIRN_VIEWS_CLICKHOUSE : CAIRN_VIEWS_CLICKHOUSE_OLD;
	cairn_buffer_free(&answer);
	return good;
}

static bool make_view(struct clickhouse_connection *connection, size_t i, enum cairn_views_form form, const char *on_cluster,
		      struct cairn_error *error)
{
	const char *name = cairn_view_names[i];
	struct cairn_buffer statement = cairn_buffer(1 << 16), answer = cairn_buffer(1 << 10);
	cairn_buffer_format(&statement,
			    "SELECT count() FROM system.tables WHERE database = '%s' AND name = '%s' AND engine <> 'View' "
			    "FORMAT TabSeparated%c",
			    connection->database, name, 0);
	bool good = ask(connection, connection->database, statement.data, NULL, &answer, error);
	if (good && cairn_bytes_equal(cairn_text_trim(cairn_buffer_bytes(&answer)), cairn_bytes_of("0"))) {
		statement.length = 0;
		cairn_buffer_format(&statement, "DROP TABLE IF EXISTS %s%s%c", name, on_cluster, 0);
		good = ask(connection, connection->database, statement.data, NULL, NULL, error);
		statement.length = 0;
		cairn_buffer_format(&statement, "CREATE VIEW %s%s AS ", name, on_cluster);
		cairn_view_write(i, form, connection->database, &statement);
		cairn_buffer_byte(&statement, 0);
		good = good && ask(connection, connection->database, statement.data, NULL, NULL, error);
	}
	cairn_buffer_free(&statement);
	cairn_buffer_free(&answer);
	return good;
}

static bool make_views(void *handle, const char *cluster, struct cairn_error *error)
{
	struct clickhouse_connection *connection = handle;
	char on_cluster[on_cluster_size];
	enum cairn_views_form form;
	write_on_cluster(cluster, on_cluster);
	bool good = find_form(connection, &form, error);
	for (size_t i = 0; good && i < CAIRN_VIEWS; i++)
		good = make_view(connection, i, form, on_cluster, error);
	return good;
}

/* A column that becomes part of the key cannot have a default value. */
static bool add_column(void *handle, const struct cairn_table *table, const char *column, uint64_t value,
		       const char *cluster, struct cairn_error *error)
{
	struct clickhouse_connection *connection = handle;
	char statement[400], on_cluster[on_cluster_size], order[100] = "", kind[60] = "UInt64";
	bool good = true;
	if (table->rank && strcmp(table->rank, column) == 0)
		snprintf(order, sizeof order, ", MODIFY ORDER BY (%s, %s)", table->key, column);
	else
		snprintf(kind, sizeof kind, "UInt64 DEFAULT %llu", (unsigned long long)value);
	write_on_cluster(cluster, on_cluster);
	if (cluster) {
		/* An interrupted migration may have added the column already. */
		snprintf(statement, sizeof statement, "SELECT %s FROM %s_local LIMIT 1", column, table->name);
		bool there = ask(connection, connection->database, statement, NULL, NULL, NULL);
		snprintf(statement, sizeof statement, "ALTER TABLE %s_local%s ADD COLUMN %s %s%s", table->name, on_cluster, column, kind,
			 order);
		good = there || ask(connection, connection->database, statement, NULL, NULL, error);
	}
	snprintf(statement, sizeof statement, "ALTER TABLE %s%s ADD COLUMN %s %s%s", table->name, on_cluster, column,
		 cluster ? "UInt64" : kind, cluster ? "" : order);
	return good && ask(connection, connection->database, statement, NULL, NULL, error);
}

void cairn_clickhouse_put(struct cairn_buffer *out, const struct cairn_column *columns, const void *row)
{
	for (const struct cairn_column *column = columns; column->name; column++) {
		const void *at = (const char *)row + column->offset;
		const struct cairn_bytes *text = at;
		const struct cairn_list *list = at;
		uint64_t number;
		switch (column->type) {
		case CAIRN_COLUMN_NUMBER:
			number = cairn_column_number(column, row);
			cairn_buffer_append(out, &number, sizeof number);
			break;
		case CAIRN_COLUMN_REAL: cairn_buffer_append(out, at, sizeof(double)); break;
		case CAIRN_COLUMN_TEXT:
			cairn_buffer_uleb(out, text->length);
			cairn_buffer_append(out, text->data, text->length);
			break;
		case CAIRN_COLUMN_LIST:
			cairn_buffer_uleb(out, list->items.length / 8);
			cairn_buffer_append(out, list->items.data, list->items.length);
			break;
		}
	}
}

bool cairn_clickhouse_take(struct cairn_cursor *in, const struct cairn_column *columns, void *row)
{
	for (const struct cairn_column *column = columns; column->name; column++) {
		void *at = (char *)row + column->offset;
		uint64_t number;
		switch (column->type) {
		case CAIRN_COLUMN_NUMBER:
		case CAIRN_COLUMN_REAL:
			number = cairn_cursor_u64(in);
			memcpy(at, &number, sizeof number);
			break;
		case CAIRN_COLUMN_TEXT: *(struct cairn_bytes *)at = cairn_cursor_bytes(in, cairn_cursor_uleb(in)); break;
		case CAIRN_COLUMN_LIST:
			number = cairn_cursor_uleb(in);
			*(struct cairn_list *)at = (struct cairn_list){cairn_cursor_bytes(in, number > SIZE_MAX / 8 ? SIZE_MAX : number * 8)};
			break;
		}
	}
	return !in->failed;
}

/* Compresses each table in the form in which it is sent. */
static void pack(struct cairn_rows *rows)
{
	for (unsigned i = 0; i < CAIRN_TABLES; i++) {
		struct cairn_buffer plain = cairn_buffer(SIZE_MAX), *packed = &rows->packed[i];
		for (size_t k = 0; k < rows->tables[i].count; k++)
			cairn_clickhouse_put(&plain, cairn_tables[i].columns, cairn_rows_at(rows, i, k));
		if (plain.length) {
			*packed = cairn_buffer(SIZE_MAX);
			packed->data = cairn_pack_gzip(cairn_buffer_bytes(&plain), &packed->length);
			packed->capacity = packed->length;
			if (!packed->data)
				cairn_out_of_memory(plain.length);
		}
		cairn_buffer_free(&plain);
	}
}

static bool insert(void *handle, const struct cairn_rows *rows, struct cairn_error *error)
{
	struct clickhouse_connection *connection = handle;
	bool good = true;
	for (unsigned i = 0; good && i < CAIRN_TABLES; i++) {
		char statement[128];
		struct cairn_bytes packed = cairn_buffer_bytes(&rows->packed[i]);
		snprintf(statement, sizeof statement, "INSERT INTO %s FORMAT RowBinary", cairn_tables[i].name);
		good = packed.length == 0 || ask(connection, connection->database, statement, &packed, NULL, error);
	}
	return good;
}

struct answer {
	struct cairn_buffer rows;
	struct cairn_cursor in;
};

static void end_answer(void *handle)
{
	struct answer *answer = handle;
	cairn_buffer_free(&answer->rows);
	free(answer);
}

static bool next_row(void *handle, const struct cairn_column *columns, void *row, bool *good, struct cairn_error *error)
{
	struct answer *answer = handle;
	if (cairn_cursor_left(&answer->in) == 0)
		return false;
	*good = cairn_clickhouse_take(&answer->in, columns, row) || cairn_fail(error, "the store's answer ends within a row");
	return *good;
}

static void *select_rows(void *handle, const char *statement, struct cairn_error *error)
{
	struct clickhouse_connection *connection = handle;
	struct answer *answer = cairn_array_zero(1, sizeof *answer);
	answer->rows = cairn_buffer(SIZE_MAX);
	char kill_statement[120];
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	cairn_buffer_format(&text, "%s FORMAT RowBinary", statement);
	cairn_buffer_byte(&text, 0);
	bool good = ask(connection, connection->database, text.data, NULL, &answer->rows, error);
	cairn_buffer_free(&text);
	const atomic_bool *gone = connection->gone;
	if (!good && gone && atomic_load(gone)) { /* the server would continue although nobody reads the answer */
		snprintf(kill_statement, sizeof kill_statement, "KILL QUERY WHERE query_id = '%s'", connection->query_id);
		connection->gone = NULL;
		ask(connection, connection->database, kill_statement, NULL, NULL, NULL);
		connection->gone = gone;
	}
	answer->in = cairn_cursor(cairn_buffer_bytes(&answer->rows));
	if (good)
		return answer;
	end_answer(answer);
	return NULL;
}

static bool lacks_table(const void *handle)
{
	const struct clickhouse_connection *connection = handle;
	return connection->lacks_table;
}

static void cancel_when(void *handle, const atomic_bool *gone)
{
	struct clickhouse_connection *connection = handle;
	connection->gone = gone;
}

/* Stores what ALTER needs to name the table with the rows of TABLE in NAME: "TABLE_local ON CLUSTER 'CLUSTER'", or TABLE on one server. */
static bool find_rows(struct clickhouse_connection *connection, const struct cairn_table *table, char *name, size_t size,
		      struct cairn_error *error)
{
	static const char engine[] = "Distributed(";
	char statement[300];
	struct cairn_buffer text = cairn_buffer(1 << 20);
	snprintf(statement, sizeof statement, "SHOW CREATE TABLE %.200s.%s FORMAT TabSeparatedRaw", connection->database, table->name);
	bool good = ask(connection, connection->database, statement, NULL, &text, error);
	cairn_buffer_byte(&text, 0);
	const char *cluster = good && !text.failed ? strstr(text.data, engine) : NULL;
	if (cluster) {
		cluster += sizeof engine - 1;
		cluster += strspn(cluster, "'`\"");
		snprintf(name, size, "%s_local ON CLUSTER '%.*s'", table->name, (int)strspn(cluster, cluster_letters), cluster);
	} else {
		snprintf(name, size, "%s", table->name);
	}
	cairn_buffer_free(&text);
	return good;
}

/* Removes whole days, which are partitions, so that the server can drop them at once. */
static bool forget_days(struct clickhouse_connection *connection, const struct cairn_table *table, const char *rows, int64_t time_ns,
			struct cairn_error *error)
{
	char statement[400];
	struct cairn_buffer days = cairn_buffer(1 << 20);
	struct cairn_bytes rest, day;
	snprintf(statement, sizeof statement, "SELECT DISTINCT %s FROM %s WHERE time_ns < %lld FORMAT TabSeparated", day_of_row,
		 table->name, (long long)time_ns);
	bool good = ask(connection, connection->database, statement, NULL, &days, error);
	rest = cairn_buffer_bytes(&days);
	while (good && cairn_text_line(&rest, &day, NULL)) {
		snprintf(statement, sizeof statement, "ALTER TABLE %s DROP PARTITION %.*s", rows, (int)(day.length < 20 ? day.length : 20),
			 day.data);
		good = ask(connection, connection->database, statement, NULL, NULL, error);
	}
	cairn_buffer_free(&days);
	return good;
}

/* Keeps a row while another with the same key but another rank is in use: otherwise a frame that is now put without names would lose its
 * names. */
static bool forget_unused(struct clickhouse_connection *connection, const struct cairn_table *table, const char *rows, int64_t time_ns,
			  struct cairn_error *error)
{
	char statement[600];
	struct cairn_buffer count = cairn_buffer(1 << 10);
	snprintf(statement, sizeof statement, "SELECT count() FROM %s WHERE used_ns < %lld FORMAT TabSeparated", table->name,
		 (long long)time_ns);
	bool good = ask(connection, connection->database, statement, NULL, &count, error);
	bool some = good && !cairn_bytes_equal(cairn_text_trim(cairn_buffer_bytes(&count)), cairn_bytes_of("0"));
	snprintf(statement, sizeof statement,
		 "ALTER TABLE %s DELETE WHERE used_ns < %lld AND %s NOT IN (SELECT %s FROM %.200s.%.*s WHERE used_ns >= %lld)", rows,
		 (long long)time_ns, table->key, table->key, connection->database, (int)strcspn(rows, " "), rows, (long long)time_ns);
	good = good && (!some || ask(connection, connection->database, statement, NULL, NULL, error));
	cairn_buffer_free(&count);
	return good;
}

static bool forget(void *handle, const struct cairn_table *table, int64_t time_ns, struct cairn_error *error)
{
	struct clickhouse_connection *connection = handle;
	char rows[200];
	return find_rows(connection, table, rows, sizeof rows, error) &&
	       (table->by_day ? forget_days : forget_unused)(connection, table, rows, time_ns, error);
}

const struct cairn_store_engine cairn_engine_clickhouse = {
	.open = open_server,
	.close = close_server,
	.make = make,
	.add_column = add_column,
	.make_views = make_views,
	.pack = pack,
	.insert = insert,
	.select = select_rows,
	.next = next_row,
	.end = end_answer,
	.lacks_table = lacks_table,
	.forget = forget,
	.cancel_when = cancel_when,
	.first_start = "argMin(",
	.last_start = "argMax(",
	.row_end = ", time_ns)",
	.clock = "toUInt64(now())",
	.latest = " FINAL",
};
