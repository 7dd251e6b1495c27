/* inside.h - counting the allocators inside the processes that run under `cairn run`, before their programs run and when they load one.
 *
 * A process that may have one waits at a socket. A `cairn inside` of its own sees to it, so that neither a large file nor a server of debug files
 * that does not answer holds up `cairn run`. Which programs have nothing to count is remembered.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_RUN_INSIDE_H
#define CAIRN_LIVE_RUN_INSIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { CAIRN_RUN_INSIDE_HELPERS = 16, CAIRN_RUN_INSIDE_PROGRAMS = 64 };

struct cairn_run_program {
	dev_t device;
	ino_t inode;
	struct timespec changed;
	uint64_t code; /* hash of what it has loaded */
};

struct cairn_run_inside {
	int listener; /* -1 for none */
	struct {
		pid_t pid; /* of the helper; 0 for none */
		struct cairn_run_program program;
	} helpers[CAIRN_RUN_INSIDE_HELPERS];
	struct cairn_run_program plain[CAIRN_RUN_INSIDE_PROGRAMS]; /* with nothing to count; the oldest make place */
	size_t plain_count;
};

/* Listens beside the abstract socket NAME. */
void cairn_run_inside_open(struct cairn_run_inside *inside, const char *name);
void cairn_run_inside_close(struct cairn_run_inside *inside);

/* Whether a process that waits can be seen to now. */
bool cairn_run_inside_is_ready(const struct cairn_run_inside *inside);

/* Sees to one that waits. False where nobody can be accepted now. */
bool cairn_run_inside_accept(struct cairn_run_inside *inside);

/* A child of ours has ended: it may be a helper. */
void cairn_run_inside_reap(struct cairn_run_inside *inside, pid_t pid, int status);

#endif
