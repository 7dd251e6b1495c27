/* queue.h - requests that wait to be sent on, for each receiver its own, and a thread that sends them.
 *
 * Nobody waits for a receiver. One that is away is tried again, with pauses; what waits for it is limited, by number and by size, and the
 * oldest is lost when there is more, which is counted and said once. So is what is left when the program ends.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_FORWARD_QUEUE_H
#define CAIRN_CMD_FORWARD_QUEUE_H

#include "cmd/forward/forward.h"
#include "cmd/option.h"

struct cairn_forward_queues;

/* The receivers in NAMES, each with a thread. NULL, with a sentence, where an argument is wrong. */
struct cairn_forward_queues *cairn_forward_queues_open(const struct cairn_option_list *names, const char *headers,
						       struct cairn_error *error);

/* Sends SNAPSHOT, whose PROFILE has names, on to all receivers. For one thread; never waits. */
void cairn_forward_queues_add(struct cairn_forward_queues *queues, struct cairn_profile *profile,
			      const struct cairn_store_snapshot *snapshot);

/* Appends the metrics. Any thread. */
void cairn_forward_queues_metrics(struct cairn_forward_queues *queues, struct cairn_buffer *out);

/* Sends what still waits, for a few seconds at most, and ends. QUEUES may be NULL. */
void cairn_forward_queues_close(struct cairn_forward_queues *queues);

#endif
