/* folder.c - the thread that reads a folder of dumps, and whatever is written there later.
 *
 * Files are read, never mapped: one that is cut short or replaced meanwhile is a damaged dump and no more. What a file says decides of
 * which process it is; its name decides nothing but the order in which files are read, the newest first.
 *
 * The kernel names the files that change, and only these are looked at; now and then all are, since it says nothing of what another machine
 * writes to a shared folder. However often files change, and however many there are, looking takes a small part of the time. What does not
 * begin like a dump, such as a log beside them, is not read further.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/hash.h"
#include "base/note.h"
#include "base/path.h"
#include "base/time.h"
#include "base/unpack.h"
#include "dump/name.h"
#include "dump/trailer.h"
#include "fleet/serve/serve.h"
#include "process/clock.h"
#include "process/life.h"
#include "profile/read.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder may hold years of dumps: so many of the newest are read. */
enum { files_most = 4000,
       wait_ms = 500,
       names_most = 1024,
       head_most = 64 << 10, /* of a file, to see what it is; compressed, it yields more than CAIRN_FORMAT_HEAD bytes */
       file_most = 1 << 30 };

/* Between two looks at all files, and before an unsettled one is looked at again. After a look, these times as long nothing is looked at. */
static const int64_t all_pause_ns = 10 * CAIRN_SECOND_NS, again_pause_ns = 2 * CAIRN_SECOND_NS;
enum { all_rest = 50, rest = 10 };

/* A file that looks cut may still be written, as may one that does not say where it ends. */
static const int64_t cut_ns = 10 * CAIRN_SECOND_NS, unsaid_ns = 2 * CAIRN_SECOND_NS;
/* A process that has written nothing for so long makes room for others. */
static const int64_t stale_ns = CAIRN_HOUR_NS;

static int newest_first(const void *a, const void *b)
{
	const struct cairn_serve_file *left = a, *right = b;
	if (left->modified_ns != right->modified_ns)
		return left->modified_ns > right->modified_ns ? -1 : 1;
	return strcmp(right->name, left->name);
}

static int by_name(const void *a, const void *b)
{
	const struct cairn_serve_file *left = a, *right = b;
	return strcmp(left->name, right->name);
}

/* What is known of FILE from the last scan; NULL where it is new, or has changed since. */
static const struct cairn_serve_file *find_known(const struct cairn_serve_folder *folder, const struct cairn_serve_file *file)
{
	const struct cairn_serve_file *known =
		folder->file_count ? bsearch(file, folder->files, folder->file_count, sizeof *file, by_name) : NULL;
	bool same = known && known->inode == file->inode && known->size == file->size && known->modified_ns == file->modified_ns;
	return same ? known : NULL;
}

/* Whether HEAD, the first bytes of a file, is that of a dump. Folded text is not taken for one: many logs look like it. */
static bool begins_like_dump(struct cairn_bytes head)
{
	enum cairn_format format = cairn_profile_sniff_inside(head);
	return format != CAIRN_FORMAT_UNKNOWN && format != CAIRN_FORMAT_FOLDED;
}

/* The contents of FILE: a regular one, and no link that leads elsewhere; only the first part of one that is no dump. *CHANGED says that it
 * is not what was listed any more. */
static bool read_file(const char *folder, const struct cairn_serve_file *file, struct cairn_buffer *out, bool *changed)
{
	struct cairn_buffer head = cairn_buffer(head_most);
	struct stat before, after;
	int directory = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int descriptor = directory >= 0 ? openat(directory, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) : -1;
	bool good = descriptor >= 0 && fstat(descriptor, &before) == 0 && S_ISREG(before.st_mode) && before.st_size <= file_most &&
		    cairn_buffer_read(&head, descriptor);
	cairn_buffer_append(out, head.data, head.length);
	if (good && begins_like_dump(cairn_buffer_bytes(&head)))
		good = cairn_buffer_read(out, descriptor) && !out->failed;
	cairn_buffer_free(&head);
	*changed = good && (fstat(descriptor, &after) != 0 || after.st_ino != file->inode || (uint64_t)after.st_size != file->size ||
			    cairn_time_ns(&after.st_mtim) != file->modified_ns);
	if (descriptor >= 0)
		close(descriptor);
	if (directory >= 0)
		close(directory);
	return good;
}

/* Unpacks what is packed. */
static bool unpack(struct cairn_buffer *dump, bool *cut)
{
	char *data;
	size_t length;
	if (cairn_unpack_sniff(cairn_buffer_bytes(dump)) == CAIRN_PACKED_NOT)
		return true;
	if (!cairn_unpack(cairn_buffer_bytes(dump), &data, &length, cut, NULL))
		return false;
	dump->length = 0;
	cairn_buffer_append(dump, data, length);
	free(data);
	return true;
}

/* What a key is made of: letters, digits and a few signs, whatever the program is called. */
static void make_key(char *out, size_t size, const struct cairn_profile *part)
{
	char clean[48];
	size_t length = 0;
	struct cairn_life life;
	for (const char *at = cairn_base_name(cairn_profile_string(part, part->facts.process)); *at && length + 1 < sizeof clean; at++)
		clean[length++] = isalnum((unsigned char)*at) || strchr("._-", *at) ? *at : '_';
	clean[length] = 0;
	length = (size_t)snprintf(out, size, "%s-%llu", clean[0] ? clean : "process", (unsigned long long)part->facts.process_id);
	/* Numbers are used again. */
	if (part->facts.life && cairn_life_parse(cairn_strings_bytes(&part->strings, part->facts.life), &life) && life.ticks)
		snprintf(out + length, size - length, "-%llu", (unsigned long long)life.ticks);
}

/* Runs of one program, one after the other on one machine, are one entry. A process whose program or start is not known is an entry of its
 * own: it may be another, or have been there at any time. */
struct identity {
	char key[CAIRN_SERVE_KEY];
	const char *program;
	struct cairn_bytes host;
	int64_t start_ns, time_ns;
};

static bool is_beside(const struct cairn_serve_run *run, const struct identity *identity)
{
	return identity->start_ns < run->last_ns && run->start_ns < identity->time_ns;
}

/* Whether IDENTITY ran before or after all runs of PROCESS; OWN is one that it has there already, or NULL. */
static bool fits(const struct cairn_serve_process *process, const struct identity *identity, const struct cairn_serve_run *own)
{
	if (!own && (!identity->start_ns || !identity->program[0] || strcmp(process->folder_program, identity->program) != 0 ||
		     !cairn_bytes_equal(cairn_bytes_of(process->folder_host), identity->host)))
		return false;
	for (size_t i = 0; i < process->run_count; i++)
		if (&process->runs[i] != own && (!process->runs[i].start_ns || is_beside(&process->runs[i], identity)))
			return false;
	return true;
}

static void add_run(struct cairn_serve_process *process, const struct identity *identity)
{
	cairn_array_room(process->runs, process->run_count, process->run_capacity);
	struct cairn_serve_run *run = &process->runs[process->run_count++];
	*run = (struct cairn_serve_run){.start_ns = identity->start_ns, .last_ns = identity->time_ns};
	memcpy(run->key, identity->key, sizeof run->key);
}

/* The entry that has the run; NULL for none. One that turns out to have gone on beside another run leaves it. */
static struct cairn_serve_process *find_run(struct cairn_serve *serve, const struct identity *identity)
{
	for (size_t i = 0; i < serve->process_count; i++) {
		struct cairn_serve_process *process = serve->processes[i];
		for (size_t r = 0; r < process->run_count; r++) {
			struct cairn_serve_run *run = &process->runs[r];
			if (strcmp(run->key, identity->key) != 0)
				continue;
			if (fits(process, identity, run)) {
				run->last_ns = identity->time_ns > run->last_ns ? identity->time_ns : run->last_ns;
				return process;
			}
			*run = process->runs[--process->run_count];
			/* It becomes an entry of its own, with its own key. */
			if (process->run_count > 0 && strcmp(process->key, identity->key) == 0)
				memcpy(process->key, process->runs[0].key, sizeof process->key);
			return NULL;
		}
	}
	return NULL;
}

static int64_t newest_of(const struct cairn_serve_process *process)
{
	int64_t newest = 0;
	for (size_t i = 0; i < process->run_count; i++)
		newest = process->runs[i].last_ns > newest ? process->runs[i].last_ns : newest;
	return newest;
}

/* Drops the entry of a folder that is missed least: the one that ended first, or else the one that has written nothing for the longest
 * time. What was written before TIME_NS drops nothing newer. Those that go on stay, however many there are: if they took turns, none would
 * have a course. */
static void make_room(struct cairn_serve_folder *folder, int64_t time_ns)
{
	struct cairn_serve *serve = folder->serve;
	struct cairn_serve_process *least = NULL;
	for (size_t i = 0; i < serve->process_count; i++) {
		struct cairn_serve_process *process = serve->processes[i];
		int64_t newest = newest_of(process);
		bool ended = process->state == CAIRN_SERVE_ENDED;
		if (process->run_count == 0 || process->name || newest >= (ended ? time_ns : time_ns - stale_ns))
			continue;
		bool least_ended = least && least->state == CAIRN_SERVE_ENDED;
		if (!least || (ended != least_ended ? ended : newest < newest_of(least)))
			least = process;
	}
	if (least)
		cairn_serve_process_drop(least, &folder->dropped);
}

/* The process that PART, read from DUMP, is of, known already or new; NULL where there are too many. It has one user more, which is the
 * caller: several folders may have dumps of one process. *KEY tells the run apart from others. */
static struct cairn_serve_process *process_of(struct cairn_serve_folder *folder, const struct cairn_profile *part, struct cairn_bytes dump,
					      uint64_t *key)
{
	struct cairn_serve *serve = folder->serve;
	struct cairn_trailer trailer;
	struct identity identity = {
		.program = cairn_profile_string(part, part->facts.process),
		.host = cairn_trailer_read(dump, &trailer) ? trailer.host : (struct cairn_bytes){"", 0},
		.start_ns = part->facts.start_ns,
		.time_ns = part->facts.time_ns,
	};
	make_key(identity.key, sizeof identity.key, part);
	*key = cairn_hash_text(cairn_bytes_of(identity.key));
	pthread_mutex_lock(&serve->lock);
	struct cairn_serve_process *process = find_run(serve, &identity);
	bool known = process != NULL;
	for (size_t i = 0; i < serve->process_count && !process; i++)
		if (!serve->processes[i]->name && serve->processes[i]->run_count > 0 && fits(serve->processes[i], &identity, NULL))
			process = serve->processes[i];
	if (!process) {
		if (serve->process_count == CAIRN_SERVE_PROCESSES)
			make_room(folder, identity.time_ns);
		process = cairn_serve_process_new(serve, identity.key);
		if (process) {
			process->state = CAIRN_SERVE_FOLDER;
			snprintf(process->folder_program, sizeof process->folder_program, "%s", identity.program);
			snprintf(process->folder_host, sizeof process->folder_host, "%.*s",
				 (int)(identity.host.length < 64 ? identity.host.length : 64), identity.host.data);
		}
	}
	if (process && !known)
		add_run(process, &identity);
	if (process)
		process->users++;
	pthread_mutex_unlock(&serve->lock);
	return process;
}

static int64_t date_of(const struct cairn_serve_file *file)
{
	struct tm date;
	return cairn_dump_name_date(file->name, &date) ? (int64_t)mktime(&date) * CAIRN_SECOND_NS : file->modified_ns;
}

/* Whether FILE, whose contents are DUMP, may still be written. CUT is what its reader says. */
static bool is_being_written(const struct cairn_serve_file *file, struct cairn_bytes dump, bool packed, bool cut)
{
	struct cairn_trailer trailer;
	int64_t age = cairn_clock_wall_ns() - file->modified_ns;
	/* The clock of a machine that shares the folder may be ahead of ours. */
	if (age < -cut_ns || age >= cut_ns || cairn_profile_sniff(dump) == CAIRN_FORMAT_LEDGER) /* which is written all the time */
		return false;
	if (cairn_trailer_read(dump, &trailer) && trailer.complete)
		return false;
	return cut || (!packed && age < unsaid_ns);
}

/* Adds FILE to its process, which is stored in *PROCESS with one more user, or NULL if FILE is no dump. Returns false if FILE is
 * still being written. */
static bool load(struct cairn_serve_folder *folder, struct cairn_serve_file *file, struct cairn_serve_process **process)
{
	struct cairn_buffer buffer = cairn_buffer(file_most);
	struct cairn_profile part;
	struct cairn_error error;
	struct cairn_dump_name name;
	bool changed = false, cut = false, whole = true;
	*process = NULL;
	if (read_file(folder->path, file, &buffer, &changed)) {
		bool packed = cairn_unpack_sniff(cairn_buffer_bytes(&buffer)) != CAIRN_PACKED_NOT;
		bool certain = begins_like_dump(cairn_buffer_bytes(&buffer)), unpacked = !certain || unpack(&buffer, &cut);
		struct cairn_bytes dump = cairn_buffer_bytes(&buffer);
		enum cairn_format format = unpacked && certain ? cairn_profile_sniff(dump) : CAIRN_FORMAT_UNKNOWN;
		bool is_dump = format != CAIRN_FORMAT_UNKNOWN && format != CAIRN_FORMAT_FOLDED;
		bool read = is_dump && cairn_archive_read(&part, &folder->serve->options->source, dump, file->name, date_of(file), &error);
		cut = cut || !unpacked || (is_dump && (!read || part.warning_count > 0));
		/* A file that is no dump, such as a log, may grow for ever. It is looked at again when a scan finds it changed. */
		bool other = unpacked && !is_dump;
		whole = other || format == CAIRN_FORMAT_LEDGER || (!changed && !is_being_written(file, dump, packed, cut));
		if (read && whole) {
			if (!part.facts.process_id && cairn_dump_name_parse(file->name, &name))
				part.facts.process_id = name.process_id;
			*process = process_of(folder, &part, dump, &file->run);
			if (*process)
				cairn_serve_process_add(*process, &part, dump, false);
		}
		if (is_dump)
			cairn_profile_free(&part);
	}
	cairn_buffer_free(&buffer);
	return whole;
}

static void settle(struct cairn_serve_process *process)
{
	char ended[CAIRN_ARCHIVE_ENDED] = "";
	cairn_serve_process_judge(process);
	pthread_mutex_lock(&process->serve->lock);
	if (process->point_count > 0)
		memcpy(ended, process->points[process->point_count - 1].ended, sizeof ended);
	pthread_mutex_unlock(&process->serve->lock);
	cairn_serve_process_state(process, ended[0] ? CAIRN_SERVE_ENDED : CAIRN_SERVE_FOLDER, ended);
}

/* Describes the file NAME in the folder behind DIRECTORY. Returns false if it cannot be a dump. */
static bool describe(int directory, const char *name, struct cairn_serve_file *file)
{
	struct stat status;
	if (name[0] == '.' || strlen(name) >= sizeof file->name || fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(status.st_mode))
		return false;
	*file = (struct cairn_serve_file){
		.inode = status.st_ino, .size = (uint64_t)status.st_size, .modified_ns = cairn_time_ns(&status.st_mtim)};
	snprintf(file->name, sizeof file->name, "%s", name);
	return true;
}

/* Lists the files of the folder, the newest first. */
static size_t list(const struct cairn_serve_folder *folder, struct cairn_serve_file **all)
{
	size_t count = 0, capacity = 0;
	*all = NULL;
	DIR *entries = opendir(folder->path);
	for (const struct dirent *entry; entries && (entry = readdir(entries));) {
		*all = cairn_array_reserve(*all, &capacity, count + 1, sizeof **all);
		count += describe(dirfd(entries), entry->d_name, &(*all)[count]);
	}
	if (entries)
		closedir(entries);
	if (count > 0)
		qsort(*all, count, sizeof **all, newest_first);
	return count < files_most ? count : files_most;
}

/* Adds NAME to those that are to be looked at. */
static void note_changed(struct cairn_serve_folder *folder, const char *name)
{
	size_t length = strlen(name);
	if (name[0] == '.' || length >= sizeof folder->changed->text)
		return;
	for (size_t i = 0; i < folder->changed_count; i++)
		if (strcmp(folder->changed[i].text, name) == 0)
			return;
	if (folder->changed_count == names_most) {
		folder->missed = true;
		return;
	}
	cairn_array_room(folder->changed, folder->changed_count, folder->changed_capacity);
	memcpy(folder->changed[folder->changed_count++].text, name, length + 1);
}

static bool has_changed(const struct cairn_serve_folder *folder, const char *name)
{
	for (size_t i = 0; i < folder->changed_count; i++)
		if (strcmp(folder->changed[i].text, name) == 0)
			return true;
	return false;
}

/* Lists the files that are to be looked at, the newest first, in *SOME. What is known of them, and of those that are gone, is not in *OTHERS,
 * which has all that is known of the rest. */
static size_t list_changed(struct cairn_serve_folder *folder, struct cairn_serve_file **some, struct cairn_serve_file **others,
			   size_t *other_count)
{
	size_t count = 0;
	*some = cairn_array_new(folder->changed_count, sizeof **some);
	*others = cairn_array_new(folder->file_count + folder->changed_count, sizeof **others);
	*other_count = 0;
	int directory = open(folder->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; directory >= 0 && i < folder->changed_count; i++)
		count += describe(directory, folder->changed[i].text, &(*some)[count]);
	if (directory >= 0)
		close(directory);
	for (size_t i = 0; i < folder->file_count; i++)
		if (!has_changed(folder, folder->files[i].name))
			(*others)[(*other_count)++] = folder->files[i];
	if (count > 0)
		qsort(*some, count, sizeof **some, newest_first);
	return count;
}

/* Judges each process whose dumps changed. */
static void settle_all(struct cairn_serve_process **changed, size_t count)
{
	for (size_t i = 0; i < count; i++)
		settle(changed[i]);
}

/* Counts the runs that FOLDER has dumps of and the list has not. */
static void count_unlisted(struct cairn_serve_folder *folder)
{
	struct cairn_serve *serve = folder->serve;
	struct cairn_map seen = {0};
	size_t count = 0;
	pthread_mutex_lock(&serve->lock);
	for (size_t i = 0; i < serve->process_count; i++)
		for (size_t run = 0; run < serve->processes[i]->run_count; run++)
			*cairn_map_at(&seen, cairn_hash_text(cairn_bytes_of(serve->processes[i]->runs[run].key))) = 0;
	for (size_t i = 0; i < folder->file_count; i++)
		if (folder->files[i].run && cairn_map_get(&seen, folder->files[i].run) == CAIRN_NONE) {
			*cairn_map_at(&seen, folder->files[i].run) = 0;
			count++;
		}
	serve->unlisted_processes += count - folder->unlisted;
	folder->unlisted = count;
	pthread_mutex_unlock(&serve->lock);
	cairn_map_free(&seen);
}

static void release(struct cairn_serve_process *process)
{
	pthread_mutex_lock(&process->serve->lock);
	process->users--;
	pthread_mutex_unlock(&process->serve->lock);
}

/* Reads what is new of the COUNT files at FOUND, and keeps at their beginning what is known of them now; returns how many those are. What is
 * not whole yet is noted as changed. Early on, what was read is judged now and then, so that a page has something to show. */
static size_t read_new(struct cairn_serve_folder *folder, struct cairn_serve_file *found, size_t count)
{
	enum { at_once = 64 };
	struct cairn_serve_process **changed = NULL;
	size_t changed_count = 0, changed_capacity = 0, read = 0, kept = 0;
	for (size_t i = 0; i < count && !atomic_load(&folder->serve->stop); i++) {
		const struct cairn_serve_file *known = find_known(folder, &found[i]);
		struct cairn_serve_process *process = NULL;
		struct cairn_serve_file file = known ? *known : found[i];
		if (!known && !load(folder, &file, &process)) {
			folder->unsettled = true;
			note_changed(folder, file.name);
			continue;
		}
		found[kept++] = file;
		if (known)
			continue;
		bool noted = !process;
		for (size_t j = 0; j < changed_count && !noted; j++)
			if (changed[j] == process) {
				noted = true;
				release(process);
			}
		if (!noted) {
			cairn_array_room(changed, changed_count, changed_capacity);
			changed[changed_count++] = process;
		}
		if (++read % at_once == 1)
			settle_all(changed, changed_count);
	}
	settle_all(changed, changed_count);
	for (size_t i = 0; i < changed_count; i++)
		release(changed[i]);
	free(changed);
	return kept;
}

/* From now on COUNT files, those at FILES, are known. */
static void keep_known(struct cairn_serve_folder *folder, struct cairn_serve_file *files, size_t count)
{
	if (count > 0)
		qsort(files, count, sizeof *files, by_name);
	free(folder->files);
	folder->files = files;
	folder->file_count = count;
	count_unlisted(folder);
	cairn_serve_dropped_free(&folder->dropped);
}

/* Looks at all files of the folder. */
static void scan(struct cairn_serve_folder *folder)
{
	struct cairn_serve_file *all;
	folder->changed_count = 0;
	folder->missed = folder->unsettled = false;
	int64_t began = cairn_clock_ns();
	size_t count = list(folder, &all);
	int64_t listed = cairn_clock_ns(), pause = all_rest * (listed - began);
	keep_known(folder, all, read_new(folder, all, count));
	folder->all_ns = cairn_clock_ns() + (pause > all_pause_ns ? pause : all_pause_ns);
	folder->again_ns = cairn_clock_ns() + again_pause_ns;
}

/* Looks at those that may have changed. */
static void scan_changed(struct cairn_serve_folder *folder)
{
	struct cairn_serve_file *some, *files;
	size_t file_count, count = list_changed(folder, &some, &files, &file_count);
	folder->changed_count = 0;
	folder->unsettled = false;
	count = read_new(folder, some, count);
	memcpy(files + file_count, some, count * sizeof *files);
	free(some);
	keep_known(folder, files, file_count + count);
	folder->again_ns = cairn_clock_ns() + again_pause_ns;
}

bool cairn_serve_folder_open(struct cairn_serve_folder *folder, struct cairn_serve *serve, const char *path, struct cairn_error *error)
{
	struct stat status;
	bool any = false;
	struct cairn_serve_file *all;
	*folder = (struct cairn_serve_folder){.serve = serve, .path = path, .inotify = -1};
	if (stat(path, &status) != 0)
		return cairn_fail_errno(error, "%s", path);
	if (!S_ISDIR(status.st_mode))
		return cairn_fail_usage(error, "%s: not a folder; 'cairn html %s' shows one dump", path, path);
	DIR *entries = opendir(path);
	if (!entries)
		return cairn_fail_errno(error, "%s", path);
	closedir(entries);
	folder->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (folder->inotify >= 0)
		inotify_add_watch(folder->inotify, path, IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM | IN_ONLYDIR);
	size_t count = list(folder, &all);
	for (size_t i = 0; i < count && !any; i++) {
		struct cairn_buffer contents = cairn_buffer(file_most);
		bool changed;
		any = read_file(path, &all[i], &contents, &changed) && contents.length > 0 && begins_like_dump(cairn_buffer_bytes(&contents));
		cairn_buffer_free(&contents);
	}
	free(all);
	atomic_fetch_add(&serve->loading, 1);
	if (!any)
		cairn_note("%s: no heap dump in this folder yet; the page shows the first one that is written", path);
	return true;
}

/* Takes the names that the kernel has for us. Returns whether there were any. */
static bool hear(struct cairn_serve_folder *folder)
{
	char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool any = false;
	for (ssize_t length; folder->inotify >= 0 && (length = read(folder->inotify, events, sizeof events)) > 0; any = true)
		for (const char *at = events; at < events + length;) {
			const struct inotify_event *event = (const struct inotify_event *)(const void *)at;
			if (event->mask & IN_Q_OVERFLOW)
				folder->missed = true;
			else if (event->len > 0)
				note_changed(folder, event->name);
			at += sizeof *event + event->len;
		}
	return any;
}

/* Waits until UNTIL_NS, or until the server stops. Meanwhile the kernel collects what changes. */
static void pause_until(const struct cairn_serve_folder *folder, int64_t until_ns)
{
	for (int64_t left; !atomic_load(&folder->serve->stop) && (left = until_ns - cairn_clock_ns()) > 0;) {
		int64_t slice = wait_ms * CAIRN_MILLISECOND_NS;
		slice = left < slice ? left : slice;
		nanosleep(&(struct timespec){.tv_sec = slice / CAIRN_SECOND_NS, .tv_nsec = slice % CAIRN_SECOND_NS}, NULL);
	}
}

void *cairn_serve_folder_run(void *context)
{
	struct cairn_serve_folder *folder = context;
	scan(folder);
	atomic_fetch_sub(&folder->serve->loading, 1);
	while (!atomic_load(&folder->serve->stop)) {
		struct pollfd ready = {.fd = folder->inotify, .events = POLLIN};
		poll(&ready, 1, wait_ms);
		bool news = hear(folder);
		int64_t now = cairn_clock_ns();
		if (folder->missed || now >= folder->all_ns)
			scan(folder);
		else if (folder->changed_count > 0 && (news || now >= folder->again_ns))
			scan_changed(folder);
		else
			continue;
		int64_t end = cairn_clock_ns();
		pause_until(folder, end + rest * (end - now));
	}
	if (folder->inotify >= 0)
		close(folder->inotify);
	free(folder->files);
	free(folder->changed);
	return NULL;
}
