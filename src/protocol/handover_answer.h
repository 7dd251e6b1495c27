/* handover_answer.h - what `cairn run` and a process that ends tell each other about its last snapshot (agent/host/handover.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROTOCOL_HANDOVER_ANSWER_H
#define CAIRN_PROTOCOL_HANDOVER_ANSWER_H

/* One character, sent on the connection: the answer, and what comes with the descriptor. Of a ledger `cairn run` makes the snapshot; the
 * process goes on ending when the connection is closed. */
enum { CAIRN_HANDOVER_WANTED = 'y', CAIRN_HANDOVER_NOT_WANTED = 'n', CAIRN_HANDOVER_SNAPSHOT = 's', CAIRN_HANDOVER_LEDGER = 'l' };

#endif
