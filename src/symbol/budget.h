/* budget.h - the memory limit for symbolizing.
 *
 * The command often runs beside a service, in its control group: memory that symbolizing takes there is not available to the service, and
 * beyond the limit a process is killed. So by default symbolizing takes at most a quarter of what the group, or the machine, has left.
 * Compressed sections that do not fit are decompressed to unnamed files on disk (base/room.h); if there is no room for that either, names
 * come from symbol tables, and this is reported.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_BUDGET_H
#define CAIRN_SYMBOL_BUDGET_H

#include <stdint.h>

/* Limits the memory for symbolizing in this process to BYTES; 0 stands for the default. Call it before opening any file. */
void cairn_symbol_budget(uint64_t bytes);

/* Puts the limit into effect, once. Call it before decompressing sections; any thread may. */
void cairn_symbol_budget_apply(void);

#endif
