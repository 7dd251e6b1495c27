/* spool.c - files named by time and number, written whole or not at all.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/collect/spool.h"

#include "base/array.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/text.h"
#include "process/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ending[] = ".snapshot";

static bool is_ours(const char *name)
{
	size_t length = strlen(name), tail = sizeof ending - 1;
	return length > tail && name[0] != '.' && strcmp(name + length - tail, ending) == 0;
}

/* Calls VISIT with each file of the folder. */
static void walk(const struct cairn_spool *spool, void (*visit)(void *context, const char *name), void *context)
{
	int folder = openat(spool->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = folder >= 0 ? fdopendir(folder) : NULL;
	if (!entries) {
		if (folder >= 0)
			close(folder);
		return;
	}
	for (struct dirent *entry; (entry = readdir(entries));)
		if (is_ours(entry->d_name))
			visit(context, entry->d_name);
	closedir(entries);
}

static void count_file(void *context, const char *name)
{
	struct cairn_spool *spool = context;
	struct stat status;
	if (fstatat(spool->folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
		return;
	spool->files++;
	spool->bytes += (uint64_t)status.st_size;
}

bool cairn_spool_open(struct cairn_spool *spool, const char *path, uint64_t limit, struct cairn_error *error)
{
	*spool = (struct cairn_spool){.folder = -1, .path = path, .limit = limit};
	if (!cairn_folder_make(path))
		return cairn_fail_errno(error, "%s: cannot be used as the folder for what waits (--spool)", path);
	spool->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (spool->folder < 0)
		return cairn_fail_errno(error, "%s", path);
	if (flock(spool->folder, LOCK_EX | LOCK_NB) != 0) {
		cairn_spool_close(spool);
		return cairn_fail(error, "%s: another collector uses this folder; --spool names another", path);
	}
	walk(spool, count_file, spool);
	return true;
}

void cairn_spool_close(struct cairn_spool *spool)
{
	if (spool->folder >= 0)
		close(spool->folder);
	spool->folder = -1;
}

bool cairn_spool_has_room(const struct cairn_spool *spool, size_t length)
{
	return spool->bytes + length <= spool->limit;
}

static bool write_part(int file, struct cairn_bytes bytes)
{
	return cairn_descriptor_write_all(file, &bytes);
}

bool cairn_spool_write(struct cairn_spool *spool, struct cairn_bytes query, struct cairn_bytes tenant, struct cairn_bytes body,
		       struct cairn_error *error)
{
	char name[64], draft[72];
	static const struct cairn_bytes line_end = {"\n", 1};
	snprintf(name, sizeof name, "%020lld-%08x%s", (long long)cairn_clock_wall_ns(), atomic_fetch_add(&spool->number, 1), ending);
	snprintf(draft, sizeof draft, ".%s", name);
	int file = openat(spool->folder, draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (file < 0)
		return cairn_fail_errno(error, "%s/%s", spool->path, draft);
	bool good = write_part(file, query) && write_part(file, line_end) && write_part(file, tenant) && write_part(file, line_end) &&
		    write_part(file, body) && fsync(file) == 0;
	good = close(file) == 0 && good;
	good = good && renameat(spool->folder, draft, spool->folder, name) == 0 && fsync(spool->folder) == 0;
	if (!good) {
		cairn_fail_errno(error, "%s/%s", spool->path, name);
		unlinkat(spool->folder, draft, 0);
		return false;
	}
	spool->files++;
	spool->bytes += query.length + tenant.length + body.length + 2;
	return true;
}

struct listing {
	struct cairn_arena *arena;
	const char **names;
	size_t count, capacity;
};

static void list_file(void *context, const char *name)
{
	struct listing *listing = context;
	cairn_array_room(listing->names, listing->count, listing->capacity);
	listing->names[listing->count++] = cairn_arena_text(listing->arena, cairn_bytes_of(name));
}

static int compare_names(const void *a, const void *b)
{
	const char *const *one = a, *const *other = b;
	return strcmp(*one, *other);
}

size_t cairn_spool_list(const struct cairn_spool *spool, struct cairn_arena *arena, const char **names, size_t most)
{
	struct listing listing = {.arena = arena};
	walk(spool, list_file, &listing);
	if (listing.count > 0)
		qsort(listing.names, listing.count, sizeof *listing.names, compare_names);
	size_t count = listing.count < most ? listing.count : most;
	for (size_t i = 0; i < count; i++)
		names[i] = listing.names[i];
	free(listing.names);
	return count;
}

void cairn_spool_remove(struct cairn_spool *spool, const char *name)
{
	struct stat status;
	if (fstatat(spool->folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && unlinkat(spool->folder, name, 0) == 0) {
		spool->files--;
		spool->bytes -= (uint64_t)status.st_size < spool->bytes ? (uint64_t)status.st_size : spool->bytes;
	}
}

bool cairn_spool_parse(struct cairn_bytes text, struct cairn_bytes *query, struct cairn_bytes *tenant, struct cairn_bytes *body)
{
	bool whole = cairn_text_line(&text, query, NULL) && cairn_text_line(&text, tenant, NULL);
	*body = text;
	return whole;
}
