/* cache.c - the cache folder: file names, loading, storing by rename, and eviction.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/cache.h"

#include "base/array.h"
#include "base/descriptor.h"
#include "base/path.h"
#include "base/text.h"
#include "base/time.h"
#include "symbol/search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const uint64_t usual_limit = (uint64_t)512 << 20;
/* A file used within this time is not marked as used again, to avoid a disk write in every run. */
static const int64_t mark_after_s = 3600;

bool cairn_cache_open(struct cairn_cache *cache, struct cairn_arena *arena)
{
	const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *limit = getenv("CAIRN_CACHE_LIMIT");
	*cache = (struct cairn_cache){.limit_bytes = usual_limit};
	if (limit && !cairn_text_size(limit, &cache->limit_bytes))
		cache->limit_bytes = usual_limit;
	if (base && base[0] == '/')
		cache->folder = cairn_arena_format(arena, "%s/cairn", base);
	else if (home && home[0] == '/')
		cache->folder = cairn_arena_format(arena, "%s/.cache/cairn", home);
	return cache->folder != NULL;
}

static const char *describe_options(struct cairn_arena *arena, const struct cairn_find_options *options)
{
	if (!options->sysroot && !options->symbols_count && !options->debuginfod)
		return "";
	const char *text =
		cairn_arena_format(arena, "debuginfod=%d\nsysroot=%s", options->debuginfod, options->sysroot ? options->sysroot : "");
	for (size_t i = 0; i < options->symbols_count; i++)
		text = cairn_arena_format(arena, "%s\nsymbols=%s", text, options->symbols[i]);
	return text;
}

static const char *name_of_build(struct cairn_arena *arena, const char *build_id)
{
	return cairn_arena_format(arena, "%s.v%d", build_id, CAIRN_ANSWERS_VERSION);
}

struct cairn_cache_key cairn_cache_key(struct cairn_arena *arena, const struct cairn_binary *binary,
				       const struct cairn_find_options *options)
{
	const struct cairn_identity *identity = &binary->identity;
	struct cairn_cache_key key = {.text = identity->build_id, .options = describe_options(arena, options)};
	if (*identity->build_id) {
		key.file = name_of_build(arena, identity->build_id);
		return key;
	}
	char *real = realpath(binary->path, NULL);
	const char *path = real ? real : binary->path;
	key.text = cairn_arena_format(arena, "%s %llu %llu %lld", path, (unsigned long long)identity->size,
				      (unsigned long long)identity->inode, (long long)identity->modified_ns);
	key.file = cairn_arena_format(arena, "%.100s-%08x.v%d", cairn_base_name(path), libdeflate_crc32(0, key.text, strlen(key.text)),
				      CAIRN_ANSWERS_VERSION);
	free(real);
	return key;
}

static bool is_of(const struct cairn_answers *answers, const struct cairn_cache_key *key)
{
	return strcmp(cairn_answers_string(answers, answers->key).data, key->text) == 0;
}

/* Whether a new search would give the same answers. Complete answers stay valid. Incomplete ones are valid only for the same binary and the
 * same options, and only if nothing has changed in the places that were searched. */
static bool still_holds(const struct cairn_answers *answers, const struct cairn_cache_key *key, const struct cairn_binary *binary)
{
	if (!answers->note)
		return true;
	if (strcmp(cairn_answers_string(answers, answers->options).data, key->options) != 0 || answers->probe_count == 0 ||
	    answers->probes[0].size != binary->identity.size || answers->probes[0].modified_ns != binary->identity.modified_ns)
		return false;
	for (size_t i = 1; i < answers->probe_count; i++) {
		const struct cairn_answer_probe *then = &answers->probes[i];
		struct cairn_probe now = cairn_probe_now(cairn_answers_string(answers, then->path).data);
		if (now.size != then->size || now.inode != then->inode || now.modified_ns != then->modified_ns)
			return false;
	}
	return true;
}

/* Opens the folder; -1 with errno and a message if it is not there, or not ours alone: behind a link, or in the folder of another
 * user, names may be wrong on purpose, and files to remove be anybody's. */
static int open_folder(const struct cairn_cache *cache, struct cairn_error *error)
{
	struct stat status;
	int folder = open(cache->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), code = errno;
	if (folder >= 0 && fstat(folder, &status) == 0 && status.st_uid == geteuid())
		return folder;
	if (folder >= 0) {
		close(folder);
		code = EPERM;
		cairn_fail(error, "%s: the folder belongs to another user, so no names are kept there", cache->folder);
	} else if (lstat(cache->folder, &status) == 0 && S_ISLNK(status.st_mode)) {
		cairn_fail(error, "%s: is a link, so no names are kept there; set XDG_CACHE_HOME to have them elsewhere", cache->folder);
	} else {
		errno = code;
		cairn_fail_errno(error, "%s", cache->folder);
	}
	errno = code;
	return -1;
}

bool cairn_cache_load(const struct cairn_cache *cache, const struct cairn_cache_key *key, const struct cairn_binary *binary,
		      struct cairn_file *file, struct cairn_answers *answers)
{
	int folder = open_folder(cache, NULL);
	if (folder < 0)
		return false;
	bool good = cairn_file_map_at(file, folder, key->file, NULL);
	if (good && !(cairn_answers_parse(answers, file->bytes) && is_of(answers, key) && (!binary || still_holds(answers, key, binary)))) {
		cairn_file_close(file);
		good = false;
	}
	if (good && (int64_t)time(NULL) - file->modified_ns / CAIRN_SECOND_NS > mark_after_s)
		utimensat(folder, key->file, NULL, AT_SYMLINK_NOFOLLOW);
	close(folder);
	return good;
}

bool cairn_cache_load_gone(const struct cairn_cache *cache, struct cairn_arena *arena, const char *build_id, struct cairn_file *file,
			   struct cairn_answers *answers)
{
	if (!cairn_build_id_valid(build_id))
		return false;
	struct cairn_cache_key key = {.file = name_of_build(arena, build_id), .text = build_id};
	return cairn_cache_load(cache, &key, NULL, file, answers);
}

struct cached_file {
	char name[256];
	uint64_t size;
	int64_t used_ns;
};

struct listing {
	struct cached_file *files;
	size_t count, capacity;
	uint64_t bytes;
};

static const char writing[] = ".writing."; /* and some letters, behind the name that a file will have */

/* Writers that were killed leave temporary files behind. After an hour, nobody is still writing them. */
static bool is_abandoned(const char *name, const struct stat *status)
{
	return strstr(name, writing) && (int64_t)time(NULL) - status->st_mtim.tv_sec > 3600;
}

/* Whether NAME is one that cairn_cache_key makes, in this version of the cache or another: any other file is not ours to remove. */
static bool is_own(const char *name)
{
	static const char digits[] = "0123456789", hex[] = "0123456789abcdef";
	char text[256];
	snprintf(text, sizeof text, "%s", name);
	char *end = strstr(text, writing);
	if (end)
		*end = '\0';
	char *version = strrchr(text, '.');
	if (!version || version[1] != 'v' || !version[2] || version[2 + strspn(version + 2, digits)])
		return false;
	*version = '\0';
	const char *sum = strrchr(text, '-');
	return cairn_build_id_valid(text) || (sum && sum > text && strlen(sum) == 9 && strspn(sum + 1, hex) == 8);
}

/* FOLDER stays open. */
static struct listing list_folder(int folder)
{
	struct listing listing = {0};
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		struct stat status;
		if (!is_own(entry->d_name) || fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(status.st_mode))
			continue;
		cairn_array_room(listing.files, listing.count, listing.capacity);
		struct cached_file *file = &listing.files[listing.count++];
		snprintf(file->name, sizeof file->name, "%s", entry->d_name);
		file->size = (uint64_t)status.st_size;
		file->used_ns = is_abandoned(entry->d_name, &status) ? 0 : cairn_time_ns(&status.st_mtim);
		listing.bytes += file->size;
	}
	if (entries)
		closedir(entries);
	return listing;
}

static int oldest_first(const void *a, const void *b)
{
	const struct cached_file *x = a, *y = b;
	return (x->used_ns > y->used_ns) - (x->used_ns < y->used_ns);
}

static bool remove_file(int folder, const char *name)
{
	return unlinkat(folder, name, 0) == 0 || errno == ENOENT;
}

/* Removes the least recently used files, but never KEEP, until the rest is within the limit. */
static void evict(const struct cairn_cache *cache, int folder, const char *keep)
{
	struct listing listing = list_folder(folder);
	if (listing.bytes > cache->limit_bytes)
		qsort(listing.files, listing.count, sizeof *listing.files, oldest_first);
	for (size_t i = 0; i < listing.count && listing.bytes > cache->limit_bytes; i++)
		if (strcmp(listing.files[i].name, keep) != 0 && remove_file(folder, listing.files[i].name))
			listing.bytes -= listing.files[i].size;
	free(listing.files);
}

/* Does not use cairn_file_write, which waits for the disk: a block torn by a crash fails its checksum anyway. */
static bool write_block(int folder, const char *name, struct cairn_bytes block)
{
	char temporary[256];
	uint32_t letters;
	if (getrandom(&letters, sizeof letters, 0) != sizeof letters)
		return false;
	snprintf(temporary, sizeof temporary, "%s%s%08x", name, writing, letters);
	int descriptor = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool good = descriptor >= 0 && cairn_descriptor_write_all(descriptor, &block);
	int code = errno;
	if (descriptor >= 0 && close(descriptor) != 0 && good) {
		good = false;
		code = errno;
	}
	if (good && renameat(folder, temporary, folder, name) != 0) {
		good = false;
		code = errno;
	}
	if (!good && descriptor >= 0)
		unlinkat(folder, temporary, 0);
	errno = code;
	return good;
}

bool cairn_cache_store(const struct cairn_cache *cache, const struct cairn_cache_key *key, struct cairn_bytes block,
		       struct cairn_error *error)
{
	if (block.length > cache->limit_bytes)
		return cairn_fail(error, "%s: %zu bytes of names do not fit in the cache's limit", cache->folder, block.length);
	cairn_folder_make(cache->folder); /* private, because it reveals which programs were examined */
	int folder = open_folder(cache, error);
	if (folder < 0)
		return cairn_fail_within(error, "cannot keep names in the cache: ");
	bool good = write_block(folder, key->file, block) || cairn_fail_errno(error, "cannot keep names in %s", cache->folder);
	if (good)
		evict(cache, folder, key->file);
	close(folder);
	return good;
}

bool cairn_cache_is_usable(const struct cairn_cache *cache, struct cairn_error *error)
{
	int folder = open_folder(cache, error);
	if (folder < 0)
		return errno == ENOENT;
	close(folder);
	return true;
}

struct cairn_cache_use cairn_cache_measure(const struct cairn_cache *cache)
{
	int folder = open_folder(cache, NULL);
	if (folder < 0)
		return (struct cairn_cache_use){0};
	struct listing listing = list_folder(folder);
	free(listing.files);
	close(folder);
	return (struct cairn_cache_use){listing.count, listing.bytes};
}

bool cairn_cache_clear(const struct cairn_cache *cache, struct cairn_cache_use *removed, struct cairn_error *error)
{
	*removed = (struct cairn_cache_use){0};
	int folder = open_folder(cache, error);
	if (folder < 0)
		return errno == ENOENT;
	struct listing listing = list_folder(folder);
	bool good = true;
	for (size_t i = 0; i < listing.count; i++) {
		if (remove_file(folder, listing.files[i].name)) {
			removed->files++;
			removed->bytes += listing.files[i].size;
		} else if (good) {
			good = cairn_fail_errno(error, "%s/%s", cache->folder, listing.files[i].name);
		}
	}
	free(listing.files);
	close(folder);
	return good;
}
