/* spool.c - files named by time and number, each written completely or not at all.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/spool.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/note.h"
#include "base/text.h"
#include "process/clock.h"
#include "store/snapshot.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char ending[] = ".snapshot", attempts_name[] = ".attempts", attempts_draft[] = ".attempts.draft", refused_name[] = ".refused";
enum { refused_most = 16 }; /* files kept for examination */

static bool is_ours(const char *name)
{
	size_t length = strlen(name), tail = sizeof ending - 1;
	return length > tail && name[0] != '.' && strcmp(name + length - tail, ending) == 0;
}

/* Calls VISIT with each file of the folder for which IS_WANTED returns true. */
static void walk(const struct cairn_spool *spool, bool (*is_wanted)(const char *name), void (*visit)(void *context, const char *name),
		 void *context)
{
	int folder = openat(spool->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = folder >= 0 ? fdopendir(folder) : NULL;
	if (!entries) {
		if (folder >= 0)
			close(folder);
		return;
	}
	for (struct dirent *entry; (entry = readdir(entries));)
		if (is_wanted(entry->d_name))
			visit(context, entry->d_name);
	closedir(entries);
}

/* A file that was being written when the collector was killed. */
static bool is_draft(const char *name)
{
	return name[0] == '.' && is_ours(name + 1);
}

static void remove_draft(void *context, const char *name)
{
	struct cairn_spool *spool = context;
	unlinkat(spool->folder, name, 0);
}

/* The number of the tenant of a file, which is the last part of its name; 0 if it has none. */
static uint64_t tenant_of(const char *name)
{
	unsigned long long tenant = 0;
	sscanf(name, "%*u-%*x-%16llx", &tenant);
	return tenant;
}

/* What TENANT has in the spool. The lock is held. */
static uint64_t *part_of(struct cairn_spool *spool, uint64_t tenant)
{
	assert(cairn_lock_is_held(&spool->lock));
	for (size_t i = 0; i < spool->part_count; i++)
		if (spool->parts[i].tenant == tenant)
			return &spool->parts[i].bytes;
	cairn_array_room(spool->parts, spool->part_count, spool->part_capacity);
	spool->parts[spool->part_count] = (struct cairn_spool_part){.tenant = tenant};
	return &spool->parts[spool->part_count++].bytes;
}

/* Counts the file NAME of SIZE bytes. */
static void count(struct cairn_spool *spool, const char *name, uint64_t size)
{
	pthread_mutex_lock(&spool->lock);
	*part_of(spool, tenant_of(name)) += size;
	pthread_mutex_unlock(&spool->lock);
	spool->files++;
	spool->bytes += size;
}

static void uncount(struct cairn_spool *spool, const char *name, uint64_t size)
{
	pthread_mutex_lock(&spool->lock);
	uint64_t *part = part_of(spool, tenant_of(name));
	*part -= size < *part ? size : *part;
	pthread_mutex_unlock(&spool->lock);
	spool->files--;
	spool->bytes -= size < spool->bytes ? size : spool->bytes;
}

static void count_file(void *context, const char *name)
{
	struct cairn_spool *spool = context;
	struct stat status;
	if (fstatat(spool->folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0)
		count(spool, name, (uint64_t)status.st_size);
}

static bool write_part(int file, struct cairn_bytes bytes)
{
	return cairn_descriptor_write_all(file, &bytes);
}

static struct cairn_spool_attempt *find_attempt(const struct cairn_spool *spool, const char *name)
{
	for (size_t i = 0; i < spool->attempt_count; i++)
		if (strcmp(spool->attempts[i].name, name) == 0)
			return &spool->attempts[i];
	return NULL;
}

static void drop_attempt(struct cairn_spool *spool, struct cairn_spool_attempt *attempt)
{
	*attempt = spool->attempts[--spool->attempt_count];
}

/* Reads the attempts that an earlier collector noted: lines of a count and a name. */
static void read_attempts(struct cairn_spool *spool)
{
	char path[4096];
	struct cairn_file file;
	struct cairn_bytes rest, line;
	snprintf(path, sizeof path, "%s/%s", spool->path, attempts_name);
	if (!cairn_file_map(&file, path, NULL))
		return;
	rest = file.bytes;
	while (cairn_text_line(&rest, &line, NULL)) {
		struct cairn_spool_attempt attempt = {0};
		struct stat status;
		uint64_t count;
		if (!cairn_text_decimal(&line, &count) || !cairn_text_take(&line, " ") || line.length >= sizeof attempt.name)
			continue;
		memcpy(attempt.name, line.data, line.length);
		attempt.count = count < CAIRN_SPOOL_ATTEMPTS ? (unsigned)count : CAIRN_SPOOL_ATTEMPTS;
		if (!is_ours(attempt.name) || fstatat(spool->folder, attempt.name, &status, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		cairn_array_room(spool->attempts, spool->attempt_count, spool->attempt_capacity);
		spool->attempts[spool->attempt_count++] = attempt;
	}
	cairn_file_close(&file);
}

/* Writes all attempts to disk, with one more for each of NAMES. */
static void write_attempts(const struct cairn_spool *spool, const char *const *names, size_t count)
{
	struct cairn_buffer text = cairn_buffer(1 << 20);
	for (size_t i = 0; i < spool->attempt_count; i++) {
		bool now = false;
		for (size_t k = 0; k < count && !now; k++)
			now = strcmp(names[k], spool->attempts[i].name) == 0;
		if (!now)
			cairn_buffer_format(&text, "%u %s\n", spool->attempts[i].count, spool->attempts[i].name);
	}
	for (size_t k = 0; k < count; k++) {
		const struct cairn_spool_attempt *earlier = find_attempt(spool, names[k]);
		cairn_buffer_format(&text, "%u %s\n", earlier ? earlier->count + 1 : 1, names[k]);
	}
	int file = openat(spool->folder, attempts_draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	bool good = file >= 0 && write_part(file, cairn_buffer_bytes(&text)) && fsync(file) == 0;
	if (file >= 0)
		close(file);
	if (good && renameat(spool->folder, attempts_draft, spool->folder, attempts_name) == 0)
		fsync(spool->folder);
	cairn_buffer_free(&text);
}

void cairn_spool_begin(struct cairn_spool *spool, const char *const *names, size_t count)
{
	if (count > 0)
		write_attempts(spool, names, count);
}

void cairn_spool_pause(struct cairn_spool *spool)
{
	if (spool->attempt_count > 0)
		write_attempts(spool, NULL, 0);
	else
		unlinkat(spool->folder, attempts_name, 0);
}

void cairn_spool_end(struct cairn_spool *spool, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct cairn_spool_attempt *attempt = find_attempt(spool, names[i]);
		if (attempt)
			drop_attempt(spool, attempt);
	}
	cairn_spool_pause(spool);
}

/* Makes room for one more file in `.refused` by removing the oldest if it is full. */
static void thin_refused(const struct cairn_spool *spool)
{
	int folder = openat(spool->folder, refused_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = folder >= 0 ? fdopendir(folder) : NULL;
	char oldest[CAIRN_SPOOL_NAME] = "";
	size_t count = 0;
	if (!entries) {
		if (folder >= 0)
			close(folder);
		return;
	}
	for (struct dirent *entry; (entry = readdir(entries));) {
		if (!is_ours(entry->d_name) || strlen(entry->d_name) >= sizeof oldest)
			continue;
		if (count++ == 0 || strcmp(entry->d_name, oldest) < 0)
			strcpy(oldest, entry->d_name);
	}
	if (count >= refused_most)
		unlinkat(folder, oldest, 0);
	closedir(entries);
}

/* Sets aside the files that were attempted too often. */
static void set_aside_killers(struct cairn_spool *spool)
{
	char target[CAIRN_SPOOL_NAME + 16];
	for (size_t i = spool->attempt_count; i-- > 0;) {
		struct cairn_spool_attempt attempt = spool->attempts[i];
		struct stat status;
		if (attempt.count < CAIRN_SPOOL_ATTEMPTS || fstatat(spool->folder, attempt.name, &status, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		mkdirat(spool->folder, refused_name, 0700);
		thin_refused(spool);
		snprintf(target, sizeof target, "%s/%s", refused_name, attempt.name);
		if (renameat(spool->folder, attempt.name, spool->folder, target) != 0 && unlinkat(spool->folder, attempt.name, 0) != 0)
			continue;
		uncount(spool, attempt.name, (uint64_t)status.st_size);
		spool->set_aside++;
		drop_attempt(spool, &spool->attempts[i]);
		cairn_note("%s/%s crashed the collector %d times, so it is set aside in %s/%s", spool->path, attempt.name,
			   CAIRN_SPOOL_ATTEMPTS, spool->path, refused_name);
	}
	if (spool->set_aside > 0)
		write_attempts(spool, NULL, 0);
}

bool cairn_spool_open(struct cairn_spool *spool, const char *path, uint64_t limit, struct cairn_error *error)
{
	*spool = (struct cairn_spool){.folder = -1, .path = path, .limit = limit, .lock = PTHREAD_MUTEX_INITIALIZER};
	if (!cairn_folder_make(path))
		return cairn_fail_errno(error, "%s: cannot be used as the spool folder (--spool)", path);
	spool->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (spool->folder < 0)
		return cairn_fail_errno(error, "%s", path);
	if (flock(spool->folder, LOCK_EX | LOCK_NB) != 0) {
		cairn_spool_close(spool);
		return cairn_fail(error, "%s: another collector uses this folder; --spool names another", path);
	}
	walk(spool, is_draft, remove_draft, spool);
	walk(spool, is_ours, count_file, spool);
	read_attempts(spool);
	set_aside_killers(spool);
	return true;
}

void cairn_spool_close(struct cairn_spool *spool)
{
	free(spool->attempts);
	spool->attempts = NULL;
	spool->attempt_count = spool->attempt_capacity = 0;
	free(spool->parts);
	spool->parts = NULL;
	spool->part_count = spool->part_capacity = 0;
	if (spool->folder >= 0)
		close(spool->folder);
	spool->folder = -1;
}

enum cairn_spool_room cairn_spool_room(struct cairn_spool *spool, struct cairn_bytes tenant, size_t length)
{
	uint64_t used = spool->bytes + length;
	if (used > spool->limit)
		return CAIRN_SPOOL_FULL;
	if (!spool->shared)
		return CAIRN_SPOOL_FITS;
	pthread_mutex_lock(&spool->lock);
	uint64_t own = *part_of(spool, cairn_store_tenant(tenant)) + length;
	pthread_mutex_unlock(&spool->lock);
	return own > spool->limit - used ? CAIRN_SPOOL_SHARE : CAIRN_SPOOL_FITS;
}

bool cairn_spool_write(struct cairn_spool *spool, struct cairn_bytes query, struct cairn_bytes tenant, struct cairn_bytes body,
		       struct cairn_error *error)
{
	char name[64], draft[72];
	static const struct cairn_bytes line_end = {"\n", 1};
	snprintf(name, sizeof name, "%020lld-%08x-%016llx%s", (long long)cairn_clock_wall_ns(), atomic_fetch_add(&spool->number, 1),
		 (unsigned long long)cairn_store_tenant(tenant), ending);
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
	count(spool, name, query.length + tenant.length + body.length + 2);
	return true;
}

struct listing {
	struct cairn_arena *arena;
	struct listed {
		const char *name;
		uint32_t turn; /* how many files of its tenant are before it */
	} *files;
	size_t count, capacity;
};

static void list_file(void *context, const char *name)
{
	struct listing *listing = context;
	cairn_array_room(listing->files, listing->count, listing->capacity);
	listing->files[listing->count++] = (struct listed){.name = cairn_arena_text(listing->arena, cairn_bytes_of(name))};
}

static int compare_files(const void *a, const void *b)
{
	const struct listed *one = a, *other = b;
	return one->turn != other->turn ? (one->turn > other->turn) - (one->turn < other->turn) : strcmp(one->name, other->name);
}

/* Sorts the files by their arrival, and so that the tenants take turns. */
static void sort_files(struct listing *listing)
{
	struct cairn_map counts = {0};
	if (listing->count > 0)
		qsort(listing->files, listing->count, sizeof *listing->files, compare_files);
	for (size_t i = 0; i < listing->count; i++) {
		uint32_t *turn = cairn_map_at(&counts, tenant_of(listing->files[i].name));
		listing->files[i].turn = ++*turn; /* from CAIRN_NONE on */
	}
	if (listing->count > 0)
		qsort(listing->files, listing->count, sizeof *listing->files, compare_files);
	cairn_map_free(&counts);
}

size_t cairn_spool_list(const struct cairn_spool *spool, struct cairn_arena *arena, const char **names, size_t most)
{
	struct listing listing = {.arena = arena};
	walk(spool, is_ours, list_file, &listing);
	sort_files(&listing);
	size_t count = listing.count < most ? listing.count : most;
	size_t taken = 0;
	while (taken < count && (taken == 0 || !find_attempt(spool, listing.files[taken].name))) {
		names[taken] = listing.files[taken].name;
		taken++;
		if (find_attempt(spool, names[taken - 1]))
			break;
	}
	free(listing.files);
	return taken;
}

int64_t cairn_spool_arrival(const char *name)
{
	struct cairn_bytes digits = cairn_bytes_of(name);
	uint64_t value;
	return cairn_text_decimal(&digits, &value) && value > 0 && value <= INT64_MAX ? (int64_t)value : cairn_clock_wall_ns();
}

void cairn_spool_remove(struct cairn_spool *spool, const char *name)
{
	struct stat status;
	if (fstatat(spool->folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && unlinkat(spool->folder, name, 0) == 0)
		uncount(spool, name, (uint64_t)status.st_size);
}

bool cairn_spool_parse(struct cairn_bytes text, struct cairn_bytes *query, struct cairn_bytes *tenant, struct cairn_bytes *body)
{
	bool whole = cairn_text_line(&text, query, NULL) && cairn_text_line(&text, tenant, NULL);
	*body = text;
	return whole;
}
