/* files.c - dumps by file and folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/files.h"

#include "base/array.h"
#include "base/file.h"
#include "base/note.h"
#include "base/path.h"
#include "base/strings.h"
#include "base/text.h"
#include "base/time.h"
#include "base/unpack.h"
#include "dump/trailer.h"
#include "live/target.h"
#include "profile/read.h"
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first program in the memory map of a dump without a trailer, which jemalloc wrote by itself. Large dumps are not read for it. */
static struct cairn_bytes mapped_program(struct cairn_bytes dump)
{
	enum { map_most = 1 << 20 };
	static const char title[] = "MAPPED_LIBRARIES:";
	dump = cairn_bytes_skip(dump, dump.length > map_most ? dump.length - map_most : 0);
	const char *maps = dump.length ? memmem(dump.data, dump.length, title, sizeof title - 1) : NULL;
	struct cairn_bytes rest = {maps, maps ? dump.length - (size_t)(maps - dump.data) : 0}, line;
	while (rest.length > 0 && cairn_text_line(&rest, &line, NULL)) {
		const char *path = line.length ? memchr(line.data, '/', line.length) : NULL;
		struct cairn_bytes name = {path, path ? line.length - (size_t)(path - line.data) : 0};
		if (path && cairn_bytes_contain(line, " r-xp ") && !cairn_bytes_contain(name, ".so"))
			return name;
	}
	return (struct cairn_bytes){"", 0};
}

/* What a dump says of itself. The texts borrow from it, and are empty if it does not say. */
struct origin {
	int64_t time_ns;
	struct cairn_bytes program, started; /* as in struct cairn_dump_file */
};

static struct origin read_origin(struct cairn_bytes dump, enum cairn_format format)
{
	struct origin origin = {0};
	struct cairn_trailer trailer;
	if (format == CAIRN_FORMAT_PPROF) {
		cairn_pprof_origin(dump, &origin.time_ns, &origin.program);
		origin.program = cairn_path_base(origin.program);
		return origin;
	}
	bool known = cairn_trailer_read(dump, &trailer) && trailer.executable.length > 0;
	origin.time_ns = trailer.time_ns;
	origin.program = cairn_path_base(cairn_text_trim(known ? trailer.executable : mapped_program(dump)));
	origin.started = cairn_path_program(trailer.command);
	if (trailer.service.length > 0) /* what it calls itself */
		origin.program = origin.started = trailer.service;
	return origin;
}

/* Makes PLAIN what STORED is once decompressed: either STORED itself or DATA, which the caller frees in either case. */
static bool unpack(struct cairn_bytes stored, struct cairn_bytes *plain, char **data, struct cairn_error *error)
{
	bool cut;
	*data = NULL;
	*plain = stored;
	if (cairn_unpack_sniff(stored) == CAIRN_PACKED_NOT)
		return true;
	if (!cairn_unpack(stored, data, &plain->length, &cut, error))
		return false;
	plain->data = *data;
	return true;
}

/* Whether PATH is not that of a file. */
static bool is_elsewhere(const char *path)
{
	return strcmp(path, "-") == 0 || cairn_store_is(path) || cairn_target_is(path);
}

/* Takes from the dump when it was taken and of which program it is. A compressed file that contains no profile is not decompressed for
 * it. */
static void examine(struct cairn_dump_files *list, struct cairn_dump_file *item)
{
	struct cairn_file file;
	struct cairn_bytes dump;
	char *data = NULL;
	if (item->program.data || is_elsewhere(item->path) || !cairn_file_map(&file, item->path, NULL))
		return;
	struct origin origin = {0};
	enum cairn_format format = cairn_profile_sniff_inside(file.bytes);
	bool packed = cairn_unpack_sniff(file.bytes) != CAIRN_PACKED_NOT;
	if ((!packed || cairn_format_is_certain(format)) && unpack(file.bytes, &dump, &data, NULL))
		origin = read_origin(dump, format);
	if (origin.time_ns > 0)
		item->time_ns = origin.time_ns;
	item->program = cairn_bytes_of(cairn_arena_text(&list->arena, origin.program));
	item->started = cairn_bytes_of(cairn_arena_text(&list->arena, origin.started));
	free(data);
	cairn_file_close(&file);
}

static void examine_all(struct cairn_dump_files *list)
{
	for (size_t i = 0; i < list->count; i++)
		examine(list, &list->items[i]);
}

int64_t cairn_files_date(const char *path, int64_t modified_ns)
{
	struct tm date;
	return cairn_dump_name_date(path, &date) ? (int64_t)mktime(&date) * CAIRN_SECOND_NS : modified_ns;
}

static void add_file(struct cairn_dump_files *list, const char *path, int64_t time_ns)
{
	cairn_array_room(list->items, list->count, list->capacity);
	struct cairn_dump_file *item = &list->items[list->count++];
	*item = (struct cairn_dump_file){.path = path, .time_ns = time_ns};
	item->named = cairn_dump_name_parse(path, &item->name);
	item->prefix = item->named ? cairn_path_base(item->name.prefix) : (struct cairn_bytes){"", 0};
}

/* Other files in a folder that look like dumps. */
struct left_out {
	size_t unreadable; /* may not be opened */
	size_t damaged;    /* are named like dumps */
};

/* Whether PATH is a file that begins like a profile; fills STATUS then. Folded text must be named explicitly. Counts in LEFT_OUT what looks like a profile but is
 * none. */
static bool is_dump(const char *path, struct stat *status, struct left_out *left_out)
{
	char head[CAIRN_FORMAT_HEAD];
	int descriptor = cairn_file_open(path, status, NULL);
	left_out->unreadable += descriptor < 0 && errno == EACCES;
	ssize_t length = descriptor >= 0 ? read(descriptor, head, sizeof head) : -1;
	if (descriptor >= 0)
		close(descriptor);
	enum cairn_format format = length > 0 ? cairn_profile_sniff((struct cairn_bytes){head, (size_t)length}) : CAIRN_FORMAT_UNKNOWN;
	bool dump = cairn_format_is_certain(format);
	left_out->damaged += !dump && length >= 0 && cairn_bytes_end_with(cairn_bytes_of(path), ".heap");
	return dump;
}

static int64_t modified_ns(const struct stat *status)
{
	return cairn_time_ns(&status->st_mtim);
}

/* A note if there are OTHERS in LIST, else an error. */
static bool tell_left_out(const struct cairn_dump_files *list, const char *folder, const struct left_out *left_out, bool others,
			  struct cairn_error *error)
{
	struct cairn_error text;
	size_t count = left_out->unreadable ? left_out->unreadable : left_out->damaged;
	cairn_fail(&text,
		   left_out->unreadable ? "%s: no permission to read %zu file%s"
					: "%s: skipping %zu .heap file%s without a profile: empty, damaged, or of another format",
		   folder, count, count == 1 ? "" : "s");
	if (others && !list->listed_before)
		cairn_note("%s", text.text);
	return others || cairn_fail(error, "%s", text.text);
}

static bool add_folder(struct cairn_dump_files *list, const char *folder, struct cairn_error *error)
{
	DIR *entries = opendir(folder);
	if (!entries)
		return cairn_fail_errno(error, "%s", folder);
	size_t before = list->count;
	struct left_out left_out = {0};
	for (struct dirent *entry; (entry = readdir(entries));) {
		if (entry->d_name[0] == '.')
			continue;
		const char *path = cairn_arena_format(&list->arena, "%s/%s", folder, entry->d_name);
		struct stat status;
		if (is_dump(path, &status, &left_out))
			add_file(list, path, cairn_files_date(path, modified_ns(&status)));
	}
	closedir(entries);
	if (left_out.unreadable || left_out.damaged)
		return tell_left_out(list, folder, &left_out, list->count > before, error);
	return list->count > before || cairn_fail(error, "%s: no heap dump in this folder", folder);
}

static bool add_name(struct cairn_dump_files *list, const char *name, struct cairn_error *error)
{
	struct stat status;
	if (is_elsewhere(name)) {
		add_file(list, name, 0);
		return true;
	}
	if (!*name)
		return cairn_file_unnamed(error);
	if (stat(name, &status) != 0)
		return cairn_fail_errno(error, "%s", name);
	if (S_ISDIR(status.st_mode))
		return add_folder(list, name, error);
	add_file(list, name, cairn_files_date(name, modified_ns(&status)));
	return true;
}

/* By their names; files with other names count as those of one process. */
static bool same_process(const struct cairn_dump_file *a, const struct cairn_dump_file *b)
{
	if (!a->named || !b->named)
		return a->named == b->named;
	return a->name.process_id == b->name.process_id && cairn_bytes_equal(a->name.prefix, b->name.prefix);
}

/* Within one process the sequence number is certain; between processes the time decides. */
static bool is_newer(const struct cairn_dump_file *a, const struct cairn_dump_file *b)
{
	if (a->named && b->named && same_process(a, b))
		return a->name.sequence > b->name.sequence;
	if (a->time_ns != b->time_ns)
		return a->time_ns > b->time_ns;
	return strcmp(a->path, b->path) > 0;
}

/* The numbers of a program and of one of its prefixes, or of no file's, as a key. */
static uint64_t key_of(uint32_t program, uint32_t prefix)
{
	return (uint64_t)program << 32 | prefix;
}

static bool has(const struct cairn_map *map, uint64_t key)
{
	return cairn_map_get(map, key) != CAIRN_NONE;
}

/* Lists the services of the dumps in OUT, as "svc, redis-server", and returns how many there are. Dumps of one service are of one program,
 * and their files have one prefix or are named otherwise. Each is shown by its program, unless that is not enough: then by its prefix. */
static size_t list_services(const struct cairn_dump_files *list, char *out, size_t size)
{
	enum { most = 5 };
	struct cairn_strings names = {0};
	struct cairn_map seen = {0};
	size_t count = 0, length = 0;
	out[0] = '\0';
	for (size_t i = 0; i < list->count; i++) {
		const struct cairn_dump_file *file = &list->items[i];
		uint32_t program = cairn_strings_add(&names, file->program), prefix = cairn_strings_add(&names, file->prefix);
		bool by_prefix = prefix && (!program || has(&seen, key_of(program, CAIRN_NONE)));
		bool known = prefix ? has(&seen, key_of(program, prefix)) || (program && has(&seen, key_of(program, 0)))
				    : !program || has(&seen, key_of(program, CAIRN_NONE));
		*cairn_map_at(&seen, key_of(program, prefix)) = 1;
		*cairn_map_at(&seen, key_of(program, CAIRN_NONE)) = 1;
		struct cairn_bytes shown = by_prefix ? file->prefix : file->program;
		if (!known && count <= most && length < size)
			length += (size_t)snprintf(out + length, size - length, "%s%.*s", count ? ", " : "",
						   count < most ? (int)(shown.length < 60 ? shown.length : 60) : 3,
						   count < most ? shown.data : "…");
		count += !known;
	}
	cairn_strings_free(&names);
	cairn_map_free(&seen);
	return count;
}

bool cairn_files_keep_service(struct cairn_dump_files *list, const char *name, struct cairn_error *error)
{
	size_t kept = 0;
	char services[400];
	if (!name)
		return true;
	struct cairn_bytes wanted = cairn_bytes_of(name);
	examine_all(list);
	list_services(list, services, sizeof services);
	for (size_t i = 0; i < list->count; i++) {
		const struct cairn_dump_file *file = &list->items[i];
		if (cairn_bytes_equal(file->program, wanted) || cairn_bytes_equal(file->started, wanted) ||
		    cairn_bytes_equal(file->prefix, wanted))
			list->items[kept++] = *file;
	}
	if (kept == 0)
		return cairn_fail(error,
				  services[0] ? "no dump is of service %.100s; there are dumps of %s" : "no dump is of service %.100s",
				  name, services);
	list->count = kept;
	return true;
}

static size_t find_newest(const struct cairn_dump_files *list)
{
	size_t newest = 0;
	for (size_t i = 1; i < list->count; i++)
		if (is_newer(&list->items[i], &list->items[newest]))
			newest = i;
	return newest;
}

size_t cairn_files_drop_newest(struct cairn_dump_files *list, bool (*is_wanted)(const char *path))
{
	size_t kept = list->count;
	while (kept > 0) {
		struct cairn_dump_files rest = {.items = list->items, .count = kept};
		size_t newest = find_newest(&rest);
		if (is_wanted(list->items[newest].path)) {
			size_t dropped = list->count - kept;
			list->count = kept;
			return dropped;
		}
		struct cairn_dump_file item = list->items[newest];
		list->items[newest] = list->items[--kept];
		list->items[kept] = item;
	}
	return 0;
}

const struct cairn_dump_file *cairn_files_newest(const struct cairn_dump_files *list, bool may_sum)
{
	const struct cairn_dump_file *newest = &list->items[find_newest(list)];
	size_t others = 0;
	for (size_t i = 0; i < list->count; i++)
		others += !same_process(&list->items[i], newest);
	char services[400];
	size_t service_count = list_services(list, services, sizeof services);
	if (list->count > 1 && service_count > 1)
		cairn_note("%zu dumps of %zu services (%s); showing the newest, %s%s", list->count, service_count, services, newest->path,
			   may_sum ? " (--service NAME chooses one)" : "");
	else if (list->count > 1)
		cairn_note("%zu dumps%s; showing the newest, %s%s", list->count, others ? " of more than one process" : "", newest->path,
			   may_sum ? " (--sum adds them up)" : "");
	return newest;
}

bool cairn_files_list(struct cairn_dump_files *list, int count, char **names, struct cairn_error *error)
{
	if (count == 0)
		return cairn_fail_usage(error, "missing SOURCE: a heap dump, a folder of dumps, - for standard input, or a live process");
	for (int i = 0; i < count; i++)
		if (!add_name(list, names[i], error))
			return false;
	if (list->count > 1) /* a single one is what was meant */
		examine_all(list);
	return true;
}

void cairn_files_free(struct cairn_dump_files *list)
{
	free(list->items);
	cairn_arena_free(&list->arena);
	*list = (struct cairn_dump_files){0};
}

bool cairn_files_text(const char *path, struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_file file;
	if (!cairn_file_read(&file, path, error))
		return false;
	struct cairn_bytes plain;
	char *data;
	bool good = unpack(file.bytes, &plain, &data, error);
	if (good)
		cairn_buffer_append(out, plain.data, plain.length);
	free(data);
	cairn_file_close(&file);
	return good;
}
