/* modules_test.c - the objects of this process in its ledger, and in that of a forked child, which does not call the loader.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/modules.h"
#include "tap.h"

#include <sys/wait.h>
#include <unistd.h>

static struct cairn_record record;
static uint64_t listed; /* modules; a child has no ledger to look into */

static bool open_record(void)
{
	struct cairn_error error;
	return cairn_record_open(&record, CAIRN_RECORD_LEAST, &error);
}

/* Whether the ledger has FUNCTION in a module whose path ends in NAME, and knows its build-id. */
static bool has(uintptr_t function, const char *name)
{
	for (uint64_t i = 0; i < record.header->modules_used; i++) {
		const struct cairn_ledger_module *module = &record.modules[i];
		struct cairn_bytes path = {record.text + module->path, module->path_length};
		if (module->state == CAIRN_LEDGER_STATE_COMPLETE && module->start <= function && function < module->end)
			return cairn_bytes_contain(path, name) && module->id_length >= 8;
	}
	return false;
}

static bool has_both(void)
{
	return has((uintptr_t)open_record, "modules_test") && has((uintptr_t)fork, "libc");
}

static bool holds_in_child(bool (*check)(void))
{
	int status = -1;
	pid_t child = fork();
	if (child == 0)
		_exit(!check());
	return waitpid(child, &status, 0) == child && status == 0;
}

static bool has_inherited(void)
{
	if (!open_record() || record.header->modules_used != 0)
		return false;
	cairn_modules_copy(&record);
	return has_both();
}

/* So has a child of a child, which had no ledger of its own. */
static bool passes_on(void)
{
	return holds_in_child(has_inherited);
}

static bool copies_each_once(void)
{
	return open_record() && (cairn_modules_copy(&record), record.header->modules_used == listed);
}

int main(void)
{
	ok(open_record(), "a ledger is made");
	cairn_modules_list(&record);
	ok(has_both(), "it lists the program and its libraries");
	ok(holds_in_child(has_inherited), "a forked child has them without asking the loader");
	ok(holds_in_child(passes_on), "and passes them on");
	cairn_modules_list(&record);
	listed = record.header->modules_used;
	ok(holds_in_child(copies_each_once), "each of them once, however often it was listed");
	return tap_done();
}
