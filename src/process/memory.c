/* memory.c - statm, mountinfo and the files of control groups, version 1 and 2.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/memory.h"

#include "base/descriptor.h"
#include "base/hash.h"
#include "base/peek.h"
#include "base/text.h"
#include "base/time.h"
#include "process/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

enum { piece = 4096, path_size = CAIRN_MEMORY_PATH + 64 };
static const int64_t refresh_ns = 2 * CAIRN_SECOND_NS;
static const uint64_t no_limit = (uint64_t)1 << 62; /* version 1 writes a number near 2^63 where there is none */

static const char *process_path(const char *root, int pid, const char *name, char out[path_size])
{
	char path[CAIRN_PROC_PATH];
	snprintf(out, path_size, "%s%s", root, cairn_proc_path(path, pid, name));
	return out;
}

/* The number behind NAME and blanks, at the start of some line of TEXT. */
static uint64_t number_of(struct cairn_bytes text, const char *name)
{
	struct cairn_bytes line;
	uint64_t value;
	while (cairn_text_line(&text, &line, NULL)) {
		if (!cairn_text_take(&line, name) || line.length == 0 || (line.data[0] != ' ' && line.data[0] != '\t'))
			continue;
		line = cairn_text_trim(line);
		return cairn_text_decimal(&line, &value) ? value : 0;
	}
	return 0;
}

/* Whether WORD is among WORDS, which have commas between them. */
static bool has_word(struct cairn_bytes words, const char *word)
{
	while (words.length > 0)
		if (cairn_bytes_equal(cairn_text_field(&words, ','), cairn_bytes_of(word)))
			return true;
	return false;
}

/* The two places a process may have among groups: in the memory hierarchy of version 1, and in version 2's only one. */
struct place {
	char path[CAIRN_MEMORY_PATH];  /* as /proc/PID/cgroup has it; "" for none */
	char root[CAIRN_MEMORY_PATH];  /* what of the hierarchy is mounted */
	char mount[CAIRN_MEMORY_PATH]; /* where; "" for nowhere */
};

static void copy(char *out, struct cairn_bytes text)
{
	if (text.length < CAIRN_MEMORY_PATH)
		snprintf(out, CAIRN_MEMORY_PATH, "%.*s", (int)text.length, text.data);
}

/* A line `4:cpu,memory:/path`, or `0::/path` for version 2. */
static void see_group(struct place places[2], struct cairn_bytes line)
{
	cairn_text_field(&line, ':');
	struct cairn_bytes controllers = cairn_text_field(&line, ':');
	if (line.length == 0)
		return;
	if (has_word(controllers, "memory"))
		copy(places[0].path, line);
	else if (controllers.length == 0)
		copy(places[1].path, line);
}

/* Whether the three characters at DIGITS are a byte, in octal. */
static bool is_octal(const char *digits)
{
	return digits[0] >= '0' && digits[0] <= '3' && digits[1] >= '0' && digits[1] <= '7' && digits[2] >= '0' && digits[2] <= '7';
}

/* Copies a path of mountinfo, which has blanks and backslashes as \040 and \134: systemd's names of groups are full of those. */
static void copy_escaped(char *out, struct cairn_bytes text)
{
	size_t length = 0;
	while (text.length > 0 && length + 1 < CAIRN_MEMORY_PATH) {
		const char *at = text.data;
		bool escape = text.length >= 4 && at[0] == '\\' && is_octal(at + 1);
		out[length++] = escape ? (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0')) : at[0];
		text = cairn_bytes_skip(text, escape ? 4 : 1);
	}
	out[text.length > 0 ? 0 : length] = 0; /* one that does not fit is none */
}

/* A line of mountinfo: number, parent, device, ROOT, MOUNT, options, tags, `-`, TYPE, source, OPTIONS. */
static void see_mount(struct place places[2], struct cairn_bytes line)
{
	struct cairn_bytes words[5];
	for (int i = 0; i < 5; i++)
		words[i] = cairn_text_field(&line, ' ');
	const char *dash = line.length ? memmem(line.data, line.length, " - cgroup", 9) : NULL;
	if (!dash)
		return;
	line = cairn_bytes_skip(line, (size_t)(dash - line.data) + 3);
	struct cairn_bytes type = cairn_text_field(&line, ' ');
	cairn_text_field(&line, ' '); /* the source, which may be empty */
	struct place *place = &places[cairn_bytes_equal(type, cairn_bytes_of("cgroup2"))];
	if (place->mount[0] || (place == places && !has_word(line, "memory")))
		return;
	copy_escaped(place->root, words[3]);
	copy_escaped(place->mount, words[4]);
}

/* Read in pieces, since a host of containers has thousands of mounts; a line longer than a piece is left out. */
static void see_mounts(struct place places[2], const char *path)
{
	char text[piece];
	int descriptor = cairn_descriptor_adopt(cairn_peek_open(path));
	size_t kept = 0;
	bool skipping = false;
	for (ssize_t length; descriptor >= 0 && (length = read(descriptor, text + kept, sizeof text - kept)) > 0;) {
		struct cairn_bytes rest = {text, kept + (size_t)length}, line;
		const char *end = memrchr(rest.data, '\n', rest.length);
		size_t whole = end ? (size_t)(end - rest.data) + 1 : 0;
		kept = rest.length - whole;
		rest.length = whole;
		while (cairn_text_line(&rest, &line, NULL)) {
			if (!skipping)
				see_mount(places, line);
			skipping = false;
		}
		memmove(text, text + whole, kept);
		if (kept == sizeof text) {
			skipping = true;
			kept = 0;
		}
	}
	cairn_descriptor_close(descriptor);
}

/* The folder of a group, where the mount shows PLACE's path. A path outside of what is mounted (a container that sees its own
 * group only, under the name the host has for it) stands for the mount point. */
static bool resolve(struct cairn_memory *memory, const struct place *place)
{
	const char *inside = place->path;
	size_t root = strcmp(place->root, "/") == 0 ? 0 : strlen(place->root);
	if (!place->path[0] || !place->mount[0])
		return false;
	if (strncmp(inside, place->root, root) == 0 && (inside[root] == '/' || !inside[root]))
		inside += root;
	else
		inside = "";
	if (strstr(inside, "/..") || strcmp(inside, "/") == 0)
		inside = "";
	int mount = snprintf(memory->group, sizeof memory->group, "%s%s", memory->root, place->mount);
	if (mount <= 0 || (size_t)mount + strlen(inside) >= sizeof memory->group) {
		memory->group[0] = 0;
		return false;
	}
	memory->mount = (size_t)mount;
	memcpy(memory->group + mount, inside, strlen(inside) + 1);
	if (access(memory->group, F_OK) != 0)
		memory->group[mount] = 0;
	return access(memory->group, F_OK) == 0;
}

/* Inside a host, descriptors are a guest's; the command's own process is its own. */
static int open_kept(const struct cairn_memory *memory, const char *path)
{
	int descriptor = cairn_peek_open(path);
	return memory->pid ? descriptor : cairn_descriptor_adopt(descriptor);
}

static void close_kept(const struct cairn_memory *memory, int *descriptor)
{
	if (!memory->pid)
		cairn_descriptor_close(*descriptor);
	else if (*descriptor >= 0)
		close(*descriptor);
	*descriptor = -1;
}

static int open_in_group(const struct cairn_memory *memory, const char *name)
{
	char path[path_size];
	snprintf(path, sizeof path, "%s/%s", memory->group, name);
	return memory->group[0] ? open_kept(memory, path) : -1;
}

/* Finds the group, again when the process was moved to another. */
static void find_group(struct cairn_memory *memory)
{
	char path[path_size], text[piece];
	struct place places[2] = {0};
	struct cairn_bytes lines = cairn_peek(process_path(memory->root, memory->pid, "cgroup", path), text, sizeof text), line;
	uint64_t membership = cairn_hash_text(lines);
	if (membership == memory->membership)
		return;
	memory->membership = membership;
	while (cairn_text_line(&lines, &line, NULL))
		see_group(places, line);
	see_mounts(places, process_path(memory->root, 0, "mountinfo", path));
	memory->version_one = resolve(memory, &places[0]);
	if (!memory->version_one && !resolve(memory, &places[1]))
		memory->group[0] = 0;
	close_kept(memory, &memory->events);
	close_kept(memory, &memory->pressure);
	memory->events = open_in_group(memory, memory->version_one ? "memory.oom_control" : "memory.events");
	memory->pressure = memory->version_one ? -1 : open_in_group(memory, "memory.pressure");
	if (memory->pressure < 0) {
		snprintf(path, sizeof path, "%s/proc/pressure/memory", memory->root);
		memory->pressure = open_kept(memory, path);
	}
}

/* The number in FOLDER/NAME, of which the first LENGTH bytes count; NONE where there is no number. */
static uint64_t read_number(const char *folder, size_t length, const char *name, uint64_t none)
{
	char path[path_size], text[64];
	uint64_t value;
	snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, name);
	struct cairn_bytes rest = cairn_text_trim(cairn_peek(path, text, sizeof text));
	return cairn_text_decimal(&rest, &value) && rest.length == 0 ? value : none;
}

/* The files of a group that hold its limits, up to a NULL. */
static const char *const *limit_names(const struct cairn_memory *memory)
{
	static const char *const version_one[] = {"memory.limit_in_bytes", NULL};
	static const char *const version_two[] = {"memory.max", "memory.high", NULL};
	return memory->version_one ? version_one : version_two;
}

/* What the group in the first LENGTH bytes of the folder uses; 0 when unknown. */
static uint64_t read_usage(const struct cairn_memory *memory, size_t length)
{
	return read_number(memory->group, length, memory->version_one ? "memory.usage_in_bytes" : "memory.current", 0);
}

/* How many bytes of the folder are that of the parent group; 0 for the mount point, whose group has none. */
static size_t parent_length(const struct cairn_memory *memory, size_t length)
{
	return length > memory->mount ? (size_t)((const char *)memrchr(memory->group, '/', length) - memory->group) : 0;
}

/* The tightest limit on the way from the group to the mount point. */
static void read_limits(struct cairn_memory *memory)
{
	struct cairn_memory_reading *slow = &memory->slow;
	size_t tightest = 0;
	slow->limit = slow->host_total;
	for (size_t length = strlen(memory->group); length; length = parent_length(memory, length))
		for (const char *const *name = limit_names(memory); *name; name++) {
			uint64_t limit = read_number(memory->group, length, *name, no_limit);
			if (limit == 0 || limit >= no_limit || (slow->limit && limit >= slow->limit))
				continue;
			slow->limit = limit;
			tightest = length;
		}
	memory->limiting = tightest;
	slow->limit_of_group = tightest > 0;
	slow->usage = tightest ? read_usage(memory, tightest) : 0;
}

static void read_events(const struct cairn_memory *memory, struct cairn_memory_events *events)
{
	char text[piece];
	struct cairn_bytes lines = cairn_peek_again(memory->events, text, sizeof text);
	if (lines.length == 0)
		return;
	events->oom_kill = number_of(lines, "oom_kill");
	if (memory->version_one) {
		events->max = read_number(memory->group, strlen(memory->group), "memory.failcnt", 0);
		return;
	}
	events->high = number_of(lines, "high");
	events->max = number_of(lines, "max");
	events->oom = number_of(lines, "oom");
}

/* `some avg10=1.53 avg60=…`: hundredths of a percent. */
static double read_pressure(int descriptor)
{
	char text[256];
	struct cairn_bytes rest = cairn_peek_again(descriptor, text, sizeof text);
	uint64_t whole, part = 0;
	if (!cairn_text_take(&rest, "some avg10=") || !cairn_text_decimal(&rest, &whole))
		return 0;
	if (cairn_text_take(&rest, "."))
		cairn_text_decimal(&rest, &part);
	return whole > 100 || part > 99 ? 0 : (double)(whole * 100 + part) / 10000;
}

/* Reads what the machine and the group say. */
static void ask_group(struct cairn_memory *memory)
{
	char path[path_size], text[piece];
	struct cairn_memory_reading *slow = &memory->slow;
	snprintf(path, sizeof path, "%s/proc/meminfo", memory->root);
	struct cairn_bytes lines = cairn_peek(path, text, sizeof text);
	slow->host_total = number_of(lines, "MemTotal:") << 10;
	slow->host_available = number_of(lines, "MemAvailable:") << 10;
	slow->limit = slow->host_total;
	slow->limit_of_group = false;
	slow->usage = 0;
	memory->limiting = 0;
	if (memory->group[0])
		read_limits(memory);
	read_events(memory, &slow->events);
	slow->pressure = read_pressure(memory->pressure);
}

/* Reads the values that change rarely, or takes them over from another process of the group that has done so. */
static void refresh(struct cairn_memory *memory, int64_t now)
{
	find_group(memory);
	struct cairn_memory_groups *groups = memory->groups;
	struct cairn_memory_group *row = groups ? &groups->rows[memory->membership % (sizeof groups->rows / sizeof *groups->rows)] : NULL;
	if (row && row->membership && row->membership == memory->membership && now - row->refreshed_ns < refresh_ns) {
		memory->slow = row->slow;
		memory->limiting = row->limiting;
		memory->refreshed_ns = row->refreshed_ns;
		return;
	}
	ask_group(memory);
	memory->refreshed_ns = now;
	if (row)
		*row = (struct cairn_memory_group){memory->membership, now, memory->limiting, memory->slow};
}

/* How many processes the OOM killer has killed in the group or on the whole machine; 0 when unknown. */
static uint64_t count_group_kills(const struct cairn_memory *memory)
{
	char text[piece];
	return number_of(cairn_peek_again(memory->events, text, sizeof text), "oom_kill");
}

static uint64_t count_host_kills(const struct cairn_memory *memory)
{
	char path[path_size], text[piece * 4];
	snprintf(path, sizeof path, "%s/proc/vmstat", memory->root);
	return number_of(cairn_peek(path, text, sizeof text), "oom_kill");
}

void cairn_memory_raise_file_limit(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) != 0)
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

bool cairn_memory_open(struct cairn_memory *memory, const char *root, int pid, struct cairn_error *error)
{
	char path[path_size];
	*memory = (struct cairn_memory){.root = root, .pid = pid, .statm = -1, .events = -1, .pressure = -1, .refreshed_ns = INT64_MIN};
	memory->statm = open_kept(memory, process_path(root, pid, "statm", path));
	if (memory->statm < 0)
		return errno == ENOENT && pid ? cairn_fail(error, "no process %d", pid)
					      : cairn_fail_errno(error, "cannot watch memory: %s", path);
	find_group(memory);
	memory->group_kills = count_group_kills(memory);
	memory->host_kills = count_host_kills(memory);
	return true;
}

bool cairn_memory_read(struct cairn_memory *memory, int64_t now, struct cairn_memory_reading *reading)
{
	char text[256];
	struct cairn_proc_statm statm;
	if (!cairn_proc_statm_parse(cairn_peek_again(memory->statm, text, sizeof text), &statm) || statm.size == 0)
		return false; /* a zombie has no memory; nor has a thread of the kernel */
	if (memory->refreshed_ns == INT64_MIN || now - memory->refreshed_ns >= refresh_ns)
		refresh(memory, now);
	*reading = memory->slow;
	reading->resident = statm.resident;
	reading->anonymous = statm.anonymous;
	return true;
}

/* The page cache of the group in the first LENGTH bytes of the folder: what was not used lately, and with ALL the rest as well. */
static uint64_t read_cache(const struct cairn_memory *memory, size_t length, bool all)
{
	char path[path_size], text[piece];
	snprintf(path, sizeof path, "%.*s/memory.stat", (int)length, memory->group);
	struct cairn_bytes lines = cairn_peek(path, text, sizeof text);
	uint64_t inactive = number_of(lines, memory->version_one ? "total_inactive_file" : "inactive_file");
	return inactive + (all ? number_of(lines, memory->version_one ? "total_active_file" : "active_file") : 0);
}

uint64_t cairn_memory_cache(const struct cairn_memory *memory)
{
	return memory->limiting ? read_cache(memory, memory->limiting, true) : 0;
}

/* What the group in the first LENGTH bytes of the folder has left; UINT64_MAX where it has no limit. */
static uint64_t left_in_group(const struct cairn_memory *memory, size_t length)
{
	uint64_t limit = no_limit;
	for (const char *const *name = limit_names(memory); *name; name++) {
		uint64_t found = read_number(memory->group, length, *name, no_limit);
		limit = found < limit ? found : limit;
	}
	if (limit >= no_limit)
		return UINT64_MAX;
	uint64_t cache = read_cache(memory, length, false), usage = read_usage(memory, length);
	usage -= cache < usage ? cache : usage;
	return usage < limit ? limit - usage : 0;
}

uint64_t cairn_memory_left(struct cairn_memory *memory)
{
	find_group(memory);
	ask_group(memory);
	uint64_t left = memory->slow.host_available;
	for (size_t length = strlen(memory->group); length; length = parent_length(memory, length)) {
		uint64_t in_group = left_in_group(memory, length);
		left = in_group < left ? in_group : left;
	}
	return left;
}

bool cairn_memory_was_short(const struct cairn_memory *memory)
{
	char text[1];
	bool has_group = cairn_peek_again(memory->events, text, sizeof text).length > 0; /* a group may be removed with its last process */
	return has_group ? count_group_kills(memory) > memory->group_kills : count_host_kills(memory) > memory->host_kills;
}

void cairn_memory_close(struct cairn_memory *memory)
{
	close_kept(memory, &memory->statm);
	close_kept(memory, &memory->events);
	close_kept(memory, &memory->pressure);
}

uint64_t cairn_memory_in_sum(int pid, uint64_t anonymous)
{
	char path[CAIRN_PROC_PATH];
	uint64_t shared_out;
	bool known = cairn_proc_kilobytes(cairn_proc_path(path, pid, "smaps_rollup"), "Pss_Anon:", &shared_out);
	return known && shared_out < anonymous ? shared_out : anonymous;
}

bool cairn_memory_group_kills(const char *group, uint64_t *kills)
{
	static const char *const names[] = {"memory.events", "memory.oom_control"};
	for (int i = 0; i < 2; i++) {
		char path[path_size], text[piece];
		snprintf(path, sizeof path, "%.*s/%s", CAIRN_MEMORY_PATH, group, names[i]);
		int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC); /* GROUP may come from anybody's file */
		struct cairn_bytes lines = cairn_peek_again(descriptor, text, sizeof text);
		if (descriptor >= 0)
			close(descriptor);
		*kills = number_of(lines, "oom_kill");
		if (lines.length > 0)
			return true;
	}
	return false;
}
