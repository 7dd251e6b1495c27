/* scratch.h - a file that nobody else can name, for jemalloc to write a dump into.
 *
 * A memfd, reached by jemalloc through /proc/self/fd. Where there is no memfd_create (a sandbox) or no usable /proc (a
 * chroot, a process that changed its user), a file in a directory made for it alone, with a random name and mode 0700,
 * both removed as soon as the dump is in.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_JEMALLOC_SCRATCH_H
#define CAIRN_AGENT_JEMALLOC_SCRATCH_H

#include "base/error.h"

struct cairn_scratch {
	int descriptor;
	char path[320];      /* by which it can be opened until unnamed, if that was asked for */
	char directory[280]; /* "" for a memfd */
};

/* FOLDER is a directory of ours to try first for the fallback; may be "". Without BY_NAME it need not have a path, and then it needs
 * neither /proc nor a folder. */
bool cairn_scratch_open(struct cairn_scratch *scratch, const char *folder, bool by_name, struct cairn_error *error);

/* Takes the name away; the descriptor stays, and is the caller's. */
void cairn_scratch_unname(struct cairn_scratch *scratch);

/* Unnames it and closes the descriptor. */
void cairn_scratch_close(struct cairn_scratch *scratch);

#endif
