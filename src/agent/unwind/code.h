/* code.h - which loaded object covers an address, asked by code that may not take a lock.
 *
 * Since 2.35, glibc answers by _dl_find_object, without a lock. Elsewhere there is a table, which the agent's own thread updates by
 * cairn_code_refresh; an object loaded since is unknown until the next refresh, and one unloaded since is not found any more.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_UNWIND_CODE_H
#define CAIRN_AGENT_UNWIND_CODE_H

#include "base/bytes.h"

struct cairn_code {
	uintptr_t start, end;    /* the object, from its first segment to its last; or, of a program with gaps between them, one segment */
	uintptr_t image_start, image_end; /* all of it: its unwind tables may lie in another segment */
	uintptr_t unwind_header; /* .eh_frame_hdr; 0 when it has none */
	uint16_t tag;            /* of this object alone: see known.h */
};

/* Any thread, also in a signal handler. False when no known object covers ADDRESS. */
bool cairn_code_find(uintptr_t address, struct cairn_code *code);

/* Whether _dl_find_object answers; if not, what was loaded since the last cairn_code_refresh is not found. */
bool cairn_code_is_live(void);

/* Updates the table if objects were loaded or unloaded. To be called regularly, also where _dl_find_object answers. Any thread may call it;
 * returns at once while another thread is in it. */
void cairn_code_refresh(void);
/* The same on a thread of the host, which must not wait. Returns false if that has to be done again. */
bool cairn_code_try_refresh(void);

/* To be called in a forked child: a refresh that a thread of the parent had begun does not continue there. */
void cairn_code_forget(void);

/* Uses the table even if glibc could answer, for tests. */
void cairn_code_use_table(bool use);

#endif
