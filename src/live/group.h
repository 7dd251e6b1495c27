/* group.h - what the control group of a process is charged beside the memory of its processes, for the causes (series/cause.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_GROUP_H
#define CAIRN_LIVE_GROUP_H

#include "base/buffer.h"
#include "dump/trailer.h"
#include "series/cause.h"

/* Of the group of process PID. It is not known if the process and its descendants have less than about two thirds of the memory of all
 * processes in the group: then it says little about them. */
void cairn_group_of(struct cairn_cause_group *group, int pid);

/* Appends it as lines of a trailer (doc/trailer.md), nothing if it is not known; and reads it back. */
void cairn_group_write(const struct cairn_cause_group *group, struct cairn_buffer *out);
void cairn_group_read(struct cairn_cause_group *group, const struct cairn_trailer *trailer);

#endif
