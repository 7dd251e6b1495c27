/* live.h - the files of a running process, as it sees them: it may have its own root, and files may have been deleted.
 *
 * The kernel gives privileged users exactly the file that is mapped (/proc/PID/map_files); others go through the process's root. If the
 * same addresses map the same file, it is the same process and not one that has reused the PID.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_LIVE_H
#define CAIRN_SYMBOL_LIVE_H

#include "base/arena.h"
#include "process/life.h"
#include "profile/profile.h"

enum { CAIRN_LIVE_PATHS = 2 };

/* Paths for opening the file of MODULE, best first; returns their number. Each leads to that file if the process is the one in the
 * profile, which the caller confirms by build-id if the profile has one. */
size_t cairn_live_paths(struct cairn_arena *arena, const struct cairn_profile *profile, const struct cairn_module *module,
			const char *paths[CAIRN_LIVE_PATHS]);

/* "/proc/PID/root" when the process of PROFILE runs here and its root is not ours; NULL otherwise. */
const char *cairn_live_root(struct cairn_arena *arena, const struct cairn_profile *profile);

/* The PID of process PID in its own namespace. */
int cairn_live_inner_pid(int pid);

/* Whether LIFE runs on this machine, as seen from here or in a container, where it has the PID of LIFE and here another. */
bool cairn_live_runs(const struct cairn_life *life);

/* Whether the process of PROFILE ran on this machine since it was booted, and has ended. False if unknown. */
bool cairn_live_is_over(const struct cairn_profile *profile);

#endif
