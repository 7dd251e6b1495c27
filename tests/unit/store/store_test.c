/* store_test.c - a store in SQLite: names win over none, a question that failed is asked again, and what nobody uses ends.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include "process/clock.h"
#include "profile/read.h"
#include "store/handle.h"
#include "store/names.h"
#include "store/snapshot.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t second = CAIRN_SECOND_NS, day = 86400 * (int64_t)CAIRN_SECOND_NS;
static char path[64], name[80];
static struct cairn_engine_connection *raw; /* a second connection to the same file */

/* What STATEMENT answers, a number. */
static int64_t sql(const char *statement)
{
	struct answer {
		int64_t value;
	} row = {-1};
	static const struct cairn_column columns[] = {CAIRN_COLUMN(struct answer, value), {0}};
	struct cairn_error error = {0};
	bool good;
	void *answer = cairn_engine_sqlite.select(raw, statement, &error);
	if (answer) {
		cairn_engine_sqlite.next(answer, columns, &row, &good, &error);
		cairn_engine_sqlite.end(answer);
	} else {
		ok(false, "%s: %s", statement, error.text);
	}
	return row.value;
}

/* Two stacks of process PID at TIME_NS, whose places have names or not. */
static void make(struct cairn_profile *profile, int64_t time_ns, int pid, bool named)
{
	char dump[1024];
	struct cairn_error error = {0};
	int length = snprintf(dump, sizeof dump,
			      "heap_v2/524288\n  t*: 3: 12288 [0: 0]\n@ 0x401001 0x402001\n  t*: 2: 8192 [0: 0]\n"
			      "@ 0x403001 0x402001\n  t*: 1: 4096 [0: 0]\n\nMAPPED_LIBRARIES:\n"
			      "00400000-00500000 r-xp 00000000 00:00 1 /srv/api\n# cairn trailer 1\n# cairn time %lld.000000000\n"
			      "# cairn pid %d\n# cairn start 1789999000.000000000\n# cairn module 00400000-00500000 0 abcdef /srv/api\n"
			      "# cairn end\n", (long long)(time_ns / second), pid);
	cairn_profile_init(profile);
	if (!cairn_profile_read(profile, (struct cairn_bytes){dump, (size_t)length}, "dump", &(struct cairn_read_options){0}, &error))
		ok(false, "%s", error.text);
	profile->facts.since_ns = time_ns - 5 * second;
	profile->facts.before_bytes = 1e6;
	profile->facts.anonymous_bytes = 2e6 + pid;
	profile->facts.swap_bytes = 3e6;
	for (uint32_t i = 0; named && i < profile->location_count; i++) {
		struct cairn_function function = {.name = cairn_profile_text(profile, "function"),
						  .file = cairn_profile_text(profile, "a.c")};
		function.system_name = function.name;
		struct cairn_frame frame = {cairn_profile_add_function(profile, &function), 10 + i, 0};
		cairn_profile_set_frames(profile, i, &frame, 1);
	}
}

static struct cairn_store *open_store(void)
{
	struct cairn_error error = {0};
	struct cairn_store *store = cairn_store_open(name, &error);
	if (!store || !cairn_store_check(store, &error))
		ok(false, "%s", error.text);
	return store;
}

/* Puts a snapshot by a program that has STORE open. */
static bool put_into(struct cairn_store *store, const char *service, int64_t time_ns, int pid, bool named)
{
	struct cairn_profile profile;
	struct cairn_error error = {0};
	make(&profile, time_ns, pid, named);
	bool good = cairn_store_put(store, &(struct cairn_store_snapshot){.profile = &profile, .service = cairn_bytes_of(service),
									  .version = cairn_bytes_of("1"), .host = cairn_bytes_of("one")}, 1,
				    &error);
	if (!good)
		ok(false, "%s", error.text);
	cairn_profile_free(&profile);
	return good;
}

/* Puts a snapshot by a program that has just started. */
static bool put(const char *service, int64_t time_ns, int pid, bool named)
{
	struct cairn_store *store = open_store();
	bool good = put_into(store, service, time_ns, pid, named);
	cairn_store_close(store);
	return good;
}

static bool count_named(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	size_t *named = context;
	(void)error;
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		const struct cairn_frame *frame = location->frame_count ? &profile->frames[location->first_frame] : NULL;
		*named += frame && strcmp(cairn_profile_string(profile, profile->functions[frame->function].name), "function") == 0;
	}
	return true;
}

/* How many places of the last snapshot of the first process have their names; -1 where the store fails. */
static int named_places(struct cairn_store *store)
{
	struct cairn_store_processes processes;
	struct cairn_error error = {0};
	size_t named = 0, last;
	bool good = cairn_store_ask(store, &(struct cairn_question){.from_ns = 1}, &processes, &error) && processes.count > 0;
	if (good) {
		last = processes.items[0].point_count - 1;
		good = cairn_store_profiles(store, &processes.items[0], &last, 1, count_named, &named, &error);
	}
	cairn_store_processes_free(&processes);
	return good ? (int)named : -1;
}

static void test_names(int64_t now)
{
	ok(put("api", now - 600 * second, 42, true), "a sender that knows names");
	ok(put("api", now - 540 * second, 42, false), "then one that does not");
	struct cairn_store *store = open_store();
	is_int(named_places(store), 3, "the names stay");
	cairn_store_close(store);
	sql("DELETE FROM frames");
	ok(put("api", now - 480 * second, 42, false) && put("api", now - 420 * second, 42, true), "the other way round");
	store = open_store();
	is_int(named_places(store), 3, "the names come later");
	is_int(sql("SELECT count(*) FROM frames"), 3, "and there is a row for each frame");
	cairn_store_close(store);
}

static bool count_facts(void *context, const struct cairn_profile *profile, struct cairn_error *error)
{
	size_t *right = context;
	(void)error;
	*right += profile->facts.since_ns == profile->facts.time_ns - 5 * second && profile->facts.before_bytes == 1e6 &&
		  profile->facts.anonymous_bytes == 5e6 + 42;
	return true;
}

/* After test_names: four snapshots of one process. */
static void test_facts(void)
{
	struct cairn_store *store = open_store();
	struct cairn_store_processes processes;
	struct cairn_error error = {0};
	const size_t all[] = {0, 1, 2, 3};
	size_t right = 0, changes = 0;
	ok(cairn_store_ask(store, &(struct cairn_question){.from_ns = 1}, &processes, &error) &&
		   cairn_store_profiles(store, &processes.items[0], all, 4, count_facts, &right, &error),
	   "all snapshots of a process");
	for (size_t i = 0; i < 4; i++)
		changes += processes.items[0].points[i].base_ns > 0;
	is_int(right, 4, "each says when sampling began, and which memory the process had then and has now");
	ok(changes > 0, "also %zu that are stored as changes", changes);
	cairn_store_processes_free(&processes);
	cairn_store_close(store);
}

static void test_failure(void)
{
	struct cairn_store *store = open_store();
	sql("PRAGMA legacy_alter_table = ON"); /* the views name the table, and need not be right meanwhile */
	sql("ALTER TABLE frames RENAME TO hidden");
	is_int(named_places(store), -1, "a question whose frames cannot be had fails");
	sql("ALTER TABLE hidden RENAME TO frames");
	is_int(named_places(store), 3, "asked again, it has them all");
	cairn_store_close(store);
}

static size_t answers, cut_answer; /* rows of `next_cut`, and which of them is cut */
static bool was_cut;

/* As SQLite answers, but one row cannot be had. */
static bool next_cut(void *answer, const struct cairn_column *columns, void *row, bool *good, struct cairn_error *error)
{
	bool more = cairn_engine_sqlite.next(answer, columns, row, good, error);
	if (more && answers++ == cut_answer) {
		was_cut = true;
		return *good = cairn_fail(error, "the store's answer ends within a row");
	}
	return more;
}

static void ignore_bill(void *context, size_t process, const char *line, double bytes)
{
	(void)context, (void)process, (void)line, (void)bytes;
}

/* Asks STORE all kinds of questions. */
static bool ask_all(struct cairn_store *store, int64_t now, struct cairn_error *error)
{
	struct cairn_store_processes processes = {0};
	struct cairn_profile profile;
	struct cairn_map named = {0};
	uint64_t frame = (uint64_t)sql("SELECT min(frame) FROM frames");
	size_t last = 0, places = 0;
	make(&profile, now, 42, true);
	bool good = cairn_store_check(store, error) &&
		    cairn_store_ask(store, &(struct cairn_question){.from_ns = now - 500 * second}, &processes, error) &&
		    processes.count > 0 &&
		    cairn_store_profiles(store, &processes.items[0], &last, 1, count_named, &places, error) &&
		    cairn_store_bills(store, &processes, ignore_bill, NULL, error) &&
		    cairn_store_named(store, &frame, 1, &named, error) &&
		    cairn_store_put(store, &(struct cairn_store_snapshot){.profile = &profile, .service = cairn_bytes_of("api"),
									  .version = cairn_bytes_of("1"), .host = cairn_bytes_of("one")}, 1,
				    error);
	cairn_map_free(&named);
	cairn_profile_free(&profile);
	cairn_store_processes_free(&processes);
	return good;
}

/* An answer that ends within a row fails the question, whichever statement it answers. */
static void test_cut_answers(int64_t now)
{
	struct cairn_store_engine engine = cairn_engine_sqlite;
	engine.next = next_cut;
	sql("INSERT INTO bills SELECT instance, time_ns, 'heap', 1.0 FROM snapshots");
	for (cut_answer = 0, was_cut = true; was_cut; cut_answer++) {
		struct cairn_error error = {0};
		struct cairn_store *store = open_store();
		store->engine = &engine;
		was_cut = false;
		answers = 0;
		bool good = ask_all(store, now, &error);
		ok(was_cut ? !good && strstr(error.text, "ends within a row") : good, "answer %zu %s", cut_answer,
		   was_cut ? "cut short is refused" : "is not there, and the others are good");
		store->engine = &cairn_engine_sqlite;
		cairn_store_close(store);
	}
	ok(cut_answer > 8, "there are many kinds of answers: %zu", cut_answer - 1);
	sql("DELETE FROM bills");
}

/* Removes what was put of SERVICE. */
static void forget(const char *service)
{
	static const char *const tables[] = {"hourly", "samples", "snapshots", "processes"};
	char statement[200];
	for (size_t i = 0; i < 4; i++) {
		snprintf(statement, sizeof statement,
			 "DELETE FROM %s WHERE instance IN (SELECT instance FROM processes WHERE service = '%s')", tables[i], service);
		sql(statement);
	}
}

static void keep_length(void *context, const struct cairn_unnamed_frame *frame)
{
	size_t *longest = context;
	*longest = frame->module.length > *longest ? frame->module.length : *longest;
}

/* Rows of earlier versions have texts of any length. */
static void test_long_texts(void)
{
	struct cairn_error error = {0};
	struct cairn_store *store = open_store();
	uint64_t after = 0;
	size_t longest = 0, count;
	sql("INSERT INTO frames VALUES (1, 'ab', hex(zeroblob(1000000)), 7, '', 1, 0)");
	ok(cairn_store_unnamed(store, &after, 10, keep_length, &longest, &count, &error) && count > 0, "frames without names");
	is_int(longest, CAIRN_STORE_PATH, "have modules that are cut where nobody would read on");
	sql("DELETE FROM frames WHERE frame = 1");
	cairn_store_close(store);
}

/* Of very many points, some. */
static void test_few_points(int64_t now)
{
	const int64_t hour = now - now % (3600 * second) - 7200 * second;
	struct cairn_error error = {0};
	for (int i = 0; i < 12; i++)
		put("few", hour + i * 300 * second, 60, false);
	struct cairn_store *store = open_store();
	struct cairn_store_processes processes;
	const struct {
		struct cairn_question question;
		size_t count;
		int64_t first, last;
		const char *name;
	} cases[] = {
		{{.service = "few", .from_ns = hour}, 12, 0, 3300, "all"},
		{{.service = "few", .from_ns = hour, .last_only = true}, 1, 3300, 3300, "the last"},
		{{.service = "few", .from_ns = hour, .slot_ns = 1800 * second}, 2, 0, 1800, "the first of each half hour"},
		{{.service = "few", .from_ns = hour, .whole = true, .slot_ns = 3600 * second}, 1, 0, 0, "the first whole one of an hour"},
		{{.service = "few", .from_ns = hour + 1, .slot_ns = 3600 * second}, 1, 300, 300, "the first since some time"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bool good = cairn_store_ask(store, &cases[i].question, &processes, &error) && processes.count == 1;
		const struct cairn_store_process *process = good ? &processes.items[0] : NULL;
		is_int(process ? process->point_count : 0, cases[i].count, "points: %s", cases[i].name);
		is_int(process ? process->points[0].time_ns : 0, hour + cases[i].first * second, "from there");
		is_int(process ? process->points[process->point_count - 1].time_ns : 0, hour + cases[i].last * second, "to there");
		ok(process && process->points[0].bytes > 0 && process->points[0].period == 524288, "with what it held");
		cairn_store_processes_free(&processes);
	}
	cairn_store_close(store);
	forget("few");
}

/* The table hourly has one snapshot of each hour, also when each is put by a program that knows nothing of the others. */
static void test_hours(int64_t now)
{
	const int64_t hour = now - now % (3600 * second) - 7200 * second;
	sql("DELETE FROM hourly");
	put("hours", hour + 600 * second, 50, false);
	const int64_t later[] = {hour + 1200 * second, hour + 2400 * second, hour + 60 * second};
	for (size_t i = 0; i < 3; i++) {
		put("hours", later[i], 50, false);
		is_int(sql("SELECT count(DISTINCT time_ns) FROM hourly"), 1, "an hour has one snapshot");
		is_int(sql("SELECT max(time_ns) FROM hourly"), hour + 600 * second, "the one that was put first");
	}
	put("hours", hour + 3660 * second, 50, false);
	is_int(sql("SELECT count(DISTINCT time_ns) FROM hourly"), 2, "and the next hour has its own");
	forget("hours");
}

static void test_gone(void)
{
	struct cairn_store *store = open_store();
	atomic_bool gone = false;
	cairn_store_cancel_when(store, &gone);
	is_int(named_places(store), 3, "while somebody waits, there are answers");
	atomic_store(&gone, true);
	is_int(named_places(store), -1, "when nobody does, there are none");
	cairn_store_cancel_when(store, NULL);
	is_int(named_places(store), 3, "and then again");
	cairn_store_close(store);
}

/* Rows as if they had been put DAYS days ago, with a snapshot of then. */
static void age(int days)
{
	char statement[200];
	static const char *const tables[] = {"frames", "stacks", "processes"};
	for (size_t i = 0; i < 3; i++) {
		snprintf(statement, sizeof statement, "UPDATE %s SET used_ns = used_ns - %lld", tables[i], (long long)(days * day));
		sql(statement);
	}
	snprintf(statement, sizeof statement, "UPDATE snapshots SET time_ns = time_ns - %lld", (long long)(days * day));
	sql(statement);
	snprintf(statement, sizeof statement, "UPDATE samples SET time_ns = time_ns - %lld", (long long)(days * day));
	sql(statement);
}

static void use_last(int pid, int64_t time_ns)
{
	char statement[200];
	snprintf(statement, sizeof statement, "UPDATE processes SET used_ns = %lld WHERE pid = %d", (long long)time_ns, pid);
	sql(statement);
}

static int64_t all_rows(void)
{
	return sql("SELECT (SELECT count(*) FROM frames) + (SELECT count(*) FROM stacks) + (SELECT count(*) FROM processes) + "
		   "(SELECT count(*) FROM samples) + (SELECT count(*) FROM snapshots)");
}

static void test_retention(int64_t now)
{
	struct cairn_error error = {0};
	uint64_t keep = 10;
	struct cairn_store *store = open_store();
	ok(cairn_store_init(store, NULL, &keep, &error), "ten days are kept");
	cairn_store_close(store);
	sql("DELETE FROM snapshots"), sql("DELETE FROM samples"), sql("DELETE FROM processes"), sql("DELETE FROM frames"),
		sql("DELETE FROM stacks");
	put("old", now, 1, false);
	is_int(all_rows(), 3 + 2 + 1 + 2 + 1, "one snapshot and what it refers to");
	age(9);
	sql("DELETE FROM settings WHERE setting = 5");
	put("new", now, 2, true);
	is_int(sql("SELECT count(*) FROM processes"), 2, "after nine days it is there");
	is_int(sql("SELECT count(*) FROM snapshots"), 2, "with its snapshot");
	age(9);
	use_last(1, now - 17 * day), use_last(2, now - 9 * day);
	sql("DELETE FROM settings WHERE setting = 5");
	put("new", now, 3, false);
	is_int(sql("SELECT count(*) FROM snapshots"), 2, "after eighteen its snapshot is gone");
	is_int(sql("SELECT count(*) FROM processes"), 3, "the process waits for a week, and until no clock can be so wrong");
	use_last(1, now - 20 * day);
	sql("DELETE FROM settings WHERE setting = 5");
	put("new", now, 4, false);
	is_int(sql("SELECT count(*) FROM processes WHERE pid = 1"), 0, "then it goes, too");
	is_int(sql("SELECT count(*) FROM processes"), 3, "and no other");
	store = open_store();
	is_int(named_places(store), 3, "frames that are still in use stay, with their names");
	cairn_store_close(store);
	age(40);
	put("new", now, 5, false);
	is_int(sql("SELECT count(*) FROM snapshots"), 4, "once a day is enough");
	sql("DELETE FROM settings WHERE setting = 5");
	sql("UPDATE frames SET used_ns = 0"), sql("UPDATE stacks SET used_ns = 0");
	put("new", now, 6, false);
	is_int(all_rows(), 2 + 2 * 3 + 3 + 2, "what is not used any more is gone from every table, and what is used was put again");
}

/* The rows of the day before the first that is kept. */
static void add_old(int64_t now)
{
	char statement[200];
	snprintf(statement, sizeof statement, "INSERT INTO snapshots VALUES (77, %lld, 1, 1, 1, 0, 1, 0, 0, '', 0, 0, 0, 0)",
		 (long long)(now - 11 * day));
	sql("DELETE FROM snapshots WHERE instance = 77");
	sql(statement);
	sql("DELETE FROM settings WHERE setting = 5");
}

static int64_t old_rows(void)
{
	return sql("SELECT count(*) FROM snapshots WHERE instance = 77");
}

/* A clock that is ahead must not empty the store: neither where the snapshots say another time, nor where the store does. */
static void test_clocks(int64_t now)
{
	struct cairn_store_engine engine = cairn_engine_sqlite;
	add_old(now);
	put("late", now - 2 * day, 7, false);
	is_int(old_rows(), 1, "a clock that is two days ahead of all snapshots removes nothing");
	struct cairn_store *store = open_store();
	engine.clock = "CAST(strftime('%s', 'now') AS INTEGER) - 3 * 86400";
	store->engine = &engine;
	put_into(store, "new", now, 8, false);
	is_int(old_rows(), 1, "nor does one that is three days ahead of the store's");
	like_text(cairn_store_removal(store),
		  "old snapshots stay in the store, since the clock of this machine is 3.0 days ahead of the store's", "and that is told");
	engine.clock = "nothing";
	store->retry_ns = 0;
	put_into(store, "new", now, 8, false);
	ok(old_rows() == 1 && !cairn_store_removal(store), "nor does any where the store's is unknown");
	store->engine = &cairn_engine_sqlite;
	put_into(store, "new", now, 8, false);
	is_int(old_rows(), 1, "which is tried again after an hour");
	store->retry_ns = 0;
	put_into(store, "late", now - 2 * day, 7, false);
	is_int(old_rows(), 1, "a sender that is late does not remove");
	put_into(store, "new", now, 8, false);
	is_int(old_rows(), 0, "nor keep others from removing");
	like_text(cairn_store_removal(store), "1 snapshot of before ", "and that is told");
	put_into(store, "new", now, 8, false);
	ok(!cairn_store_removal(store), "once");
	cairn_store_close(store);
}

/* A running program does not believe that rows are there which were removed, by another program or by itself. */
static void test_removed(int64_t now)
{
	struct cairn_error error = {0};
	struct cairn_store *store = open_store();
	put_into(store, "new", now - 3 * second, 9, true);
	sql("DELETE FROM frames"), sql("DELETE FROM stacks"), sql("DELETE FROM processes");
	sql("UPDATE settings SET value = value + 1 WHERE setting = 5");
	ok(cairn_store_check(store, &error) && put_into(store, "new", now - 2 * second, 9, true), "another program removed rows");
	is_int(sql("SELECT count(*) FROM frames") + sql("SELECT count(*) FROM stacks") + sql("SELECT count(*) FROM processes"), 3 + 2 + 1,
	       "those in use were put again");
	put_into(store, "new", now - second, 9, true);
	sql("UPDATE frames SET used_ns = 0"), sql("UPDATE stacks SET used_ns = 0");
	store->retry_ns = store->forgotten_ns = 0;
	put_into(store, "new", now, 9, true);
	is_int(sql("SELECT count(*) FROM frames") + sql("SELECT count(*) FROM stacks"), 0, "this one removes them");
	put_into(store, "new", now + second, 9, true);
	is_int(sql("SELECT count(*) FROM frames") + sql("SELECT count(*) FROM stacks"), 3 + 2, "and puts those in use again");
	cairn_store_close(store);
}

/* Rows of one call are one transaction: all of them or none, and one sync of the disk. */
static void test_rows(void)
{
	struct cairn_error error = {0};
	struct cairn_rows rows = {0};
	for (uint64_t stack = 5; stack < 8; stack++)
		cairn_rows_add(&rows, CAIRN_TABLE_STACKS, &(struct cairn_row_stack){stack, {{(const char *)&stack, sizeof stack}}, 0});
	sql("ALTER TABLE snapshots RENAME TO hidden");
	cairn_rows_add(&rows, CAIRN_TABLE_SNAPSHOTS, &(struct cairn_row_snapshot){.instance = 5});
	ok(!cairn_engine_sqlite.insert(raw, &rows, &error), "rows of which the last cannot be put");
	is_int(sql("SELECT count(*) FROM stacks WHERE stack < 8"), 0, "none of them is put");
	sql("ALTER TABLE hidden RENAME TO snapshots");
	rows.tables[CAIRN_TABLE_SNAPSHOTS].count = 0;
	ok(cairn_engine_sqlite.insert(raw, &rows, &error), "good rows");
	is_int(sql("SELECT count(*) FROM stacks WHERE stack < 8"), 3, "all of them are put");
	sql("DELETE FROM stacks WHERE stack < 8");
	cairn_rows_free(&rows);
}

/* What the store says when it cannot be used: how to make its tables, and only where they are missing. */
static void test_check(void)
{
	struct cairn_error error = {0};
	struct cairn_store *store = open_store();
	sql("PRAGMA legacy_alter_table = ON");
	sql("ALTER TABLE settings RENAME TO hidden");
	ok(!cairn_store_check(store, &error), "without tables");
	like_text(error.text, "'cairn store init STORE' makes its tables: the store's SQLite says: no such table",
		  "it says how to make them");
	sql("ALTER TABLE hidden RENAME TO settings");
	sql("ALTER TABLE settings RENAME COLUMN value TO worth");
	ok(!cairn_store_check(store, &error) && !strstr(error.text, "store init"), "with others it does not: %s", error.text);
	sql("ALTER TABLE settings RENAME COLUMN worth TO value");
	cairn_store_close(store);
}

int main(void)
{
	struct cairn_error error = {0};
	int64_t now = cairn_clock_wall_ns() / second * second;
	now -= now % day < 1200 * second ? 1200 * second : 0; /* all of it on one day */
	snprintf(path, sizeof path, "/tmp/store_test.%d.db", (int)getpid());
	snprintf(name, sizeof name, "sqlite:%s", path);
	struct cairn_store *store = cairn_store_open(name, &error);
	ok(!store && strstr(error.text, "no such file; 'cairn store init sqlite:") && access(path, F_OK) != 0,
	   "a store that is not there is not made by opening it: %s", error.text);
	store = cairn_store_create(name, &error);
	ok(store && cairn_store_init(store, NULL, NULL, &error), "a store is made");
	cairn_store_close(store);
	raw = cairn_engine_sqlite.open(path, false, &error);
	test_names(now);
	test_facts();
	test_failure();
	test_cut_answers(now);
	test_gone();
	test_hours(now);
	test_few_points(now);
	test_long_texts();
	test_retention(now);
	test_clocks(now);
	test_removed(now);
	test_rows();
	test_check();
	cairn_engine_sqlite.close(raw);
	for (size_t i = 0; i < 3; i++) {
		static const char *const endings[] = {"", "-wal", "-shm"};
		snprintf(name, sizeof name, "%s%s", path, endings[i]);
		unlink(name);
	}
	return tap_done();
}
