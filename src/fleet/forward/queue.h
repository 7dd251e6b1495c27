/* queue.h - a queue of requests for each receiver, and a thread that sends them.
 *
 * Nobody waits for a receiver. If one cannot be reached, it is tried again, with pauses. The number and the size of the requests in a queue
 * are limited; beyond that the oldest are dropped, as are those left when the program ends. Dropped requests are counted and reported once.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_FORWARD_QUEUE_H
#define CAIRN_FLEET_FORWARD_QUEUE_H

#include "fleet/forward/forward.h"
#include "live/option_list.h"

struct cairn_forward_queues;

/* Opens the receivers in NAMES and starts a thread for each. Returns NULL if an argument is wrong. */
struct cairn_forward_queues *cairn_forward_queues_open(const struct cairn_option_list *names, const char *headers,
						       struct cairn_error *error);

/* Queues SNAPSHOT, whose PROFILE has names, for all receivers. To be called by one thread only; never waits. */
void cairn_forward_queues_add(struct cairn_forward_queues *queues, struct cairn_profile *profile,
			      const struct cairn_store_snapshot *snapshot);

/* Appends the metrics. Any thread. */
void cairn_forward_queues_metrics(struct cairn_forward_queues *queues, struct cairn_buffer *out);

/* Sends the requests that are left, for a few seconds at most, and ends the threads. QUEUES may be NULL. */
void cairn_forward_queues_close(struct cairn_forward_queues *queues);

#endif
