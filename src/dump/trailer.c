/* trailer.c - reads the lines of a trailer, each `# cairn KEY VALUE`.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/trailer.h"

#include "base/text.h"

#include <stddef.h>

static const char first_words[] = "# cairn trailer ";

/* This many bytes of something else may follow a trailer. */
enum { foreign_most = 4096 };

bool cairn_trailer_line(struct cairn_bytes line, struct cairn_bytes *key, struct cairn_bytes *value)
{
	if (!cairn_text_take(&line, "# cairn "))
		return false;
	const char *space = line.length ? memchr(line.data, ' ', line.length) : NULL;
	*key = (struct cairn_bytes){line.data, space ? (size_t)(space - line.data) : line.length};
	*value = cairn_bytes_skip(line, key->length + 1);
	return true;
}

/* Removes the next line of the trailer from REST; KEY and VALUE are its parts. */
static bool next_line(struct cairn_bytes *rest, struct cairn_bytes *key, struct cairn_bytes *value)
{
	struct cairn_bytes line;
	while (cairn_text_line(rest, &line, NULL))
		if (cairn_trailer_line(line, key, value))
			return true;
	return false;
}

/* The first line of the trailer, or NULL. The trailer is the last part of a dump, which may be large, so lines are searched from the end,
 * and only as far as they can belong to the trailer. */
static const char *find_start(struct cairn_bytes dump)
{
	const char *end = dump.data + dump.length;
	for (const char *line_end = end;;) {
		const char *before = line_end > dump.data ? memrchr(dump.data, '\n', (size_t)(line_end - dump.data)) : NULL;
		const char *line = before ? before + 1 : dump.data;
		size_t left = (size_t)(end - line);
		if (left >= sizeof first_words - 1 && memcmp(line, first_words, sizeof first_words - 1) == 0)
			return line;
		if (!before || (line < line_end && *line != '#' && left > foreign_most))
			return NULL;
		line_end = before;
	}
}

bool cairn_trailer_read(struct cairn_bytes dump, struct cairn_trailer *trailer)
{
	*trailer = (struct cairn_trailer){0};
	if (dump.length == 0)
		return false;
	const char *start = find_start(dump);
	if (!start)
		return false;
	trailer->text = cairn_bytes_skip(dump, (size_t)(start - dump.data));
	static const struct {
		const char *key;
		size_t offset;
	} texts[] = {
		{"version", offsetof(struct cairn_trailer, version)}, {"host", offsetof(struct cairn_trailer, host)},
		{"executable", offsetof(struct cairn_trailer, executable)}, {"command", offsetof(struct cairn_trailer, command)},
		{"service", offsetof(struct cairn_trailer, service)}, {"jemalloc", offsetof(struct cairn_trailer, jemalloc)},
		{"prefix", offsetof(struct cairn_trailer, prefix)},
	}, times[] = {
		{"time", offsetof(struct cairn_trailer, time_ns)}, {"start", offsetof(struct cairn_trailer, start_ns)},
		{"active_since", offsetof(struct cairn_trailer, active_since_ns)}, {"reset_at", offsetof(struct cairn_trailer, reset_ns)},
		{"uptime", offsetof(struct cairn_trailer, uptime_ns)},
	};
	struct cairn_bytes rest = trailer->text, key, value;
	while (next_line(&rest, &key, &value)) {
		for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
			if (cairn_bytes_equal(key, cairn_bytes_of(texts[i].key)))
				*(struct cairn_bytes *)(void *)((char *)trailer + texts[i].offset) = value;
		for (size_t i = 0; i < sizeof times / sizeof *times; i++)
			if (cairn_bytes_equal(key, cairn_bytes_of(times[i].key)))
				cairn_text_seconds(value, (int64_t *)(void *)((char *)trailer + times[i].offset));
		if (cairn_bytes_equal(key, cairn_bytes_of("end")))
			trailer->complete = true;
	}
	trailer->pid = (int)cairn_trailer_number(trailer, "pid");
	trailer->period = cairn_trailer_number(trailer, "period");
	return true;
}

bool cairn_trailer_next(const struct cairn_trailer *trailer, size_t *position, const char *name, struct cairn_bytes *value)
{
	struct cairn_bytes rest = cairn_bytes_skip(trailer->text, *position), key;
	while (next_line(&rest, &key, value)) {
		*position = trailer->text.length - rest.length;
		if (cairn_bytes_equal(key, cairn_bytes_of(name)))
			return true;
	}
	return false;
}

struct cairn_bytes cairn_trailer_value(const struct cairn_trailer *trailer, const char *name)
{
	size_t position = 0;
	struct cairn_bytes value;
	return cairn_trailer_next(trailer, &position, name, &value) ? value : (struct cairn_bytes){"", 0};
}

uint64_t cairn_trailer_number(const struct cairn_trailer *trailer, const char *key)
{
	uint64_t number;
	struct cairn_bytes value = cairn_trailer_value(trailer, key);
	return cairn_text_decimal(&value, &number) && value.length == 0 ? number : 0;
}

static bool next_module(const struct cairn_trailer *trailer, const char *key, size_t *position, struct cairn_trailer_module *module)
{
	struct cairn_bytes value;
	while (cairn_trailer_next(trailer, position, key, &value)) {
		if (!cairn_text_hex(&value, &module->start) || !cairn_text_take(&value, "-") || !cairn_text_hex(&value, &module->end) ||
		    !cairn_text_take(&value, " ") || !cairn_text_hex(&value, &module->offset) || !cairn_text_take(&value, " "))
			continue;
		const char *space = value.length ? memchr(value.data, ' ', value.length) : NULL;
		if (!space)
			continue;
		module->build_id = (struct cairn_bytes){value.data, (size_t)(space - value.data)};
		if (cairn_bytes_equal(module->build_id, cairn_bytes_of("-")))
			module->build_id.length = 0;
		module->path = cairn_bytes_skip(value, (size_t)(space - value.data) + 1);
		return true;
	}
	return false;
}

bool cairn_trailer_next_module(const struct cairn_trailer *trailer, size_t *position, struct cairn_trailer_module *module)
{
	return next_module(trailer, "module", position, module);
}

bool cairn_trailer_next_unloaded(const struct cairn_trailer *trailer, size_t *position, struct cairn_trailer_module *module)
{
	return next_module(trailer, "unloaded", position, module);
}
