/* handover_answer.h - what `cairn run` answers to a process that offers its last snapshot (agent/host/handover.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROTOCOL_HANDOVER_ANSWER_H
#define CAIRN_PROTOCOL_HANDOVER_ANSWER_H

/* One character, sent on the connection. */
enum { CAIRN_HANDOVER_WANTED = 'y', CAIRN_HANDOVER_NOT_WANTED = 'n' };

#endif
