/* own_dumps.c - finding them in a folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/watch/own_dumps.h"

#include "base/file.h"
#include "base/path.h"
#include "dump/name.h"
#include "live/malloc_conf.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { path_size = 4096 };

struct own_dumps {
	size_t count;
	char last[path_size]; /* the path of the one with the highest number */
};

/* Those of process PID whose names begin with PREFIX, which may have a folder. */
static void find(const char *prefix, pid_t pid, struct own_dumps *dumps)
{
	char folder[path_size];
	uint64_t last = 0;
	size_t length = cairn_path_folder(prefix);
	snprintf(folder, sizeof folder, "%.*s", length ? (int)length : 1, length ? prefix : ".");
	struct cairn_bytes wanted = cairn_bytes_of(prefix + length);
	*dumps = (struct own_dumps){0};
	DIR *entries = opendir(folder);
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		struct cairn_dump_name name;
		if (!cairn_dump_name_parse(entry->d_name, &name) || name.process_id != (uint64_t)pid ||
		    !cairn_bytes_equal(name.prefix, wanted))
			continue;
		if (dumps->count++ == 0 || name.sequence > last) {
			last = name.sequence;
			snprintf(dumps->last, sizeof dumps->last, "%.3800s%.255s", length ? folder : "", entry->d_name);
		}
	}
	if (entries)
		closedir(entries);
}

/* The value of prof_prefix in the …MALLOC_CONF of process PID; `jeprof` if it has none. */
static void read_prefix(pid_t pid, char *out, size_t size)
{
	static const char name[] = "MALLOC_CONF=";
	struct cairn_file file;
	struct cairn_arena arena = {0};
	struct cairn_malloc_conf conf = {.arena = &arena};
	snprintf(out, size, "jeprof");
	bool readable = cairn_file_read(&file, cairn_arena_format(&arena, "/proc/%d/environ", pid), NULL);
	for (struct cairn_bytes rest = readable ? file.bytes : (struct cairn_bytes){"", 0}; rest.length > 0;) {
		struct cairn_bytes variable = {rest.data, strnlen(rest.data, rest.length)};
		rest = cairn_bytes_skip(rest, variable.length + 1);
		const char *at = variable.length ? memmem(variable.data, variable.length, name, sizeof name - 1) : NULL;
		size_t before = at ? (size_t)(at - variable.data) + sizeof name - 1 : variable.length;
		cairn_malloc_conf_add(&conf, cairn_arena_text(&arena, cairn_bytes_skip(variable, before)));
	}
	if (cairn_malloc_conf_get(&conf, "prof_prefix"))
		snprintf(out, size, "%s", cairn_malloc_conf_get(&conf, "prof_prefix"));
	cairn_arena_free(&arena);
	if (readable)
		cairn_file_close(&file);
}

void cairn_own_dumps_mention(pid_t pid, struct cairn_error *error)
{
	char prefix[1024], path[path_size], text[sizeof error->text];
	struct own_dumps dumps;
	read_prefix(pid, prefix, sizeof prefix);
	/* The path as the process sees it: relative to its folder, in its view of the file system. */
	snprintf(path, sizeof path, prefix[0] == '/' ? "/proc/%d/root%s" : "/proc/%d/cwd/%s", pid, prefix);
	find(path, pid, &dumps);
	if (dumps.count == 0)
		return;
	char folder[path_size], *name = dumps.last + cairn_path_folder(dumps.last);
	name[-1] = 0;
	ssize_t length = readlink(dumps.last, folder, sizeof folder - 1);
	snprintf(text, sizeof text, "%s", error->text);
	cairn_fail(error, "%s (jemalloc itself has written %zu dump%s for it, the last is %.*s/%s)", text, dumps.count,
		   dumps.count == 1 ? "" : "s", length > 0 ? (int)length : (int)strlen(dumps.last), length > 0 ? folder : dumps.last,
		   name);
}
