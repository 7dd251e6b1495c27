/* owner.c - user and root directory of a process, from /proc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/owner.h"

#include "process/proc.h"

#include <sys/stat.h>
#include <unistd.h>

enum cairn_serve_owner cairn_serve_owner_of(int pid)
{
	char path[CAIRN_PROC_PATH];
	struct stat ours, theirs;
	uint64_t user;
	if (!cairn_proc_number(cairn_proc_path(path, pid, "status"), "Uid:", &user))
		return CAIRN_OWNER_UNKNOWN;
	if (user != geteuid())
		return CAIRN_OWNER_FOREIGN;
	/* A process that has ended has a status as long as its parent does not ask for it, but no root directory. */
	if (stat("/", &ours) != 0 || stat(cairn_proc_path(path, pid, "root/."), &theirs) != 0)
		return CAIRN_OWNER_UNKNOWN;
	return ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino ? CAIRN_OWNER_OWN : CAIRN_OWNER_FOREIGN;
}

enum cairn_serve_owner cairn_serve_owner_add(enum cairn_serve_owner before, enum cairn_serve_owner next)
{
	return before == CAIRN_OWNER_FOREIGN ? before : next;
}
