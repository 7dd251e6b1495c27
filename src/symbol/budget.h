/* budget.h - how much memory naming may take.
 *
 * The command often runs beside a service, in its control group: what naming takes there, the service cannot have, and past the limit
 * something is killed. So by default naming takes a quarter of what the group, or the machine, has left. Sections that were
 * compressed and do not fit are unpacked to unnamed files on disk (base/room.h); where there is no room for that either, names
 * come from symbol tables, and that is reported.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_BUDGET_H
#define CAIRN_SYMBOL_BUDGET_H

#include <stdint.h>

/* Limits the memory of naming in this process to BYTES; 0 stands for the default. Call it before any file is opened. */
void cairn_symbol_budget(uint64_t bytes);

/* Puts the limit into force, once. Whoever is about to unpack sections calls this; any thread may. */
void cairn_symbol_budget_apply(void);

#endif
