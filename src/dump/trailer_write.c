/* trailer_write.c - writes the lines of a trailer, each `# cairn KEY VALUE`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/trailer_write.h"

#include "base/peek.h"
#include "base/time.h"

#include <stdarg.h>
#include <stdio.h>

static const char last_line[] = "# cairn end\n";

void cairn_trailer_write_first(struct cairn_buffer *out)
{
	cairn_buffer_text(out, "# cairn trailer 1\n");
}

void cairn_trailer_write_last(struct cairn_buffer *out)
{
	cairn_buffer_text(out, last_line);
}

bool cairn_trailer_take_last(struct cairn_bytes *dump)
{
	size_t length = sizeof last_line - 1;
	bool found = dump->length > length && memcmp(dump->data + dump->length - length, last_line, length) == 0;
	if (found)
		dump->length -= length;
	return found;
}

void cairn_trailer_write_text(struct cairn_buffer *out, const char *key, const char *value)
{
	cairn_buffer_format(out, "# cairn %s ", key);
	for (; *value; value++)
		cairn_buffer_byte(out, (unsigned char)*value < ' ' ? ' ' : *value);
	cairn_buffer_byte(out, '\n');
}

void cairn_trailer_write_number(struct cairn_buffer *out, const char *key, uint64_t value)
{
	cairn_buffer_format(out, "# cairn %s %llu\n", key, (unsigned long long)value);
}

void cairn_trailer_write_time(struct cairn_buffer *out, const char *key, int64_t ns)
{
	cairn_buffer_format(out, "# cairn %s %lld.%09lld\n", key, (long long)(ns / CAIRN_SECOND_NS), (long long)(ns % CAIRN_SECOND_NS));
}

void cairn_trailer_write_format(struct cairn_buffer *out, const char *key, const char *format, ...)
{
	char value[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(value, sizeof value, format, arguments);
	va_end(arguments);
	cairn_trailer_write_text(out, key, value);
}

/* Writes PATH to the end of the line. */
static void write_path(struct cairn_buffer *out, struct cairn_bytes path)
{
	for (size_t i = 0; i < path.length; i++)
		if ((unsigned char)path.data[i] < ' ' || path.data[i] == 127)
			cairn_buffer_format(out, "\\%03o", (unsigned char)path.data[i]);
		else
			cairn_buffer_byte(out, path.data[i]);
	cairn_buffer_byte(out, '\n');
}

void cairn_trailer_write_range(struct cairn_buffer *out, const char *key, const struct cairn_trailer_range *range)
{
	cairn_buffer_format(out, "# cairn %s %llx-%llx %llx ", key, (unsigned long long)range->start, (unsigned long long)range->end,
			    (unsigned long long)range->offset);
	for (size_t i = 0; i < range->id.length; i++)
		cairn_buffer_format(out, "%02x", (unsigned char)range->id.data[i]);
	cairn_buffer_text(out, range->id.length ? " " : "- ");
	write_path(out, range->path);
}

void cairn_trailer_write_map(struct cairn_buffer *out, const struct cairn_trailer_range *range)
{
	cairn_buffer_format(out, "%llx-%llx r-xp %08llx 00:00 0 ", (unsigned long long)range->start, (unsigned long long)range->end,
			    (unsigned long long)range->offset);
	write_path(out, range->path);
}

void cairn_trailer_write_limit(struct cairn_buffer *out, const struct cairn_memory *memory, const struct cairn_memory_reading *reading)
{
	if (reading->limit)
		cairn_trailer_write_number(out, "limit", reading->limit);
	if (reading->host_available)
		cairn_trailer_write_number(out, "available", reading->host_available);
	if (memory && memory->group[0]) {
		cairn_trailer_write_text(out, "group", memory->group);
		cairn_trailer_write_number(out, "group.oom_kill", reading->events.oom_kill);
	}
	if (!reading->limit_of_group)
		return;
	cairn_trailer_write_number(out, "group.usage", reading->usage);
	if (memory)
		cairn_trailer_write_number(out, "group.cache", cairn_memory_cache(memory));
}

/* In brackets: "always [madvise] never". */
void cairn_trailer_write_huge_pages(struct cairn_buffer *out)
{
	char text[256];
	struct cairn_bytes all = cairn_peek("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text);
	const char *open = all.length ? memchr(all.data, '[', all.length) : NULL;
	const char *close = open ? memchr(open, ']', all.length - (size_t)(open - all.data)) : NULL;
	if (close)
		cairn_trailer_write_format(out, "huge_pages", "%.*s", (int)(close - open - 1), open + 1);
}
