/* owner.c - user and root directory of a process, from /proc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve/owner.h"

#include "base/file.h"
#include "base/text.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool read_user(int pid, uint64_t *user)
{
	char path[32];
	struct cairn_file file;
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	if (!cairn_file_read(&file, path, NULL))
		return false;
	struct cairn_bytes rest = file.bytes, line;
	bool known = false;
	while (!known && cairn_text_line(&rest, &line, NULL))
		if (cairn_text_take(&line, "Uid:")) {
			cairn_text_skip_blanks(&line);
			known = cairn_text_decimal(&line, user);
		}
	cairn_file_close(&file);
	return known;
}

enum cairn_serve_owner cairn_serve_owner_of(int pid)
{
	char path[32];
	struct stat ours, theirs;
	uint64_t user;
	if (!read_user(pid, &user))
		return CAIRN_OWNER_UNKNOWN;
	if (user != geteuid())
		return CAIRN_OWNER_FOREIGN;
	/* A process that has ended has a status as long as its parent does not ask for it, but no root directory. */
	snprintf(path, sizeof path, "/proc/%d/root/.", pid);
	if (stat("/", &ours) != 0 || stat(path, &theirs) != 0)
		return CAIRN_OWNER_UNKNOWN;
	return ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino ? CAIRN_OWNER_OWN : CAIRN_OWNER_FOREIGN;
}

enum cairn_serve_owner cairn_serve_owner_add(enum cairn_serve_owner before, enum cairn_serve_owner next)
{
	return before == CAIRN_OWNER_FOREIGN ? before : next;
}
