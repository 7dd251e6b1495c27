/* target_waiting.c - processes whose agent has not started: their ledgers, and starting it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "dump/engine_kind.h"
#include "live/attach/check.h"
#include "live/attach/spawn.h"
#include "live/attach/subject.h"
#include "live/ledger_snapshot.h"
#include "live/target.h"
#include "process/clock.h"
#include "process/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { looks = 20, look_ms = 100 };

/* Whether the process has a ledger, from which a snapshot can be had. One that is stopped may have one, too. */
static bool has_ledger(struct cairn_target *target)
{
	struct cairn_ledger_header header;
	target->asleep = target->pid > 0 && !target->forbidden && cairn_ledger_header_of(target->pid, &header);
	return target->asleep;
}

/* Starts the agent from outside; where that cannot be, a thread of the process does it with its next sample, if that comes soon. Neither is
 * tried behind a seccomp filter of the process's own: only the user knows whether it allows a start. */
static bool start(struct cairn_target *target, const char *name, const char *token, struct cairn_error *error)
{
	struct cairn_error why;
	if (target->pid <= 0 || !target->loaded)
		return false;
	bool is_filtered = cairn_subject_seccomp(target->pid) == CAIRN_SECCOMP_FILTER && !cairn_attach_filters_are_inherited(target->pid);
	bool is_wanted = !is_filtered && cairn_ledger_want_agent(target->pid);
	if (cairn_attach_spawn(target->pid, &(struct cairn_attach_settings){.only_waiting = true}, &why))
		return cairn_target_find(target, name, token, error);
	for (int i = 0; is_wanted && i < looks; i++, nanosleep(&(struct timespec){.tv_nsec = look_ms * CAIRN_MILLISECOND_NS}, NULL))
		if (cairn_target_find(target, name, token, error))
			return true;
	if (is_filtered)
		*error = why;
	return false;
}

bool cairn_target_find_ledger(struct cairn_target *target, const char *name, const char *token, struct cairn_error *error)
{
	return cairn_target_find(target, name, token, error) || has_ledger(target);
}

bool cairn_target_find_profile(struct cairn_target *target, const char *name, const char *token, struct cairn_error *error)
{
	return cairn_target_find_ledger(target, name, token, error) || start(target, name, token, error);
}

bool cairn_target_find_or_start(struct cairn_target *target, const char *name, const char *token, struct cairn_error *error)
{
	return cairn_target_find(target, name, token, error) || start(target, name, token, error) || has_ledger(target);
}

bool cairn_target_start_jemalloc(int pid)
{
	const struct cairn_attach_settings settings = {.only_waiting = true, .engine = cairn_engine_name(CAIRN_ENGINE_JEMALLOC)};
	return cairn_target_has_loaded(pid) && cairn_attach_spawn(pid, &settings, NULL);
}

size_t cairn_target_tree(int root, int **pids, size_t *without)
{
	enum { at_first = 4096 };
	int *all = NULL;
	size_t capacity = 0, total, count = 0, silent = 0;
	do {
		all = cairn_array_reserve(all, &capacity, capacity ? capacity + 1 : at_first, sizeof *all);
		total = cairn_tree_list(root, NULL, all, capacity);
	} while (total == capacity);
	for (size_t i = 0; i < total; i++) {
		struct cairn_target target;
		struct cairn_error error;
		char pid[16];
		snprintf(pid, sizeof pid, "%d", all[i]);
		if (cairn_target_find(&target, pid, NULL, &error) || (target.loaded && has_ledger(&target)))
			all[count++] = all[i];
		else
			silent += target.loaded;
	}
	*pids = all;
	if (without)
		*without = silent;
	return count;
}
