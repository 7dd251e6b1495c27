/* message.h - keeping jemalloc's complaints about dumps out of the host's output.
 *
 * A dump that jemalloc writes by itself (lg_prof_interval, gdump) and cannot, since the host has become another user for instance, is
 * a line on the host's standard error for each. Those lines are dropped; all else that jemalloc has to say is passed on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_JEMALLOC_MESSAGE_H
#define CAIRN_AGENT_JEMALLOC_MESSAGE_H

#include "agent/jemalloc/jemalloc.h"

/* Puts itself into jemalloc's `malloc_message`, unless the host has done so, or the symbol is not exported. */
void cairn_message_filter(const struct cairn_jemalloc *jemalloc);

/* Whether TEXT is such a line. */
bool cairn_message_is_about_dump(const char *text);

#endif
