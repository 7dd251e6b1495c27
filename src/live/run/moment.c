/* moment.c - members and shots.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/run/moment.h"

#include "base/array.h"
#include "base/descriptor.h"
#include "dump/engine_kind.h"
#include "live/attach/check.h"
#include "live/attach/spawn.h"
#include "live/core/companion.h"
#include "live/ledger_file.h"
#include "live/ledger_snapshot.h"
#include "live/target.h"
#include "process/clock.h"
#include "process/proc.h"
#include "process/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t shot_maximum = (size_t)1 << 30;
static const uint64_t least_worth = 4 << 20;

static void read_program(int pid, char *out, size_t size)
{
	char path[CAIRN_PROC_PATH];
	if (!cairn_proc_line(cairn_proc_path(path, pid, "comm"), "", out, size))
		snprintf(out, size, "process");
}

static struct cairn_member *find_member(const struct cairn_members *members, int pid)
{
	for (size_t i = 0; i < members->count; i++)
		if (members->items[i].life.pid == pid)
			return &members->items[i];
	return NULL;
}

static void remove_member(struct cairn_members *members, size_t index)
{
	cairn_memory_close(&members->items[index].memory);
	if (members->items[index].ledger >= 0)
		close(members->items[index].ledger);
	members->items[index] = members->items[--members->count];
}

static void see_process(struct cairn_members *members, int pid)
{
	struct cairn_member *member = find_member(members, pid);
	if (!member) {
		struct cairn_error error;
		cairn_array_room(members->items, members->count, members->capacity);
		member = &members->items[members->count];
		*member = (struct cairn_member){.ledger = -1};
		read_program(pid, member->program, sizeof member->program);
		if (strcmp(member->program, CAIRN_COMPANION_NAME) == 0 || !cairn_memory_open(&member->memory, "", pid, &error))
			return;
		cairn_life_of(pid, &member->life);
		members->count++;
	}
	member->seen = true;
}

void cairn_members_list(struct cairn_members *members, int root)
{
	static int pids[CAIRN_MEMBERS];
	size_t count = cairn_tree_list(root, &members->known, pids, CAIRN_MEMBERS);
	for (size_t i = 0; i < members->count; i++)
		members->items[i].seen = false;
	for (size_t i = 1; i < count; i++)
		if (pids[i] != members->helper)
			see_process(members, pids[i]);
}

/* Gives one that can have no agent inside one beside it, one at a time, and keeps its ledger. */
static void see_alone(struct cairn_members *members, struct cairn_member *member)
{
	bool refused;
	if (!member->studied && !(members->helper && kill(members->helper, 0) == 0)) {
		member->studied = true;
		member->alone = cairn_attach_way_of(member->life.pid) == CAIRN_ATTACH_BY_CORE;
		if (member->alone && member->life.pid != members->served)
			members->helper = cairn_attach_spawn_aside(member->life.pid, &(struct cairn_attach_settings){0});
	}
	if (member->alone && member->ledger < 0)
		member->ledger = cairn_ledger_file(&member->life, &refused);
}

void cairn_members_end(struct cairn_members *members, int pid)
{
	struct cairn_member *member = find_member(members, pid);
	if (member && member->ledger >= 0 && members->ends)
		cairn_moment_add(members->ends, members, pid, member->ledger, true);
}

void cairn_members_look(struct cairn_members *members, int64_t now)
{
	members->anonymous = 0;
	for (size_t i = members->count; i-- > 0;) {
		struct cairn_member *member = &members->items[i];
		struct cairn_memory_reading reading;
		char program[sizeof member->program];
		if (!member->seen || !cairn_memory_read(&member->memory, now, &reading)) {
			cairn_members_end(members, member->life.pid);
			remove_member(members, i);
			continue;
		}
		member->anonymous = reading.anonymous;
		members->anonymous += reading.anonymous;
		read_program(member->life.pid, program, sizeof program); /* it may exec */
		if (strcmp(program, member->program) != 0)
			member->studied = member->alone = false;
		memcpy(member->program, program, sizeof program);
		if (members->helps)
			see_alone(members, member);
	}
}

void cairn_members_free(struct cairn_members *members)
{
	while (members->count > 0)
		remove_member(members, members->count - 1);
	free(members->items);
	cairn_buffer_free(&members->known);
	*members = (struct cairn_members){0};
}

/* A file that has no name, where TMPDIR says; in memory if there is no such folder. */
static int open_unnamed(void)
{
	const char *told = getenv("TMPDIR"), *folder = told && told[0] ? told : "/tmp";
	char path[600];
	int descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (descriptor >= 0)
		return descriptor;
	snprintf(path, sizeof path, "%.500s/cairn-run.XXXXXX", folder);
	descriptor = mkostemp(path, O_CLOEXEC);
	if (descriptor < 0)
		return memfd_create("cairn-run", MFD_CLOEXEC);
	unlink(path);
	return descriptor;
}

static void add_shot(struct cairn_moment *moment, const struct cairn_member *member, int pid, int descriptor)
{
	struct cairn_shot *shot = NULL;
	for (size_t i = 0; i < moment->count; i++)
		if (moment->shots[i].pid == pid)
			shot = &moment->shots[i];
	if (shot) {
		close(shot->descriptor);
	} else if (moment->count == CAIRN_SHOTS) {
		close(descriptor);
		return;
	} else {
		shot = &moment->shots[moment->count++];
	}
	*shot = (struct cairn_shot){
		.pid = pid, .descriptor = descriptor, .memory = member ? member->anonymous : 0, .taken_ns = cairn_clock_ns()};
	if (member)
		memcpy(shot->program, member->program, sizeof shot->program);
	else
		read_program(pid, shot->program, sizeof shot->program);
}

/* Samples of jemalloc's profiler can only be had from the agent, which is started once for each process that is worth it: one at a time,
 * and there by the next look. */
static void start_agent(struct cairn_members *members, struct cairn_member *member, const struct cairn_target *target)
{
	const struct cairn_attach_settings settings = {.only_waiting = true, .engine = cairn_engine_name(CAIRN_ENGINE_JEMALLOC)};
	if (!target->loaded || member->tried || member->anonymous < least_worth || (members->helper && kill(members->helper, 0) == 0))
		return;
	member->tried = true;
	members->helper = cairn_attach_spawn_aside(member->life.pid, &settings);
}

static bool take_shot(struct cairn_moment *moment, struct cairn_members *members, struct cairn_member *member, int patience_ms)
{
	struct cairn_target target;
	struct cairn_error error;
	struct cairn_buffer body = {0};
	char pid[16];
	snprintf(pid, sizeof pid, "%d", member->life.pid);
	if (!cairn_target_find_ledger(&target, pid, NULL, &error)) {
		start_agent(members, member, &target);
		return false;
	}
	target.patience_ms = (unsigned)patience_ms;
	int descriptor = -1;
	bool good = cairn_target_snapshot(&target, &body, &error) && (descriptor = open_unnamed()) >= 0 &&
		    cairn_descriptor_write_all(descriptor, &(struct cairn_bytes){body.data, body.length});
	if (good)
		add_shot(moment, member, member->life.pid, descriptor);
	else if (descriptor >= 0)
		close(descriptor);
	cairn_buffer_free(&body);
	return good;
}

static int by_memory(const void *a, const void *b)
{
	const struct cairn_member *one = a, *other = b;
	return one->anonymous > other->anonymous ? -1 : one->anonymous < other->anonymous;
}

/* Their memory, pages that several of them have since a fork counted once. */
static uint64_t sum_once(const struct cairn_members *members)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < members->count; i++)
		sum += cairn_memory_in_sum(members->items[i].life.pid, members->items[i].anonymous);
	return sum;
}

bool cairn_moment_take(struct cairn_moment *moment, struct cairn_members *members, int patience_ms)
{
	struct cairn_moment *taken = calloc(1, sizeof *taken);
	int64_t end = cairn_clock_ns() + patience_ms * CAIRN_MILLISECOND_NS, now;
	if (!taken)
		return false;
	taken->memory = taken->sum = members->anonymous;
	if (members->count > 1)
		taken->sum = sum_once(members);
	taken->processes = members->count;
	taken->time_ns = cairn_clock_wall_ns();
	if (members->count > 0)
		qsort(members->items, members->count, sizeof *members->items, by_memory);
	for (size_t i = 0; i < members->count && taken->count < CAIRN_SHOTS && (now = cairn_clock_ns()) < end; i++)
		take_shot(taken, members, &members->items[i], (int)((end - now) / CAIRN_MILLISECOND_NS) + 1);
	bool good = taken->count > 0;
	if (good) {
		cairn_moment_free(moment);
		*moment = *taken;
	}
	free(taken);
	return good;
}

/* Read, not mapped: the sender may still truncate it. */
static bool copy_snapshot(int from, int to)
{
	enum { piece = 1 << 16 };
	static char data[piece];
	ssize_t part = 0;
	size_t length = 0;
	while (length < shot_maximum && (part = pread(from, data, sizeof data, (off_t)length)) > 0 &&
	       cairn_descriptor_write_all(to, &(struct cairn_bytes){data, (size_t)part}))
		length += (size_t)part;
	return part == 0 && length > 0;
}

static bool make_snapshot(int pid, int ledger, int to)
{
	struct cairn_buffer text = cairn_buffer(shot_maximum);
	bool good = cairn_ledger_snapshot(pid, ledger, &text, NULL) &&
		    cairn_descriptor_write_all(to, &(struct cairn_bytes){text.data, text.length});
	cairn_buffer_free(&text);
	return good;
}

void cairn_moment_add(struct cairn_moment *moment, const struct cairn_members *members, int pid, int descriptor, bool is_ledger)
{
	int copy = open_unnamed();
	if (copy < 0)
		return;
	if (!(is_ledger ? make_snapshot(pid, descriptor, copy) : copy_snapshot(descriptor, copy))) {
		close(copy);
		return;
	}
	add_shot(moment, find_member(members, pid), pid, copy);
	moment->time_ns = cairn_clock_wall_ns();
}

void cairn_moment_forget(struct cairn_moment *moment, int64_t ns)
{
	for (size_t i = moment->count; i-- > 0;)
		if (moment->shots[i].taken_ns < ns) {
			close(moment->shots[i].descriptor);
			moment->shots[i] = moment->shots[--moment->count];
		}
}

void cairn_moment_free(struct cairn_moment *moment)
{
	cairn_moment_forget(moment, INT64_MAX);
	*moment = (struct cairn_moment){0};
}
