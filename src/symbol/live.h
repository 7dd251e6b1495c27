/* live.h - the files of a process that still runs, as it has them: it may have a root of its own, and files may be deleted.
 *
 * The kernel hands out the very file that is mapped (/proc/PID/map_files), to whom it trusts; others go through the process's
 * root. That the same memory shows the same file tells that it is the process, and not one that got its number.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_LIVE_H
#define CAIRN_SYMBOL_LIVE_H

#include "base/arena.h"
#include "profile/profile.h"

enum { CAIRN_LIVE_PATHS = 2 };

/* Paths by which the file of MODULE can be opened, best first; how many. Each is that file if the process is the one that the profile is
 * of, which the caller confirms by the build-id where the profile has one. */
size_t cairn_live_paths(struct cairn_arena *arena, const struct cairn_profile *profile, const struct cairn_module *module,
			const char *paths[CAIRN_LIVE_PATHS]);

/* "/proc/PID/root" when the process of PROFILE runs here and its root is not ours; NULL otherwise. */
const char *cairn_live_root(struct cairn_arena *arena, const struct cairn_profile *profile);

/* The number of process PID in its own namespace. */
int cairn_live_inner_pid(int pid);

/* Whether the process of PROFILE ran on this machine, since it was booted, and has ended. False where that cannot be told. */
bool cairn_live_is_over(const struct cairn_profile *profile);

#endif
