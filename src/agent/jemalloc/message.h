/* message.h - keeps jemalloc's complaints about dumps out of the host's output.
 *
 * If jemalloc cannot write a dump by itself (lg_prof_interval, gdump), for instance because the host has changed its user, it prints a
 * line on the host's standard error each time. Those lines are dropped; all other messages of jemalloc are passed on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_JEMALLOC_MESSAGE_H
#define CAIRN_AGENT_JEMALLOC_MESSAGE_H

#include "agent/engine/jemalloc.h"

/* Installs itself as jemalloc's `malloc_message`, unless the host has set that, or the symbol is not exported. */
void cairn_message_filter(const struct cairn_jemalloc *jemalloc);

#endif
