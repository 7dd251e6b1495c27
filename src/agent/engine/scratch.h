/* scratch.h - a private file for jemalloc to write a dump into.
 *
 * It is a memfd, which jemalloc opens through /proc/self/fd. Without memfd_create (a sandbox) or a usable /proc (a chroot, a process that
 * changed its user), it is a file with a random name in a directory of its own with mode 0700, both removed as soon as the dump is
 * written.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ENGINE_SCRATCH_H
#define CAIRN_AGENT_ENGINE_SCRATCH_H

#include "base/error.h"

struct cairn_scratch {
	int descriptor;
	char path[320];      /* by which it can be opened until unnamed, if that was asked for */
	char directory[280]; /* "" for a memfd */
};

/* FOLDER is a directory of ours to try first for the fallback; may be "". Without BY_NAME it need not have a path, and then it needs
 * neither /proc nor a folder. */
bool cairn_scratch_open(struct cairn_scratch *scratch, const char *folder, bool by_name, struct cairn_error *error);

/* Removes the name; the descriptor stays open and belongs to the caller. */
void cairn_scratch_unname(struct cairn_scratch *scratch);

/* Unnames it and closes the descriptor. */
void cairn_scratch_close(struct cairn_scratch *scratch);

#endif
