/* listing_show.c - writes a listing as JSON and as text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/listing.h"

#include "base/date.h"
#include "base/table.h"
#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>

enum { shown_last_moments = 8 }; /* the newest, shown first */

/* Whether DUMP is the last of a process that has ended. */
static bool is_last(const struct cairn_dump *dump)
{
	return dump->process.pid && (dump->marks & CAIRN_DUMP_NEWEST) && !(dump->marks & CAIRN_DUMP_ALIVE);
}

/* The last moment before BEFORE; NULL after the first. Simultaneous ones are all returned. */
static const struct cairn_dump *next_last_moment(const struct cairn_listing *listing, const struct cairn_dump *before)
{
	const struct cairn_dump *found = NULL;
	for (size_t i = 0; i < listing->count; i++) {
		const struct cairn_dump *dump = &listing->dumps[i];
		if (cairn_dump_is_last_moment(dump) &&
		    (!before || dump->time_ns < before->time_ns || (dump->time_ns == before->time_ns && dump < before)) &&
		    (!found || dump->time_ns > found->time_ns || (dump->time_ns == found->time_ns && dump > found)))
			found = dump;
	}
	return found;
}

static void write_last_moments(const struct cairn_listing *listing, struct cairn_json *json)
{
	cairn_json_open(json, "last_moments", '[');
	const struct cairn_dump *dump = NULL;
	for (int i = 0; i < shown_last_moments && (dump = next_last_moment(listing, dump)); i++) {
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "name", cairn_bytes_of(dump->name));
		cairn_json_integer(json, "pid", dump->process.pid);
		cairn_json_text(json, "ended", cairn_dump_ending(dump));
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}

/* Writes in words what makes the dump worth keeping. */
static void write_marks(const struct cairn_dump *dump, struct cairn_buffer *out)
{
	const char *between = "  [";
	const struct {
		bool set;
		const char *word;
	} marks[] = {
		{dump->marks & CAIRN_DUMP_FIRST, "first"},
		{dump->marks & CAIRN_DUMP_HIGHEST, "highest"},
		{dump->marks & CAIRN_DUMP_NEWEST && !is_last(dump), "newest"},
		{is_last(dump), dump->marks & CAIRN_DUMP_OOM ? "last of a dead process, out of memory" : "last of a dead process"},
	};
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		if (!marks[i].set)
			continue;
		cairn_buffer_text(out, between);
		cairn_buffer_text(out, marks[i].word);
		between = ", ";
	}
	if (between[0] == ',')
		cairn_buffer_byte(out, ']');
}

static void columns(struct cairn_table *table, void *context, const void *item)
{
	const struct cairn_dump *dump = item;
	const int *utc_offset = context;
	char life[CAIRN_LIFE_TEXT], date[64], memory[24];
	struct tm day = cairn_date(dump->time_ns / CAIRN_SECOND_NS + (utc_offset ? *utc_offset : 0));
	snprintf(date, sizeof date, "%04d-%02d-%02d %02d:%02d:%02d", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday, day.tm_hour,
		 day.tm_min, day.tm_sec);
	cairn_table_seconds(table, "time", "", 21, (double)(dump->time_ns / CAIRN_MILLISECOND_NS) / 1000, date);
	cairn_table_count(table, "pid", NULL, 0, dump->process.pid ? (double)dump->process.pid : NAN);
	cairn_table_string(table, "process", NULL, 0, cairn_life_text(&dump->process, life));
	cairn_table_number(table, "memory", "", 10, dump->memory ? (double)dump->memory : NAN, cairn_text_human((double)dump->memory, memory));
	cairn_table_count(table, "sampled", NULL, 0, (double)dump->sampled);
	cairn_table_bytes(table, "size", "", 10, (double)dump->size);
	cairn_table_string(table, "name", "", 0, dump->name);
	if (table->json || dump->reason[0])
		cairn_table_string(table, "reason", "", 0, dump->reason);
	cairn_table_flag(table, "alive", (dump->marks & CAIRN_DUMP_ALIVE) != 0);
	cairn_table_flag(table, "first", (dump->marks & CAIRN_DUMP_FIRST) != 0);
	cairn_table_flag(table, "highest", (dump->marks & CAIRN_DUMP_HIGHEST) != 0);
	cairn_table_flag(table, "newest", (dump->marks & CAIRN_DUMP_NEWEST) != 0);
	cairn_table_flag(table, "last_of_dead", is_last(dump));
	cairn_table_flag(table, "last_moment", cairn_dump_is_last_moment(dump));
	cairn_table_flag(table, "oom", (dump->marks & CAIRN_DUMP_OOM) != 0);
	if (!table->json)
		write_marks(dump, table->out);
}

void cairn_listing_json(const struct cairn_listing *listing, const char *path, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json_answer(out);
	cairn_json_text(&json, "folder", cairn_bytes_of(path));
	cairn_json_integer(&json, "size", (int64_t)listing->bytes);
	cairn_json_integer(&json, "unreadable", (int64_t)listing->unreadable);
	cairn_json_integer(&json, "damaged", (int64_t)listing->damaged);
	cairn_json_integer(&json, "of_others", (int64_t)listing->of_others);
	write_last_moments(listing, &json);
	struct cairn_table table = cairn_table(NULL, &json, false);
	cairn_table_rows(&table, "dumps", columns, NULL, listing->dumps, listing->count, sizeof *listing->dumps);
	cairn_json_end(&json);
}

static void write_process(const struct cairn_dump *dumps, size_t count, struct cairn_buffer *out)
{
	const struct cairn_dump *last = &dumps[count - 1];
	if (!last->process.pid)
		cairn_buffer_text(out, "\nunknown process\n");
	else if (last->marks & CAIRN_DUMP_ALIVE)
		cairn_buffer_format(out, "\nprocess %d, running\n", last->process.pid);
	else
		cairn_buffer_format(out, "\nprocess %d, %s\n", last->process.pid,
				    last->marks & CAIRN_DUMP_OOM ? "gone, its group ran out of memory" : "gone");
}

void cairn_listing_text(const struct cairn_listing *listing, const char *path, int utc_offset, struct cairn_buffer *out)
{
	struct cairn_table table = cairn_table(out, NULL, false);
	char size[24];
	cairn_utf8_show(out, cairn_bytes_of(path));
	cairn_buffer_format(out, ": %zu dump%s, %s", listing->count, listing->count == 1 ? "" : "s",
			    cairn_text_human((double)listing->bytes, size));
	if (listing->unreadable)
		cairn_buffer_format(out, "; no permission to read %zu file%s", listing->unreadable, listing->unreadable == 1 ? "" : "s");
	if (listing->of_others)
		cairn_buffer_format(out, "; %zu file%s of other users left out, since everybody can write to this folder",
				    listing->of_others, listing->of_others == 1 ? "" : "s");
	if (listing->damaged)
		cairn_buffer_format(out, "; cut short: %zu, %s", listing->damaged,
				    cairn_text_human((double)listing->damaged_bytes, size));
	cairn_buffer_byte(out, '\n');
	const struct cairn_dump *last = NULL;
	for (int i = 0; i < shown_last_moments && (last = next_last_moment(listing, last)); i++) {
		cairn_buffer_format(out, "%slast moment of process %d, ", i ? "" : "\n", last->process.pid);
		cairn_utf8_show(out, cairn_dump_ending(last));
		cairn_buffer_text(out, ": ");
		cairn_utf8_show(out, cairn_bytes_of(last->name));
		cairn_buffer_byte(out, '\n');
	}
	for (size_t i = 0, shown = 0; i < listing->count; i++) {
		const struct cairn_dump *dump = &listing->dumps[i];
		if (i == shown) {
			while (shown < listing->count && cairn_life_equal(&listing->dumps[shown].process, &dump->process))
				shown++;
			write_process(dump, shown - i, out);
		}
		cairn_table_row(&table, columns, &utc_offset, dump);
	}
}
