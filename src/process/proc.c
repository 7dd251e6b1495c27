/* proc.c - parsing stat, statm, status and maps as proc(5) describes them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/proc.h"

#include "base/path.h"
#include "base/peek.h"
#include "base/text.h"

#include <assert.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

static int spoken_for;

void cairn_proc_speak_for(int pid)
{
	spoken_for = pid;
}

int cairn_proc_own(void)
{
	return spoken_for ? spoken_for : getpid();
}

const char *cairn_proc_path(char out[CAIRN_PROC_PATH], int pid, const char *name)
{
	pid = pid ? pid : spoken_for;
	int length = pid ? snprintf(out, CAIRN_PROC_PATH, "/proc/%d/%s", pid, name)
			 : snprintf(out, CAIRN_PROC_PATH, "/proc/thread-self/%s", name);
	assert(length < CAIRN_PROC_PATH);
	(void)length;
	return out;
}

const char *cairn_proc_task_path(char out[CAIRN_PROC_PATH], int pid, int tid, const char *name)
{
	pid = pid ? pid : spoken_for;
	int length = pid ? snprintf(out, CAIRN_PROC_PATH, "/proc/%d/task/%d/%s", pid, tid, name)
			 : snprintf(out, CAIRN_PROC_PATH, "/proc/self/task/%d/%s", tid, name);
	assert(length < CAIRN_PROC_PATH);
	(void)length;
	return out;
}

bool cairn_proc_stat_parse(struct cairn_bytes text, struct cairn_proc_stat *stat)
{
	enum { state_field = 3, parent_field = 4, faults_field = 10, child_faults_field = 11, major_field = 12, threads_field = 20, start_field = 22, exit_field = 52 };
	*stat = (struct cairn_proc_stat){0};
	/* PID (NAME) STATE PARENT ...: the name may contain anything, so it ends with the last bracket. */
	const char *end = text.length ? memrchr(text.data, ')', text.length) : NULL;
	if (!end)
		return false;
	struct cairn_bytes rest = cairn_bytes_skip(text, (size_t)(end - text.data) + 1);
	cairn_text_skip_blanks(&rest);
	for (int field = state_field; field <= exit_field && rest.length > 0; field++) {
		struct cairn_bytes word = cairn_text_word(&rest);
		uint64_t number = 0;
		if (field == state_field)
			stat->state = word.data[0];
		else
			cairn_text_decimal(&word, &number);
		if (field == parent_field)
			stat->parent = (int)number;
		else if (field == faults_field)
			stat->faults = number;
		else if (field == major_field)
			stat->major_faults = number;
		else if (field == child_faults_field)
			stat->child_faults = number;
		else if (field == threads_field)
			stat->threads = number;
		else if (field == start_field)
			stat->start_ticks = number;
		else if (field == exit_field)
			stat->exit_status = number;
	}
	return stat->state != 0;
}

bool cairn_proc_stat_read(int pid, struct cairn_proc_stat *stat)
{
	char path[CAIRN_PROC_PATH], room[1024];
	*stat = (struct cairn_proc_stat){0};
	return pid > 0 && cairn_proc_stat_parse(cairn_peek(cairn_proc_path(path, pid, "stat"), room, sizeof room), stat);
}

char cairn_proc_state(int pid)
{
	struct cairn_proc_stat stat;
	cairn_proc_stat_read(pid, &stat);
	return stat.state;
}

bool cairn_proc_statm_parse(struct cairn_bytes text, struct cairn_proc_statm *statm)
{
	uint64_t pages[3], page = (uint64_t)sysconf(_SC_PAGESIZE);
	*statm = (struct cairn_proc_statm){0};
	for (int i = 0; i < 3; i++) {
		struct cairn_bytes word = cairn_text_word(&text);
		if (!cairn_text_decimal(&word, &pages[i]))
			return false;
	}
	statm->size = pages[0] * page;
	statm->resident = pages[1] * page;
	statm->anonymous = pages[1] > pages[2] ? (pages[1] - pages[2]) * page : 0;
	return true;
}

bool cairn_proc_statm_read(int pid, struct cairn_proc_statm *statm)
{
	char path[CAIRN_PROC_PATH], room[256];
	return cairn_proc_statm_parse(cairn_peek(cairn_proc_path(path, pid, "statm"), room, sizeof room), statm);
}

/* A search for one line, which sees the file piece by piece. */
struct search {
	const char *key;
	size_t matched; /* bytes of the key at the start of this line */
	bool differs;   /* this is another line */
	char *out;
	size_t length, size;
};

/* Takes the next byte of the file. Returns true once the line that was looked for has ended. */
static bool take_byte(struct search *search, char byte)
{
	bool found = !search->differs && !search->key[search->matched];
	if (byte == '\n') {
		search->matched = 0;
		search->differs = false;
		return found;
	}
	if (found) {
		bool leading_blank = search->key[0] && search->length == 0 && (byte == ' ' || byte == '\t');
		if (!leading_blank && search->length + 1 < search->size)
			search->out[search->length++] = byte;
	} else if (!search->differs) {
		search->differs = byte != search->key[search->matched];
		search->matched++;
	}
	return false;
}

bool cairn_proc_line(const char *path, const char *key, char *out, size_t size)
{
	assert(size > 0);
	char piece[2048];
	struct search search = {.key = key, .out = out, .size = size};
	int descriptor = cairn_peek_open(path);
	bool found = false;
	ssize_t length;
	do {
		length = descriptor < 0 ? -1 : read(descriptor, piece, sizeof piece);
		for (ssize_t i = 0; i < length && !found; i++)
			found = take_byte(&search, piece[i]);
	} while (length > 0 && !found);
	if (descriptor >= 0)
		close(descriptor);
	while (found && key[0] && search.length > 0 && (out[search.length - 1] == ' ' || out[search.length - 1] == '\t'))
		search.length--;
	out[found ? search.length : 0] = 0;
	return found;
}

/* The text behind KEY, in ROOM; empty if there is none. */
static struct cairn_bytes peek_line(const char *path, const char *key, char *room, size_t size)
{
	cairn_proc_line(path, key, room, size);
	return cairn_bytes_of(room);
}

bool cairn_proc_number(const char *path, const char *key, uint64_t *number)
{
	char room[32];
	struct cairn_bytes text = peek_line(path, key, room, sizeof room);
	return cairn_text_decimal(&text, number);
}

bool cairn_proc_kilobytes(const char *path, const char *key, uint64_t *bytes)
{
	if (!cairn_proc_number(path, key, bytes))
		return false;
	*bytes <<= 10;
	return true;
}

bool cairn_proc_mask(const char *path, const char *key, uint64_t *mask)
{
	char room[32];
	struct cairn_bytes text = peek_line(path, key, room, sizeof room);
	return cairn_text_hex(&text, mask);
}

int cairn_proc_inner_number(const char *path)
{
	char room[512]; /* at most 32 namespaces are nested */
	struct cairn_bytes text = peek_line(path, "NSpid:", room, sizeof room);
	uint64_t number, innermost = 0;
	for (; cairn_text_decimal(&text, &number); cairn_text_skip_blanks(&text))
		innermost = number;
	return (int)innermost;
}

bool cairn_proc_runs_as(int pid, unsigned user)
{
	char path[CAIRN_PROC_PATH], line[64];
	uint64_t number;
	if (user == 0)
		return true;
	if (!cairn_proc_line(cairn_proc_path(path, pid, "status"), "Uid:", line, sizeof line))
		return false;
	for (struct cairn_bytes rest = cairn_bytes_of(line); cairn_text_decimal(&rest, &number); rest = cairn_text_trim(rest))
		if (number == user)
			return true;
	return false;
}

bool cairn_proc_is_secure(int pid)
{
	char path[CAIRN_PROC_PATH], room[2048];
	struct cairn_bytes rest = cairn_peek(cairn_proc_path(path, pid, "auxv"), room, sizeof room);
	ElfW(auxv_t) entry;
	for (; rest.length >= sizeof entry; rest = cairn_bytes_skip(rest, sizeof entry)) {
		memcpy(&entry, rest.data, sizeof entry);
		if (entry.a_type == AT_SECURE)
			return entry.a_un.a_val != 0;
	}
	return false;
}

bool cairn_proc_map_parse(struct cairn_bytes line, struct cairn_proc_map *map)
{
	*map = (struct cairn_proc_map){.path = {"", 0}};
	if (!cairn_text_hex(&line, &map->start) || !cairn_text_take(&line, "-") || !cairn_text_hex(&line, &map->limit) ||
	    map->limit <= map->start || line.length == 0 || (line.data[0] != ' ' && line.data[0] != '\t'))
		return false;
	cairn_text_skip_blanks(&line);
	struct cairn_bytes access = cairn_text_word(&line), offset = cairn_text_word(&line);
	cairn_text_word(&line); /* device */
	struct cairn_bytes inode = cairn_text_word(&line);
	if (access.length < 3 || !cairn_text_hex(&offset, &map->offset))
		return false;
	map->readable = access.data[0] == 'r';
	map->writable = access.data[1] == 'w';
	map->executable = access.data[2] == 'x';
	map->shared = access.length > 3 && access.data[3] == 's';
	cairn_text_decimal(&inode, &map->inode);
	map->path = cairn_text_trim(line);
	map->deleted = cairn_path_take_deleted(&map->path);
	return true;
}
