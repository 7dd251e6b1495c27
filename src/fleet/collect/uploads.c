/* uploads.c - drafts of uploads, complete files by build-id, and the limits on both.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/collect/uploads.h"

#include "base/array.h"
#include "base/descriptor.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/time.h"
#include "process/clock.h"
#include "store/rows.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { longest_path = CAIRN_UPLOAD_PATH, least_counted = 4096 /* bytes: what the smallest file takes on a disk */ };
static const char drafts_name[] = ".drafts", files_name[] = ".build-id", names_name[] = ".names";
/* A draft that has not grown for this long is abandoned. */
static const int64_t draft_ns = CAIRN_DAY_NS;
/* A file used within this time is not marked as used again. */
static const int64_t mark_ns = CAIRN_HOUR_NS;

/* Creates the secret if it is missing. Of several collectors that start at once, one creates it for all. */
static bool make_secret(const char *path, struct cairn_error *error)
{
	char draft[longest_path];
	unsigned char bytes[16];
	char text[2 * sizeof bytes + 1];
	if (access(path, R_OK) == 0)
		return true;
	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		return cairn_fail_errno(error, "cannot get random numbers");
	for (size_t i = 0; i < sizeof bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	snprintf(draft, sizeof draft, "%.4000s.%d", path, (int)getpid());
	if (!cairn_file_write(draft, cairn_bytes_of(text), error))
		return false;
	bool good = link(draft, path) == 0 || errno == EEXIST || cairn_fail_errno(error, "%s", path);
	unlink(draft);
	return good;
}

/* Reads the secret; with MAKE, creates it if it is missing. */
static bool read_secret(struct cairn_uploads *uploads, bool make, struct cairn_error *error)
{
	char path[longest_path];
	struct cairn_file file;
	if (make && !cairn_folder_make(uploads->path))
		return cairn_fail_errno(error, "%s: cannot be used as the folder for uploaded files (--uploads)", uploads->path);
	snprintf(path, sizeof path, "%.4000s/.secret", uploads->path);
	if ((make && !make_secret(path, error)) || !cairn_file_map(&file, path, error))
		return false;
	bool good = file.bytes.length == sizeof uploads->secret;
	if (good)
		memcpy(uploads->secret, file.bytes.data, sizeof uploads->secret);
	cairn_file_close(&file);
	return good || cairn_fail(error, "%s: damaged; remove the folder, and have builds upload their files again", path);
}

static bool know_secret(struct cairn_uploads *uploads, bool make, struct cairn_error *error)
{
	pthread_mutex_lock(&uploads->lock);
	bool known = uploads->has_secret = uploads->has_secret || read_secret(uploads, make, error);
	pthread_mutex_unlock(&uploads->lock);
	return known;
}

bool cairn_upload_sum_valid(const char *sum)
{
	return strlen(sum) == CAIRN_UPLOAD_SUM && strspn(sum, "0123456789abcdef") == CAIRN_UPLOAD_SUM;
}

void cairn_uploads_folder(const struct cairn_uploads *uploads, struct cairn_bytes tenant, char out[CAIRN_UPLOAD_PATH])
{
	uint64_t id = cairn_store_id(4, (struct cairn_bytes){uploads->secret, sizeof uploads->secret});
	snprintf(out, longest_path, "%.4000s/%016llx", uploads->path, (unsigned long long)cairn_store_id(id, tenant));
}

bool cairn_uploads_file(const char *folder, const char *build_id, bool program, char out[CAIRN_UPLOAD_PATH])
{
	int length = snprintf(out, longest_path, "%s/%s/%.2s/%s%s", folder, files_name, build_id, build_id + 2, program ? "" : ".debug");
	return length > 0 && length < longest_path;
}

bool cairn_uploads_open(struct cairn_uploads *uploads, const char *path, uint64_t largest, uint64_t total, bool later,
			struct cairn_error *error)
{
	*uploads = (struct cairn_uploads){
		.path = path, .largest = largest, .total = total, .lock = PTHREAD_MUTEX_INITIALIZER, .suspects.note = -1};
	cairn_suspects_recover(uploads);
	return later || know_secret(uploads, true, error);
}

/* One file of a tenant, complete or a draft. */
struct kept {
	char *path;
	uint64_t size;
	int64_t used_ns;
	bool draft;
};

struct listing {
	struct kept *items;
	size_t count, capacity;
	uint64_t bytes;
};

static void list_folder(struct listing *listing, const char *folder, bool drafts, unsigned depth)
{
	DIR *entries = opendir(folder);
	for (struct dirent *entry; entries && (entry = readdir(entries));) {
		struct stat status;
		char path[longest_path];
		if (entry->d_name[0] == '.' || snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= longest_path ||
		    fstatat(dirfd(entries), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (S_ISDIR(status.st_mode) && depth > 0)
			list_folder(listing, path, drafts, depth - 1);
		if (!S_ISREG(status.st_mode))
			continue;
		uint64_t size = (uint64_t)status.st_size > least_counted ? (uint64_t)status.st_size : least_counted;
		cairn_array_room(listing->items, listing->count, listing->capacity);
		listing->items[listing->count++] = (struct kept){.path = strdup(path),
								 .size = size,
								 .used_ns = cairn_time_ns(drafts ? &status.st_mtim : &status.st_atim),
								 .draft = drafts};
		if (!listing->items[listing->count - 1].path)
			cairn_out_of_memory(strlen(path));
		listing->bytes += size;
	}
	if (entries)
		closedir(entries);
}

static void free_listing(struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		free(listing->items[i].path);
	free(listing->items);
}

static int oldest_first(const void *a, const void *b)
{
	const struct kept *one = a, *other = b;
	return (one->used_ns > other->used_ns) - (one->used_ns < other->used_ns);
}

/* Removes abandoned drafts from FOLDER, and the least recently used files and drafts until NEEDED more bytes fit; keeps the draft OWN. */
static bool make_room(struct cairn_uploads *uploads, const char *folder, const char *own, uint64_t needed)
{
	struct listing listing = {0};
	char path[longest_path];
	int64_t now = cairn_clock_wall_ns();
	snprintf(path, sizeof path, "%.4000s/%s", folder, files_name);
	list_folder(&listing, path, false, 1);
	snprintf(path, sizeof path, "%.4000s/%s", folder, drafts_name);
	list_folder(&listing, path, true, 0);
	if (listing.count > 0)
		qsort(listing.items, listing.count, sizeof *listing.items, oldest_first);
	for (size_t i = 0; i < listing.count; i++) {
		const struct kept *item = &listing.items[i];
		bool late = item->draft && now - item->used_ns > draft_ns;
		if (strcmp(item->path, own) == 0 || (!late && listing.bytes + needed <= uploads->total) || unlink(item->path) != 0)
			continue;
		listing.bytes -= item->size;
		uploads->removed += !item->draft;
	}
	bool fits = listing.bytes + needed <= uploads->total;
	free_listing(&listing);
	return fits;
}

/* Sets the status and the message of a failure. Returns false. */
__attribute__((format(printf, 4, 5))) static bool fail(struct cairn_upload_state *state, int status, struct cairn_error *error,
						       const char *format, ...)
{
	char text[256];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	state->status = status;
	return cairn_fail(error, "%s", text);
}

/* The same if the disk has failed, with the text of errno. */
static bool fail_disk(struct cairn_upload_state *state, struct cairn_error *error, const char *message)
{
	state->status = 507;
	return cairn_fail_errno(error, "%s", message);
}

/* Whether a file of SIZE bytes is within the limits. */
static bool check_size(const struct cairn_uploads *uploads, uint64_t size, struct cairn_upload_state *state, struct cairn_error *error)
{
	char own[24], most[24];
	uint64_t limit = uploads->largest < uploads->total ? uploads->largest : uploads->total;
	if (size > 0 && size <= limit)
		return true;
	return fail(state, 413, error, "the file has %s, and this collector takes up to %s (--upload-largest, --upload-total)",
		    cairn_text_human((double)size, own), cairn_text_human((double)limit, most));
}

/* The draft of the file with SUM and SIZE. */
static void draft_path(const char *folder, const char *sum, uint64_t size, char out[longest_path])
{
	uint64_t id = cairn_store_id_number(cairn_store_id(5, cairn_bytes_of(sum)), size);
	snprintf(out, longest_path, "%.4000s/%s/%016llx", folder, drafts_name, (unsigned long long)id);
}

/* Whether FOLDER has a file like FILE, or a better one. */
static bool has_as_good(const char *folder, const struct cairn_build_file *file)
{
	char path[longest_path];
	struct cairn_build_file there;
	if (!cairn_uploads_file(folder, file->build_id, file->program, path))
		return false;
	if (cairn_suspects_has(path)) /* it would end the collector again */
		return true;
	return cairn_build_file_read(&there, path, "", NULL) && strcmp(there.build_id, file->build_id) == 0 &&
	       there.program == file->program && there.detail >= file->detail;
}

bool cairn_uploads_ask(struct cairn_uploads *uploads, struct cairn_bytes tenant, const char *sum, const struct cairn_build_file *file,
		       struct cairn_upload_state *state, struct cairn_error *error)
{
	char folder[longest_path], draft[longest_path];
	struct stat status;
	*state = (struct cairn_upload_state){.status = 200};
	if (know_secret(uploads, false, NULL)) {
		cairn_uploads_folder(uploads, tenant, folder);
		state->complete = has_as_good(folder, file);
		if (state->complete)
			return true;
		draft_path(folder, sum, file->size, draft);
		if (stat(draft, &status) == 0)
			state->received = (uint64_t)status.st_size;
	}
	return check_size(uploads, file->size, state, error);
}

/* Whether the open FILE has the sum SUM. */
static bool has_sum(int file, const char *sum)
{
	enum { at_once = 1 << 18 };
	char *part = cairn_array_new(at_once, 1), text[CAIRN_UPLOAD_SUM + 1];
	struct cairn_sha256 state;
	off_t offset = 0;
	ssize_t length;
	cairn_sha256_begin(&state);
	while ((length = pread(file, part, at_once, offset)) > 0) {
		cairn_sha256_add(&state, (struct cairn_bytes){part, (size_t)length});
		offset += length;
	}
	cairn_sha256_hex(&state, text);
	free(part);
	return length == 0 && strcmp(text, sum) == 0;
}

static void sync_folder(const char *path)
{
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return;
	fsync(folder);
	close(folder);
}

/* A piece of a file that is being uploaded. */
struct upload {
	const char *sum;
	uint64_t size, offset;
	struct cairn_bytes piece;
	char folder[longest_path], draft[longest_path];
	int file; /* the draft, open */
};

/* Turns a complete draft into the file of its build-id, unless there is a better one. */
static bool adopt(struct cairn_uploads *uploads, const struct upload *upload, struct cairn_upload_state *state, struct cairn_error *error)
{
	char path[longest_path], parent[longest_path];
	if (!cairn_build_file_read(&state->file, upload->draft, "the file", error)) {
		unlink(upload->draft);
		state->status = 400;
		return false;
	}
	state->complete = true;
	if (has_as_good(upload->folder, &state->file)) {
		unlink(upload->draft);
		return true;
	}
	snprintf(parent, sizeof parent, "%.4000s/%s/%.2s", upload->folder, files_name, state->file.build_id);
	bool good = cairn_uploads_file(upload->folder, state->file.build_id, state->file.program, path) && cairn_folder_make(parent) &&
		    rename(upload->draft, path) == 0;
	if (!good) {
		fail_disk(state, error, "the collector cannot keep the file");
		unlink(upload->draft);
		return false;
	}
	sync_folder(parent);
	uploads->arrived++;
	return true;
}

/* Writes the piece at the end of the draft. */
static bool append(const struct upload *upload, struct cairn_upload_state *state, struct cairn_error *error)
{
	struct cairn_bytes rest = upload->piece;
	off_t offset = (off_t)upload->offset;
	if (lseek(upload->file, offset, SEEK_SET) == offset && cairn_descriptor_write_all(upload->file, &rest))
		return true;
	fail_disk(state, error, "the collector cannot write to its disk");
	(void)!ftruncate(upload->file, offset);
	return false;
}

static bool take(struct cairn_uploads *uploads, const struct upload *upload, struct cairn_upload_state *state, struct cairn_error *error)
{
	struct stat status;
	if (fstat(upload->file, &status) != 0)
		return fail_disk(state, error, "the collector cannot read its disk");
	state->received = (uint64_t)status.st_size;
	/* One that is whole was not examined yet, because the collector was killed, or its disk failed, at that very moment. */
	if (state->received < upload->size) {
		if (state->received != upload->offset)
			return fail(state, 409, error, "the collector has %llu bytes of the file; continue from there",
				    (unsigned long long)state->received);
		if (!make_room(uploads, upload->folder, upload->draft, upload->piece.length))
			return fail(state, 507, error, "there is no room for the file beside other uploads that are under way");
		if (!append(upload, state, error))
			return false;
		state->received = upload->offset + upload->piece.length;
		if (state->received < upload->size)
			return true;
	}
	if (fsync(upload->file) != 0)
		return fail_disk(state, error, "the collector cannot write to its disk");
	if (!has_sum(upload->file, upload->sum)) {
		unlink(upload->draft);
		return fail(state, 400, error, "what arrived is not the announced file: its SHA-256 differs");
	}
	return adopt(uploads, upload, state, error);
}

bool cairn_uploads_take(struct cairn_uploads *uploads, struct cairn_bytes tenant, const char *sum, uint64_t size, uint64_t offset,
			struct cairn_bytes piece, struct cairn_upload_state *state, struct cairn_error *error)
{
	struct upload upload = {.sum = sum, .size = size, .offset = offset, .piece = piece};
	char drafts[longest_path];
	*state = (struct cairn_upload_state){.status = 200};
	if (!check_size(uploads, size, state, error))
		return false;
	if (piece.length == 0 || offset > size || piece.length > size - offset)
		return fail(state, 400, error, "the piece does not lie within the file");
	if (!know_secret(uploads, true, error)) {
		state->status = 507;
		return false;
	}
	cairn_uploads_folder(uploads, tenant, upload.folder);
	snprintf(drafts, sizeof drafts, "%.4000s/%s", upload.folder, drafts_name);
	draft_path(upload.folder, sum, size, upload.draft);
	int created = offset == 0 ? O_CREAT : 0; /* a file that was not begun is not made: nobody would ever remove it */
	upload.file = cairn_folder_make(drafts) ? open(upload.draft, O_RDWR | created | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
	if (upload.file < 0 && errno == ENOENT && offset > 0)
		return fail(state, 409, error, "the collector has no part of the file; send it from its first byte");
	if (upload.file < 0)
		return fail_disk(state, error, "the collector cannot write to its disk");
	bool good = take(uploads, &upload, state, error);
	close(upload.file);
	return good;
}

/* Marks PATH as used, at most once in `mark_ns`. Returns false if there is no such file. */
static bool use(const char *path)
{
	struct stat status;
	if (stat(path, &status) != 0)
		return false;
	const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}};
	if (cairn_clock_wall_ns() - cairn_time_ns(&status.st_atim) > mark_ns)
		utimensat(AT_FDCWD, path, times, 0);
	return true;
}

bool cairn_uploads_has_any(struct cairn_uploads *uploads, struct cairn_bytes tenant)
{
	char folder[longest_path], files[longest_path];
	if (!know_secret(uploads, false, NULL))
		return false;
	cairn_uploads_folder(uploads, tenant, folder);
	snprintf(files, sizeof files, "%.4000s/%s", folder, files_name);
	return access(files, R_OK) == 0;
}

bool cairn_uploads_has_program(struct cairn_uploads *uploads, struct cairn_bytes tenant, const char *build_id)
{
	char folder[longest_path], path[longest_path];
	if (!know_secret(uploads, false, NULL))
		return false;
	cairn_uploads_folder(uploads, tenant, folder);
	return cairn_build_id_valid(build_id) && cairn_uploads_file(folder, build_id, true, path) && access(path, R_OK) == 0;
}

void cairn_uploads_find(struct cairn_uploads *uploads, struct cairn_bytes tenant, const struct cairn_profile *profile,
			struct cairn_arena *arena, struct cairn_symbolize_options *options)
{
	char folder[longest_path], path[longest_path];
	struct cairn_find_options *find = &options->find;
	if (!cairn_uploads_has_any(uploads, tenant))
		return;
	cairn_uploads_folder(uploads, tenant, folder);
	const char **binaries = cairn_arena_zero(arena, find->binary_count + profile->module_count + 1, sizeof *binaries);
	const char **symbols = cairn_arena_zero(arena, find->symbols_count + 1, sizeof *symbols);
	for (size_t i = 0; i < find->binary_count; i++)
		binaries[i] = find->binaries[i];
	for (size_t i = 0; i < find->symbols_count; i++)
		symbols[i] = find->symbols[i];
	symbols[find->symbols_count++] = cairn_arena_text(arena, cairn_bytes_of(folder));
	struct cairn_map seen = {0}; /* a profile may have any number of modules with one build-id */
	struct cairn_buffer note = cairn_buffer((1 << 16) - 1);
	for (size_t i = 0; i < profile->module_count; i++) {
		const char *build_id = cairn_profile_string(profile, profile->modules[i].build_id);
		uint32_t *at = cairn_map_at(&seen, profile->modules[i].build_id);
		if (*at != CAIRN_NONE || !cairn_build_id_valid(build_id))
			continue;
		*at = 0;
		bool used = cairn_uploads_file(folder, build_id, false, path) && use(path);
		if (cairn_uploads_file(folder, build_id, true, path) && use(path)) {
			binaries[find->binary_count++] = cairn_arena_text(arena, cairn_bytes_of(path));
			used = true;
		}
		if (used)
			cairn_buffer_format(&note, "%s %s %d\n", cairn_base_name(folder), build_id, uploads->suspects.trial);
	}
	if (note.length > 0)
		cairn_suspects_begin(uploads, cairn_buffer_bytes(&note));
	cairn_buffer_free(&note);
	cairn_map_free(&seen);
	find->binaries = binaries;
	find->symbols = symbols;
	options->cache_folder = cairn_arena_format(arena, "%s/%s", folder, names_name);
}
