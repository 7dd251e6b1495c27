/* views.c - the statements of the views.
 *
 * On a cluster, all tables in them are distributed. Each is read by a subquery of its own and joined on the node that was asked: older
 * servers join only two tables at a time and refuse a distributed table inside another. When they create a view on another node, they look
 * for its tables in that node's default database, so each table is named with its database, which @ stands for here.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/views.h"

const char *const cairn_view_names[CAIRN_VIEWS] = {"profiling_samples", "profiling_stacks", "profiling_profiles"};

/* Coroot's names for these two values. Allocations have no rows: Cairn counts them since the start of a process, Coroot since the last
 * profile. */
#define BYTES "'go:heap_inuse_space:bytes'"
#define OBJECTS "'go:heap_inuse_objects:count'"

/* The functions of a frame, innermost first, one on each line, as Coroot writes them; store/snapshot.c describes `names`. The place of a
 * frame without a module is within the call, one less than the address that is shown. */
#define CLICKHOUSE_FRAME                                                                                                                   \
	"if(names = '', concat(if(module = '', '0x', concat(replaceRegexpOne(module, '^.*/', ''), '+0x')),"                                \
	" replaceRegexpOne(lower(hex(if(module = '', place + 1, place))), '^0+(.)', '\\\\1')),"                                            \
	" arrayStringConcat(arrayMap(x -> if(splitByChar('\\t', x)[2] = '', splitByChar('\\t', x)[1],"                                     \
	" concat(splitByChar('\\t', x)[1], ' ', splitByChar('\\t', x)[2], ':', splitByChar('\\t', x)[3])),"                                \
	" arrayFilter(x -> x != '', splitByChar('\\n', names))), '\\n'))"

/* The labels are a query string. */
#define CLICKHOUSE_LABEL_KEYS                                                                                                              \
	"arrayConcat(['instance', 'version'], arrayMap(x -> decodeURLComponent(replaceAll("                                                \
	"substring(x, 1, position(x, '=') - 1), '+', ' ')), arrayFilter(x -> position(x, '=') > 0, splitByChar('&', labels))))"
#define CLICKHOUSE_LABEL_VALUES                                                                                                            \
	"arrayConcat([concat(host, ':', toString(pid)), version], arrayMap(x -> decodeURLComponent(replaceAll("                            \
	"substring(x, position(x, '=') + 1, length(x)), '+', ' ')), arrayFilter(x -> position(x, '=') > 0, splitByChar('&', labels))))"

/* The differences between the two forms of ClickHouse. */
struct words {
	const char *text_start, *text_end; /* around a text with few different values */
	const char *time_start, *time_end; /* around nanoseconds */
	const char *labels;
};

static const struct words clickhouse = {
	"CAST(", " AS LowCardinality(String))", "fromUnixTimestamp64Nano(toInt64(", "))",
	"CAST((" CLICKHOUSE_LABEL_KEYS ", " CLICKHOUSE_LABEL_VALUES ") AS Map(LowCardinality(String), String)) AS Labels"};
static const struct words clickhouse_old = {"", "", "toDateTime(intDiv(", ", 1000000000))",
					    CLICKHOUSE_LABEL_KEYS " AS `Labels.keys`, " CLICKHOUSE_LABEL_VALUES " AS `Labels.values`"};

static void write_clickhouse_samples(const struct words *words, struct cairn_buffer *out)
{
	cairn_buffer_format(out,
			    "SELECT %sservice%s AS ServiceName, %stype%s AS Type, %stime_ns%s AS Start, %stime_ns%s AS End, %s, "
			    "stack AS StackHash, value AS Value, instance AS Instance, tenant AS Tenant FROM "
			    "(SELECT instance, time_ns, stack, type, value FROM @samples FINAL "
			    "ARRAY JOIN [" BYTES ", " OBJECTS "] AS type, [toInt64(round(bytes)), toInt64(round(objects))] AS value) "
			    "AS held ALL INNER JOIN "
			    "(SELECT instance, time_ns, tenant, service, version, host, pid, labels FROM "
			    "(SELECT instance, time_ns FROM @snapshots FINAL WHERE base_ns = 0) AS whole ALL INNER JOIN "
			    "(SELECT instance, tenant, service, version, host, pid, labels FROM @processes FINAL) AS process "
			    "USING instance) AS snapshot USING instance, time_ns",
			    words->text_start, words->text_end, words->text_start, words->text_end, words->time_start, words->time_end,
			    words->time_start, words->time_end, words->labels);
}

/* The stacks of each service, found through samples, with their frames. */
static void write_clickhouse_stacks(const struct words *words, struct cairn_buffer *out)
{
	cairn_buffer_format(out,
			    "SELECT %sservice%s AS ServiceName, stack AS Hash, %slast_ns%s AS LastSeen, lines AS Stack, tenant AS Tenant "
			    "FROM (SELECT tenant, service, stack, max(seen_ns) AS last_ns FROM "
			    "(SELECT instance, stack, max(time_ns) AS seen_ns FROM @samples GROUP BY instance, stack) AS seen "
			    "ALL INNER JOIN (SELECT instance, tenant, service FROM @processes FINAL) AS process USING instance "
			    "GROUP BY tenant, service, stack) AS used ANY LEFT JOIN "
			    "(SELECT stack, splitByChar('\\n', "
			    "arrayStringConcat(arraySort((x, y) -> y, groupArray(text), groupArray(at)), '\\n')) AS lines FROM "
			    "(SELECT stack, at, if(line = '', '[not in the store]', line) AS text FROM "
			    "(SELECT stack, frame, at FROM @stacks FINAL ARRAY JOIN frames AS frame, arrayEnumerate(frames) AS at) "
			    "AS listed ANY LEFT JOIN "
			    "(SELECT frame, %s AS line FROM "
			    "(SELECT frame, any(module) AS module, any(place) AS place, max(names) AS names FROM @frames GROUP BY frame)) "
			    "AS named USING frame) GROUP BY stack) AS shown USING stack",
			    words->text_start, words->text_end, words->time_start, words->time_end, CLICKHOUSE_FRAME);
}

static void write_clickhouse_profiles(const struct words *words, struct cairn_buffer *out)
{
	cairn_buffer_format(out,
			    "SELECT %sservice%s AS ServiceName, %stype%s AS Type, %slast_ns%s AS LastSeen, tenant AS Tenant FROM "
			    "(SELECT tenant, service, max(seen_ns) AS last_ns FROM "
			    "(SELECT instance, max(time_ns) AS seen_ns FROM @snapshots GROUP BY instance) AS seen ALL INNER JOIN "
			    "(SELECT instance, tenant, service FROM @processes FINAL) AS process USING instance GROUP BY tenant, service) "
			    "ARRAY JOIN [" BYTES ", " OBJECTS "] AS type",
			    words->text_start, words->text_end, words->text_start, words->text_end, words->time_start, words->time_end);
}

/* The time NANOSECONDS as text that sorts by time. */
#define SQLITE_TIME(nanoseconds)                                                                                                           \
	"strftime('%Y-%m-%d %H:%M:%S', " nanoseconds " / 1000000000, 'unixepoch') || printf('.%09d', " nanoseconds " % 1000000000)"

#define SQLITE_QUERY_VALUE(text) "replace(replace(" text ", '%', '%25'), '&', '%26')"

static void write_sqlite_samples(struct cairn_buffer *out)
{
	cairn_buffer_text(out,
			  "SELECT processes.service AS ServiceName, kinds.type AS Type, " SQLITE_TIME("whole.time_ns") " AS Start, "
			  SQLITE_TIME("whole.time_ns") " AS \"End\", 'instance=' || " SQLITE_QUERY_VALUE("processes.host")
			  " || ':' || processes.pid || '&version=' || " SQLITE_QUERY_VALUE("processes.version")
			  " || CASE WHEN processes.labels = '' THEN '' ELSE '&' || processes.labels END AS Labels, "
			  "samples.stack AS StackHash, "
			  "CAST(round(CASE kinds.objects WHEN 1 THEN samples.objects ELSE samples.bytes END) AS INTEGER) AS Value, "
			  "processes.instance AS Instance, processes.tenant AS Tenant "
			  "FROM snapshots AS whole JOIN processes ON processes.instance = whole.instance "
			  "JOIN samples ON samples.instance = whole.instance AND samples.time_ns = whole.time_ns "
			  "CROSS JOIN (SELECT " BYTES " AS type, 0 AS objects UNION ALL SELECT " OBJECTS ", 1) AS kinds "
			  "WHERE whole.base_ns = 0");
}

/* Writes an expression for the number whose eight bytes are in `digits` in hexadecimal, the lowest first. */
static void write_sqlite_number(struct cairn_buffer *out)
{
	for (int byte = 0; byte < 8; byte++)
		for (int half = 0; half < 2; half++)
			cairn_buffer_format(out, "%s((instr('123456789ABCDEF', substr(digits, %d, 1))) << %d)", byte + half ? " | " : "",
					    2 * byte + half + 1, 8 * byte + (half ? 0 : 4));
}

/* The functions of a frame, outermost first, as lines are removed from `rest`: function, file, line and first line, separated by tabs. */
#define SQLITE_AFTER(text) "substr(" text ", instr(" text ", char(9)) + 1)"
#define SQLITE_BEFORE(text) "substr(" text ", 1, instr(" text ", char(9)) - 1)"
static const char sqlite_frame[] =
	"(WITH RECURSIVE lines(rest, text) AS (SELECT replace(frames.names, ';', ':'), '' UNION ALL "
	"SELECT substr(rest, instr(rest, char(10)) + 1), " SQLITE_BEFORE("rest") " || "
	"CASE WHEN " SQLITE_BEFORE(SQLITE_AFTER("rest")) " = '' THEN '' ELSE ' ' || " SQLITE_BEFORE(SQLITE_AFTER("rest")) " || ':' || "
	SQLITE_BEFORE(SQLITE_AFTER(SQLITE_AFTER("rest"))) " END || CASE WHEN text = '' THEN '' ELSE ';' || text END "
	"FROM lines WHERE instr(rest, char(10)) > 0) SELECT text FROM lines ORDER BY length(rest) LIMIT 1)";

static void write_sqlite_stacks(struct cairn_buffer *out)
{
	cairn_buffer_text(out,
			  "SELECT seen.service AS ServiceName, seen.stack AS Hash, " SQLITE_TIME("seen.last_ns") " AS LastSeen, ");
	cairn_buffer_text(out,
			  "(WITH RECURSIVE walk(at, text) AS (SELECT length(stacks.frames) / 8, '' UNION ALL "
			  "SELECT at - 1, text || CASE WHEN text = '' THEN '' ELSE ';' END || coalesce((SELECT CASE WHEN frames.names = '' "
			  "THEN CASE WHEN frames.module = '' THEN printf('0x%x', frames.place + 1) ELSE replace(frames.module, "
			  "rtrim(frames.module, replace(frames.module, '/', '')), '') || printf('+0x%x', frames.place) END ELSE ");
	cairn_buffer_text(out, sqlite_frame);
	cairn_buffer_text(out, " END FROM frames WHERE frames.frame = (SELECT ");
	write_sqlite_number(out);
	cairn_buffer_text(out,
			  " FROM (SELECT hex(substr(stacks.frames, at * 8 - 7, 8)) AS digits))), '[not in the store]') FROM walk "
			  "WHERE at > 0) SELECT text FROM walk WHERE at = 0) AS Stack, seen.tenant AS Tenant FROM "
			  "(SELECT processes.tenant, processes.service, samples.stack, max(samples.time_ns) AS last_ns FROM processes "
			  "JOIN samples ON samples.instance = processes.instance "
			  "GROUP BY processes.tenant, processes.service, samples.stack) AS seen "
			  "LEFT JOIN stacks ON stacks.stack = seen.stack");
}

static void write_sqlite_profiles(struct cairn_buffer *out)
{
	cairn_buffer_text(out,
			  "SELECT processes.service AS ServiceName, kinds.type AS Type, " SQLITE_TIME("max(snapshots.time_ns)")
			  " AS LastSeen, processes.tenant AS Tenant FROM processes "
			  "JOIN snapshots ON snapshots.instance = processes.instance "
			  "CROSS JOIN (SELECT " BYTES " AS type UNION ALL SELECT " OBJECTS ") AS kinds "
			  "GROUP BY processes.tenant, processes.service, kinds.type");
}

void cairn_view_write(size_t i, enum cairn_views_form form, const char *database, struct cairn_buffer *out)
{
	static void (*const sqlite[])(struct cairn_buffer *) = {write_sqlite_samples, write_sqlite_stacks, write_sqlite_profiles};
	static void (*const server[])(const struct words *, struct cairn_buffer *) = {
		write_clickhouse_samples, write_clickhouse_stacks, write_clickhouse_profiles};
	struct cairn_buffer text = cairn_buffer(1 << 16);
	if (form == CAIRN_VIEWS_SQLITE) {
		sqlite[i](out);
		return;
	}
	server[i](form == CAIRN_VIEWS_CLICKHOUSE ? &clickhouse : &clickhouse_old, &text);
	for (size_t at = 0; at < text.length; at++)
		if (text.data[at] == '@')
			cairn_buffer_format(out, "%s.", database);
		else
			cairn_buffer_byte(out, text.data[at]);
	cairn_buffer_free(&text);
}
