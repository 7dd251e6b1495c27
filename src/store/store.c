/* store.c - opens a store, creates and checks its tables, and puts snapshots into it, on either engine.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include "base/array.h"
#include "base/text.h"
#include "base/time.h"
#include "process/clock.h"
#include "store/handle.h"
#include "store/views.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The keys of the table of settings. Values are numbers, too. */
enum { setting_version = 1,
       setting_keep_days = 2,
       setting_identity = 3,
       setting_hourly_since = 4,
       setting_forgotten = 5,
       setting_views = 6 };
enum { schema_version = 5 };

static const struct cairn_store_engine *engine_of(const char *name)
{
	struct cairn_bytes bytes = cairn_bytes_of(name);
	if (cairn_bytes_start_with(bytes, "sqlite:"))
		return &cairn_engine_sqlite;
	if (cairn_bytes_start_with(bytes, "clickhouse://") || cairn_bytes_start_with(bytes, "clickhouses://"))
		return &cairn_engine_clickhouse;
	return NULL;
}

bool cairn_store_is(const char *name)
{
	return engine_of(name) != NULL;
}

static bool fail_name(const char *name, struct cairn_error *error)
{
	return cairn_fail_usage(error, "a store is called sqlite:PATH or clickhouse://HOST:PORT/DATABASE, not '%.100s'", name);
}

/* Whether NAME is the path of a file: it has a slash, or an ending that files of SQLite have. */
static bool is_path(const char *name)
{
	static const char *const endings[] = {".db", ".sqlite", ".sqlite3"};
	bool path = strchr(name, '/') != NULL;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
		path |= cairn_bytes_end_with(cairn_bytes_of(name), endings[i]);
	return path && !strstr(name, "://");
}

const char *cairn_store_name(const char *given, struct cairn_arena *arena, struct cairn_error *error)
{
	const char *name = given ? given : getenv("CAIRN_STORE");
	if (name && !engine_of(name) && is_path(name))
		return cairn_arena_format(arena, "sqlite:%s", name);
	if (!name)
		cairn_fail_usage(error, "missing STORE: --store or CAIRN_STORE, as sqlite:PATH or clickhouse://HOST:PORT/DATABASE");
	else if (!engine_of(name))
		fail_name(name, error);
	return name && engine_of(name) ? name : NULL;
}

static struct cairn_store *open_store(const char *name, bool create, struct cairn_error *error)
{
	const struct cairn_store_engine *engine = engine_of(name);
	if (!engine) {
		fail_name(name, error);
		return NULL;
	}
	const char *place = engine == &cairn_engine_sqlite ? name + strlen("sqlite:") : name;
	void *connection = engine->open(place, create, error);
	if (!connection)
		return NULL;
	struct cairn_store *store = cairn_array_zero(1, sizeof *store);
	store->engine = engine;
	store->connection = connection;
	return store;
}

struct cairn_store *cairn_store_open(const char *name, struct cairn_error *error)
{
	return open_store(name, false, error);
}

struct cairn_store *cairn_store_create(const char *name, struct cairn_error *error)
{
	return open_store(name, true, error);
}

void cairn_store_close(struct cairn_store *store)
{
	if (!store)
		return;
	store->engine->close(store->connection);
	cairn_dictionary_free(&store->dictionary);
	cairn_written_free(&store->written);
	free(store);
}

void cairn_store_cancel_when(struct cairn_store *store, const atomic_bool *gone)
{
	store->engine->cancel_when(store->connection, gone);
}

/* Reads the settings. */
static bool read_settings(struct cairn_store *store, struct cairn_error *error)
{
	const struct cairn_column *columns = cairn_tables[CAIRN_TABLE_SETTINGS].columns;
	struct cairn_selection selection;
	struct cairn_row_setting row;
	uint64_t identity = 0;
	int64_t forgotten = 0;
	char statement[100];
	snprintf(statement, sizeof statement, "SELECT setting, value FROM settings%s", store->engine->latest);
	cairn_selection_begin(&selection, store, statement, columns, &row, error);
	while (cairn_selection_next(&selection))
		switch (row.setting) {
		case setting_version: store->version = row.value; break;
		case setting_keep_days: store->keep_days = row.value; break;
		case setting_views: store->views = row.value; break;
		case setting_forgotten: forgotten = (int64_t)row.value; break;
		case setting_identity: identity = row.value; break;
		case setting_hourly_since: store->hourly_since_ns = (int64_t)row.value; break;
		default: break; /* of a later version */
		}
	if (!cairn_selection_end(&selection))
		return false;
	/* Other tables than before, or another program has removed rows. */
	if (store->identity != identity || store->forgotten_ns != forgotten)
		cairn_written_free(&store->written);
	store->identity = identity;
	store->forgotten_ns = forgotten;
	return true;
}

/* Stores the number that STATEMENT answers in *NUMBER; 0 if there is none. Returns false if the store does not answer. */
static bool ask_number(struct cairn_store *store, const char *statement, int64_t *number)
{
	struct answer {
		int64_t number;
	} row = {0};
	static const struct cairn_column columns[] = {CAIRN_COLUMN(struct answer, number), {0}};
	struct cairn_selection selection;
	cairn_selection_begin(&selection, store, statement, columns, &row, NULL);
	cairn_selection_next(&selection);
	*number = row.number;
	return cairn_selection_end(&selection);
}

static void set(struct cairn_rows *rows, uint64_t setting, uint64_t value)
{
	cairn_rows_add(rows, CAIRN_TABLE_SETTINGS, &(struct cairn_row_setting){setting, value});
}

/* Migrates tables of an earlier version. An interrupted migration continues where it was. */
static bool migrate(struct cairn_store *store, const char *cluster, struct cairn_error *error)
{
	int64_t now = cairn_clock_wall_ns();
	/* Columns that tables of earlier versions lack. When existing rows were last used is unknown, so they count as used now. */
	const struct {
		unsigned table;
		const char *column;
		int64_t value;
	} columns[] = {
		{CAIRN_TABLE_SNAPSHOTS, "base_ns", 0},
		{CAIRN_TABLE_SNAPSHOTS, "since_ns", 0},
		{CAIRN_TABLE_SNAPSHOTS, "before_bytes", 0},
		{CAIRN_TABLE_SNAPSHOTS, "own_bytes", 0},
		{CAIRN_TABLE_FRAMES, "nameless", 0}, /* so that names that come later replace a row without names */
		{CAIRN_TABLE_FRAMES, "used_ns", now},
		{CAIRN_TABLE_STACKS, "used_ns", now},
		{CAIRN_TABLE_PROCESSES, "used_ns", now},
	};
	bool good = true;
	for (size_t i = 0; good && i < sizeof columns / sizeof *columns; i++) {
		const struct cairn_table *table = &cairn_tables[columns[i].table];
		int64_t any;
		char statement[100];
		snprintf(statement, sizeof statement, "SELECT %s FROM %s LIMIT 1", columns[i].column, table->name);
		good = ask_number(store, statement, &any) ||
		       store->engine->add_column(store->connection, table, columns[i].column, (uint64_t)columns[i].value, cluster, error);
	}
	return good;
}

bool cairn_store_init(struct cairn_store *store, const char *cluster, const uint64_t *keep_days, struct cairn_error *error)
{
	struct cairn_rows rows = {0};
	bool good = true;
	for (size_t i = 0; good && i < CAIRN_TABLES; i++)
		good = store->engine->make(store->connection, &cairn_tables[i], cluster, error);
	good = good && read_settings(store, error) &&
	       (store->version == 0 || store->version >= schema_version || migrate(store, cluster, error));
	if (good && store->version > schema_version)
		good = cairn_fail(error, "the store's tables have version %llu, and this program knows version %d",
				  (unsigned long long)store->version, schema_version);
	/* Cairn itself does not use the views, so they may be of another version; later ones are kept. */
	if (good && store->views <= cairn_views_version) {
		good = store->engine->make_views(store->connection, cluster, error);
		set(&rows, setting_views, cairn_views_version);
	}
	if (keep_days || !store->version)
		set(&rows, setting_keep_days, keep_days ? *keep_days : 0);
	if (store->version == 1 || store->version == 2) /* which had no table hourly */
		set(&rows, setting_hourly_since, (uint64_t)cairn_clock_wall_ns());
	if (!store->identity)
		set(&rows, setting_identity, cairn_store_id_number(2, (uint64_t)cairn_clock_wall_ns()));
	set(&rows, setting_version, schema_version); /* last, so that an interrupted migration is repeated */
	good = good && cairn_store_insert(store, &rows, error);
	cairn_rows_free(&rows);
	/* The next query may go to another replica, which gets the rows a moment later. */
	for (int looks = 0; good && cluster && looks < 100; looks++) {
		good = read_settings(store, error);
		if (store->version == schema_version)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 100 * CAIRN_MILLISECOND_NS}, NULL);
	}
	return good;
}

bool cairn_store_check(struct cairn_store *store, struct cairn_error *error)
{
	if (!read_settings(store, error)) {
		if (store->engine->lacks_table(store->connection))
			cairn_fail_within(error, "the store cannot be used yet; 'cairn store init STORE' makes its tables: ");
		return false;
	}
	if (store->version == schema_version)
		return true;
	return cairn_fail(error, "the store's tables have version %llu, and this program needs version %d%s",
			  (unsigned long long)store->version, schema_version,
			  store->version < schema_version ? "; 'cairn store init STORE' brings them up to date" : "");
}

/* Whether the clock of the store confirms NOW, this machine's. */
static bool store_confirms(struct cairn_store *store, int64_t now)
{
	char statement[100], span[24];
	snprintf(statement, sizeof statement, "SELECT %s", store->engine->clock);
	int64_t seconds;
	ask_number(store, statement, &seconds);
	int64_t ahead = now - seconds * CAIRN_SECOND_NS;
	if (seconds > 0 && ahead > CAIRN_DAY_NS)
		snprintf(store->removal, sizeof store->removal,
			 "old snapshots stay in the store, since the clock of this machine is %s ahead of the store's",
			 cairn_text_span(ahead, span));
	return ahead <= CAIRN_DAY_NS;
}

/* Removes the rows of before OLDEST: whole days, so that no snapshot loses its base, and then the frames, stacks and processes that no
 * remaining snapshot can refer to. */
static bool forget_before(struct cairn_store *store, int64_t oldest)
{
	/* A clock may be a day ahead (fleet/collect/load.c). */
	int64_t unused = oldest - CAIRN_STORE_WEEK_NS - CAIRN_DAY_NS;
	bool good = true;
	char statement[100], date[24];
	snprintf(statement, sizeof statement, "SELECT count(*) FROM snapshots%s WHERE time_ns < %lld", store->engine->latest,
		 (long long)oldest);
	int64_t before, after;
	bool counted = ask_number(store, statement, &before);
	for (size_t i = CAIRN_TABLES - 1; good && i > CAIRN_TABLE_SETTINGS; i--)
		good = store->engine->forget(store->connection, &cairn_tables[i], cairn_tables[i].by_day ? oldest : unused, NULL);
	cairn_written_free(&store->written); /* its rows may be among those removed */
	int64_t removed = counted && ask_number(store, statement, &after) ? before - after : 0; /* also where it failed halfway */
	if (removed > 0)
		snprintf(store->removal, sizeof store->removal,
			 "%lld snapshot%s of before %.10s %s removed from the store (--keep-days %llu)", (long long)removed,
			 removed == 1 ? "" : "s", cairn_text_utc(oldest, date), removed == 1 ? "was" : "were",
			 (unsigned long long)store->keep_days);
	return good;
}

/* Removes old rows once a day, by the program that comes first. If that fails, it is tried again after an hour.
 *
 * The clock of this machine decides which rows of all machines are too old; far ahead, it would empty the store. So it must be confirmed,
 * to the day by which clocks may differ (fleet/collect/load.c): by NEWEST, the time of the newest snapshot just put, and by the clock of the
 * store. Thus senders do not move the limit, and cannot keep it from moving as long as one of them has the right time. */
static void forget_old(struct cairn_store *store, int64_t newest)
{
	const int64_t now = cairn_clock_wall_ns(), clock = cairn_clock_ns();
	int64_t oldest = store->keep_days < (uint64_t)(now / CAIRN_DAY_NS) ? now - (int64_t)store->keep_days * CAIRN_DAY_NS : 0;
	oldest -= oldest % CAIRN_DAY_NS;
	if (!store->keep_days || oldest == store->forgotten_ns || newest < now - CAIRN_DAY_NS || clock < store->retry_ns)
		return;
	store->retry_ns = clock + CAIRN_HOUR_NS;
	if (!store_confirms(store, now) || !forget_before(store, oldest))
		return;
	struct cairn_rows rows = {0};
	set(&rows, setting_forgotten, (uint64_t)oldest);
	if (cairn_store_insert(store, &rows, NULL))
		store->forgotten_ns = oldest;
	cairn_rows_free(&rows);
}

struct cairn_store_rows {
	struct cairn_rows all, lacking;    /* those that the store lacks */
	struct cairn_snapshot_part *parts; /* of each snapshot */
};

struct cairn_store_rows *cairn_store_prepare(const struct cairn_store_snapshot *snapshots, size_t count)
{
	struct cairn_store_rows *rows = cairn_array_zero(1, sizeof *rows);
	rows->parts = cairn_array_zero(count, sizeof *rows->parts);
	struct cairn_numbered numbered = {0};
	for (size_t i = 0, good = 0; i < count; i++)
		good += cairn_snapshot_write(&snapshots[i], &numbered, &rows->all, &rows->parts[good]);
	cairn_numbered_free(&numbered);
	return rows;
}

void cairn_store_rows_free(struct cairn_store_rows *rows)
{
	cairn_rows_free(&rows->all);
	cairn_rows_free(&rows->lacking);
	free(rows->parts);
	free(rows);
}

/* What the store has of an instance from another program or an earlier run: a whole snapshot that can be the base of the one to put, and
 * whether there is one in the same hour, which then is in hourly. */
struct found_base {
	const struct cairn_row_snapshot *wanted;
	struct cairn_row_snapshot snapshot; /* its time is 0 if there is no base */
	bool in_hour;
	struct cairn_stored_sample *samples;
	size_t count, capacity;
};

/* Appends the instances of the COUNT snapshots in WANTED to STATEMENT, and the time to search. */
static void list_wanted(const struct cairn_row_snapshot *wanted, size_t count, struct cairn_buffer *statement)
{
	int64_t first = INT64_MAX, last = 0;
	for (size_t i = 0; i < count; i++) {
		cairn_buffer_format(statement, "%s%llu", i ? "," : "", (unsigned long long)wanted[i].instance);
		first = wanted[i].time_ns < first ? wanted[i].time_ns : first;
		last = wanted[i].time_ns > last ? wanted[i].time_ns : last;
	}
	int64_t since = first - CAIRN_STORE_WHOLE_NS, hour = cairn_store_hour_start(first);
	cairn_buffer_format(statement, ") AND time_ns >= %lld AND time_ns < %lld ORDER BY time_ns%c",
			    (long long)(hour < since ? hour : since), (long long)cairn_store_hour_start(last + CAIRN_HOUR_NS), 0);
}

/* Finds the newest possible base for each of WANTED, and whether its hour has a whole snapshot. Each instance is in WANTED once. */
static bool find_bases(struct cairn_store *store, const struct cairn_row_snapshot *wanted, size_t count, struct found_base *found,
		       struct cairn_error *error)
{
	struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
	const struct cairn_column *columns = cairn_tables[CAIRN_TABLE_SNAPSHOTS].columns;
	struct cairn_selection selection;
	struct cairn_row_snapshot row;
	struct cairn_map at = {0};
	for (size_t i = 0; i < count; i++) {
		*cairn_map_at(&at, wanted[i].instance) = (uint32_t)i;
		found[i].wanted = &wanted[i];
	}
	cairn_columns_select(columns, &statement);
	cairn_buffer_format(&statement, " FROM snapshots%s WHERE base_ns = 0 AND instance IN (", store->engine->latest);
	list_wanted(wanted, count, &statement);
	cairn_selection_begin(&selection, store, statement.data, columns, &row, error);
	while (cairn_selection_next(&selection)) {
		uint32_t place = cairn_map_get(&at, row.instance);
		if (place == CAIRN_NONE)
			continue;
		struct found_base *base = &found[place];
		base->in_hour = base->in_hour || cairn_store_hour(row.time_ns) == cairn_store_hour(base->wanted->time_ns);
		if (!base->wanted->ended.length && cairn_snapshot_stands_on(base->wanted, &row))
			base->snapshot = row;
	}
	cairn_map_free(&at);
	cairn_buffer_free(&statement);
	return cairn_selection_end(&selection);
}

/* Fetches the samples of the bases that were found. */
static bool fetch_bases(struct cairn_store *store, struct found_base *found, size_t count, struct cairn_error *error)
{
	struct cairn_buffer statement = cairn_buffer(SIZE_MAX);
	const struct cairn_column *columns = cairn_tables[CAIRN_TABLE_SAMPLES].columns;
	struct cairn_selection selection = {.good = true};
	struct cairn_row_sample row;
	struct cairn_map at = {0};
	cairn_columns_select(columns, &statement);
	cairn_buffer_format(&statement, " FROM samples%s WHERE ", store->engine->latest);
	size_t listed = 0;
	for (size_t i = 0; i < count; i++) {
		if (!found[i].snapshot.time_ns)
			continue;
		cairn_buffer_format(&statement, "%s(instance = %llu AND time_ns = %lld)", listed++ ? " OR " : "",
				    (unsigned long long)found[i].snapshot.instance, (long long)found[i].snapshot.time_ns);
		*cairn_map_at(&at, found[i].snapshot.instance) = (uint32_t)i;
	}
	cairn_buffer_byte(&statement, 0);
	if (listed > 0)
		cairn_selection_begin(&selection, store, statement.data, columns, &row, error);
	while (cairn_selection_next(&selection)) {
		uint32_t place = cairn_map_get(&at, row.instance);
		if (place == CAIRN_NONE)
			continue;
		struct found_base *base = &found[place];
		cairn_array_room(base->samples, base->count, base->capacity);
		base->samples[base->count++] = row.sample;
	}
	cairn_map_free(&at);
	cairn_buffer_free(&statement);
	return cairn_selection_end(&selection);
}

/* Looks in the store for bases of the snapshots in ROWS that have none, and for the hours that hourly has: another collector may have
 * written earlier snapshots of the process. */
bool cairn_store_look_up(struct cairn_store *store, const struct cairn_store_rows *rows, struct cairn_error *error)
{
	const struct cairn_row_snapshot *snapshots = rows->all.tables[CAIRN_TABLE_SNAPSHOTS].items;
	const size_t all = rows->all.tables[CAIRN_TABLE_SNAPSHOTS].count;
	struct cairn_row_snapshot *wanted = cairn_array_new(all, sizeof *wanted);
	struct found_base *found = cairn_array_zero(all, sizeof *found);
	struct cairn_map seen = {0};
	size_t count = 0;
	for (size_t i = 0; i < all; i++) {
		uint32_t *at = cairn_map_at(&seen, snapshots[i].instance);
		if (*at == CAIRN_NONE && !cairn_written_knows(&store->written, &snapshots[i]))
			wanted[count++] = snapshots[i];
		*at = 0;
	}
	bool good = count == 0 || (find_bases(store, wanted, count, found, error) && fetch_bases(store, found, count, error));
	for (size_t i = 0; i < count; i++) {
		if (good && found[i].snapshot.time_ns)
			cairn_written_add_base(&store->written, &found[i].snapshot, found[i].samples, found[i].count);
		else
			free(found[i].samples);
		if (good && found[i].in_hour)
			cairn_written_add_hour(&store->written, &wanted[i]);
	}
	cairn_map_free(&seen);
	free(wanted);
	free(found);
	return good;
}

void cairn_store_select(struct cairn_store *store, struct cairn_store_rows *rows)
{
	const struct cairn_row_set *bills = &rows->all.tables[CAIRN_TABLE_BILLS];
	cairn_written_select(&store->written, &rows->all, rows->parts, &rows->lacking);
	for (size_t i = 0; i < bills->count; i++)
		cairn_rows_add(&rows->lacking, CAIRN_TABLE_BILLS, cairn_rows_at(&rows->all, CAIRN_TABLE_BILLS, i));
	if (store->engine->pack)
		store->engine->pack(&rows->lacking);
}

bool cairn_store_insert(struct cairn_store *store, struct cairn_rows *rows, struct cairn_error *error)
{
	if (store->engine->pack)
		store->engine->pack(rows);
	return store->engine->insert(store->connection, rows, error);
}

bool cairn_store_put_rows(struct cairn_store *store, const struct cairn_store_rows *rows, struct cairn_error *error)
{
	const struct cairn_row_set *snapshots = &rows->all.tables[CAIRN_TABLE_SNAPSHOTS];
	int64_t newest = 0;
	for (size_t i = 0; i < snapshots->count; i++) {
		const struct cairn_row_snapshot *row = cairn_rows_at(&rows->all, CAIRN_TABLE_SNAPSHOTS, i);
		newest = row->time_ns > newest ? row->time_ns : newest;
	}
	bool good = store->engine->insert(store->connection, &rows->lacking, error);
	store->removal[0] = 0;
	if (good)
		forget_old(store, newest);
	else
		cairn_written_free(&store->written);
	return good;
}

const char *cairn_store_removal(const struct cairn_store *store)
{
	return store->removal[0] ? store->removal : NULL;
}

bool cairn_store_put(struct cairn_store *store, const struct cairn_store_snapshot *snapshots, size_t count, struct cairn_error *error)
{
	for (size_t i = 0; i < count; i++)
		if (!cairn_store_accepts(snapshots[i].profile, error))
			return false;
	struct cairn_store_rows *rows = cairn_store_prepare(snapshots, count);
	bool good = cairn_store_look_up(store, rows, error);
	if (good) {
		cairn_store_select(store, rows);
		good = cairn_store_put_rows(store, rows, error);
	}
	cairn_store_rows_free(rows);
	return good;
}
