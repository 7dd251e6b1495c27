/* ledger_snapshot.h - a snapshot of a running process that it has no part in: from its ledger, and from what the kernel says of it.
 *
 * A process that samples need not run the agent's thread for that (agent/host/start.c). It may be stopped, or busy; nothing in it changes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_LEDGER_SNAPSHOT_H
#define CAIRN_LIVE_LEDGER_SNAPSHOT_H

#include "base/buffer.h"
#include "dump/ledger_read.h"
#include "process/life.h"

/* Copies the open ledger DESCRIPTOR to MEMORY, so that nobody changes it while it is read, nor cuts it short, and opens LEDGER on it. */
bool cairn_ledger_copy(int descriptor, struct cairn_buffer *memory, struct cairn_ledger *ledger, struct cairn_error *error);

/* The same for the ledger of process PID. */
bool cairn_ledger_copy_of(int pid, struct cairn_buffer *memory, struct cairn_ledger *ledger, struct cairn_error *error);

/* The header of the ledger of process PID. Returns false if it has none, or we may not look. */
bool cairn_ledger_header_of(int pid, struct cairn_ledger_header *header);

/* Leaves word in the ledger of process PID that its agent is wanted: the next sample starts it. Returns false if it has none in memory, or we
 * may not write there. */
bool cairn_ledger_want_agent(int pid);

/* Appends to OUT a snapshot of process PID, whose ledger DESCRIPTOR is; -1 to look for it. */
bool cairn_ledger_snapshot(int pid, int descriptor, struct cairn_buffer *out, struct cairn_error *error);

#endif
