/* check.h - whether a process can be attached to, before anything of it is touched.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_ATTACH_CHECK_H
#define CAIRN_LIVE_ATTACH_CHECK_H

#include "base/error.h"

/* How an agent gets there: a library that the process loads, or, into a static program or one on musl, the core, with a process beside it
 * (core/companion.h). */
enum cairn_attach_way { CAIRN_ATTACH_BY_LIBRARY, CAIRN_ATTACH_BY_CORE };
enum cairn_attach_way cairn_attach_way_of(int pid);

/* False with the reason, and the line that would change it where there is one. FILTERED: a seccomp filter, of
 * whichever threads, is known to allow what is needed: the agent's code runs on all of them. */
bool cairn_attach_is_possible(int pid, bool filtered, struct cairn_error *error);

/* Whether process PID has seccomp filters, and no others than the agent of a process that it descends from lives with: then they allow what
 * the agent needs. False also where that cannot be told, as before Linux 5.9. A filter of its own cannot be told from one that its ancestor
 * gave to all its threads since the fork. */
bool cairn_attach_filters_are_inherited(int pid);

#endif
