/* dump.c - scans a dump file, and reads and writes the lines of the index.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/dump.h"

#include "base/hash.h"
#include "base/pages.h"
#include "base/text.h"
#include "base/time.h"
#include "dump/counts.h"
#include "dump/name.h"
#include "dump/trailer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { piece_size = 64 << 10, settle_ns = CAIRN_SECOND_NS };
static const int64_t damaged_after_ns = 600 * CAIRN_SECOND_NS;

bool cairn_dump_is_name(const char *name)
{
	size_t length = strlen(name);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)name[i] < ' ' || name[i] == 127 || name[i] == '/')
			return false;
	return length > 0 && length < sizeof((struct cairn_dump *)0)->name && name[0] != '.';
}

static bool copy_text(struct cairn_bytes text, char *out, size_t size)
{
	if (text.length >= size || (text.length && memchr(text.data, 0, text.length)))
		return false;
	memcpy(out, text.data, text.length);
	out[text.length] = 0;
	return true;
}

/* The parts of the file seen so far. */
struct scan {
	struct cairn_dump *dump;
	char *group; /* receives the control group's folder; NULL if not wanted */
	size_t group_size;
	unsigned line;
	bool maps, trailer, complete;
};

/* Truncates TEXT if necessary, and removes anything that could end a line of the index. */
static void set_reason(struct cairn_dump *dump, struct cairn_bytes text)
{
	size_t length = text.length < sizeof dump->reason ? text.length : sizeof dump->reason - 1;
	for (size_t i = 0; i < length; i++)
		dump->reason[i] = (unsigned char)text.data[i] < ' ' ? ' ' : text.data[i];
	dump->reason[length] = 0;
}

static bool is(struct cairn_bytes key, const char *wanted)
{
	return cairn_bytes_equal(key, cairn_bytes_of(wanted));
}

static void see_group(struct scan *scan, struct cairn_bytes path)
{
	scan->dump->group = cairn_hash_text(path);
	if (scan->group && !copy_text(path, scan->group, scan->group_size))
		scan->group[0] = 0;
}

static void see_trailer(struct scan *scan, struct cairn_bytes key, struct cairn_bytes value)
{
	struct cairn_dump *dump = scan->dump;
	uint64_t number = 0;
	bool numeric = cairn_text_decimal(&(struct cairn_bytes){value.data, value.length}, &number);
	if (is(key, "trailer"))
		scan->trailer = true;
	else if (is(key, "end"))
		scan->complete = scan->trailer;
	else if (is(key, "time"))
		cairn_text_seconds(value, &dump->time_ns);
	else if (is(key, "uptime"))
		cairn_text_seconds(value, &dump->uptime_ns);
	else if (is(key, "pid") && numeric && number <= INT32_MAX && !dump->process.ticks)
		dump->process = (struct cairn_life){.pid = (int)number};
	else if (is(key, "process"))
		cairn_life_parse(value, &dump->process);
	else if ((is(key, "smaps.anonymous") || is(key, "memory")) && numeric)
		dump->memory = number;
	else if (is(key, "group.oom_kill") && numeric)
		dump->kills = number;
	else if (is(key, "group"))
		see_group(scan, value);
	else if (is(key, "reason"))
		set_reason(dump, value);
}

static void see_line(struct scan *scan, struct cairn_bytes line)
{
	unsigned number = scan->line++;
	struct cairn_bytes key, value;
	struct cairn_counts counts;
	if (line.length == 0)
		return;
	if (number > 0 && number < 3 && !scan->dump->sampled && cairn_counts_read(line, &counts) && counts.is_all)
		scan->dump->sampled = counts.numbers[1];
	if (line.data[0] == 'M' && cairn_text_take(&line, "MAPPED_LIBRARIES:"))
		scan->maps = true;
	else if (line.data[0] == '#' && cairn_trailer_line(line, &key, &value))
		see_trailer(scan, key, value);
}

/* Reads the file line by line; only the start of a line longer than a piece. Returns false if the file does not end with a line end. */
static bool scan_lines(struct scan *scan, int descriptor, char *piece)
{
	size_t kept = 0;
	bool inside = false; /* the rest of a line whose start was seen */
	off_t at = 0;
	char last = 0;
	for (;;) {
		ssize_t length = pread(descriptor, piece + kept, piece_size - kept, at);
		if (length < 0 && errno == EINTR)
			continue;
		if (length <= 0)
			break;
		at += length;
		struct cairn_bytes rest = {piece, kept + (size_t)length};
		last = piece[rest.length - 1];
		for (const char *end; (end = rest.length ? memchr(rest.data, '\n', rest.length) : NULL);) {
			struct cairn_bytes line = {rest.data, (size_t)(end - rest.data)};
			rest = cairn_bytes_skip(rest, line.length + 1);
			if (!inside)
				see_line(scan, line);
			inside = false;
		}
		if (rest.length == piece_size) {
			if (!inside)
				see_line(scan, rest);
			inside = true;
			rest.length = 0;
		}
		kept = rest.length;
		memmove(piece, rest.data, kept);
	}
	return last == '\n';
}

/* Takes the process and the reason from a name that jemalloc gave. */
static void read_name(struct cairn_dump *dump)
{
	struct cairn_dump_name name;
	if (!cairn_dump_name_parse(dump->name, &name) || name.process_id > INT32_MAX)
		return;
	dump->process = (struct cairn_life){.pid = (int)name.process_id};
	set_reason(dump, cairn_bytes_of(cairn_dump_name_occasion(name.kind)));
}

bool cairn_dump_is_last_moment(const struct cairn_dump *dump)
{
	return strncmp(dump->reason, CAIRN_DUMP_LAST ":", sizeof CAIRN_DUMP_LAST) == 0;
}

struct cairn_bytes cairn_dump_ending(const struct cairn_dump *dump)
{
	return cairn_text_trim(cairn_bytes_skip(cairn_bytes_of(dump->reason), sizeof CAIRN_DUMP_LAST));
}

bool cairn_dump_is_heap(int descriptor)
{
	char start[8];
	struct stat status;
	return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && pread(descriptor, start, sizeof start, 0) == sizeof start &&
	       memcmp(start, "heap_v2/", sizeof start) == 0;
}

static bool scan_file(struct scan *scan, int descriptor)
{
	char *piece = cairn_pages_map(piece_size);
	bool ended = piece && scan_lines(scan, descriptor, piece);
	cairn_pages_unmap(piece, piece_size);
	return ended;
}

static bool is_complete(const struct scan *scan, int64_t now_ns)
{
	int64_t modified_ns = scan->dump->modified_ns;
	bool settled = now_ns - modified_ns > settle_ns || now_ns < modified_ns;
	return scan->trailer ? scan->complete : scan->maps && settled;
}

bool cairn_dump_scan(int descriptor, int64_t now_ns, struct cairn_dump *dump)
{
	struct scan scan = {.dump = dump};
	dump->process = (struct cairn_life){0};
	dump->time_ns = dump->modified_ns;
	dump->uptime_ns = 0;
	dump->memory = dump->sampled = dump->group = dump->kills = 0;
	dump->reason[0] = 0;
	read_name(dump);
	if (!cairn_dump_is_heap(descriptor))
		return false;
	if (scan_file(&scan, descriptor) && is_complete(&scan, now_ns))
		return true;
	if (now_ns - dump->modified_ns <= damaged_after_ns)
		return false;
	dump->marks |= CAIRN_DUMP_DAMAGED;
	return true;
}

bool cairn_dump_find_group(int descriptor, char *out, size_t size)
{
	struct cairn_dump dump = {0};
	out[0] = 0;
	return cairn_dump_is_heap(descriptor) && scan_file(&(struct scan){.dump = &dump, .group = out, .group_size = size}, descriptor) &&
	       out[0];
}

void cairn_dump_write_line(const struct cairn_dump *dump, struct cairn_buffer *out)
{
	enum { numbers = 9, digits = 21, rest = 4 };
	static_assert(sizeof dump->name + sizeof dump->reason + CAIRN_LIFE_TEXT + numbers * digits + rest <= 640, "a line holds any dump");
	char line[640], life[CAIRN_LIFE_TEXT];
	int length = snprintf(line, sizeof line, "%s\t%llu\t%lld\t%lld\t%lld\t%s\t%llu\t%llu\t%llu\t%llu\t%d\t%s", dump->name,
			      (unsigned long long)dump->size, (long long)dump->modified_ns, (long long)dump->time_ns,
			      (long long)dump->uptime_ns, cairn_life_text(&dump->process, life), (unsigned long long)dump->memory,
			      (unsigned long long)dump->sampled, (unsigned long long)dump->group, (unsigned long long)dump->kills,
			      (dump->marks & CAIRN_DUMP_DAMAGED) != 0, dump->reason);
	if (length > 0 && (size_t)length < sizeof line)
		cairn_buffer_format(out, "%016llx\t%s\n", (unsigned long long)cairn_hash_text((struct cairn_bytes){line, (size_t)length}),
				    line);
}

static bool take_number(struct cairn_bytes *rest, uint64_t most, uint64_t *value)
{
	struct cairn_bytes field = cairn_text_field(rest, '\t');
	return cairn_text_decimal(&field, value) && field.length == 0 && *value <= most;
}

bool cairn_dump_read_line(struct cairn_bytes line, struct cairn_dump *dump)
{
	uint64_t sum, modified, time, uptime, damaged;
	struct cairn_bytes field = cairn_text_field(&line, '\t');
	*dump = (struct cairn_dump){0};
	if (field.length != 16 || !cairn_text_hex(&field, &sum) || field.length > 0 || sum != cairn_hash_text(line))
		return false;
	if (!copy_text(cairn_text_field(&line, '\t'), dump->name, sizeof dump->name) || !cairn_dump_is_name(dump->name) ||
	    !take_number(&line, UINT64_MAX, &dump->size) || !take_number(&line, INT64_MAX, &modified) ||
	    !take_number(&line, INT64_MAX, &time) || !take_number(&line, INT64_MAX, &uptime) ||
	    !cairn_life_parse(cairn_text_field(&line, '\t'), &dump->process) || !take_number(&line, UINT64_MAX, &dump->memory) ||
	    !take_number(&line, UINT64_MAX, &dump->sampled) || !take_number(&line, UINT64_MAX, &dump->group) ||
	    !take_number(&line, UINT64_MAX, &dump->kills) || !take_number(&line, 1, &damaged))
		return false;
	dump->marks = damaged ? CAIRN_DUMP_DAMAGED : 0;
	dump->modified_ns = (int64_t)modified;
	dump->time_ns = (int64_t)time;
	dump->uptime_ns = (int64_t)uptime;
	return copy_text(line, dump->reason, sizeof dump->reason);
}
