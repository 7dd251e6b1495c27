/* own_dumps.h - the dumps that jemalloc itself has written for a process: PREFIX.PID.NUMBER….heap.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_WATCH_OWN_DUMPS_H
#define CAIRN_LIVE_WATCH_OWN_DUMPS_H

#include "base/error.h"

#include <sys/types.h>

/* Adds to ERROR where the dumps are that the running process PID has left so far, if any: by prof_prefix of its environment, in the
 * folder it runs in. */
void cairn_own_dumps_mention(pid_t pid, struct cairn_error *error);

#endif
