/* forward.h - sending snapshots on to another system: Pyroscope, an OpenTelemetry Collector, Parca or Coroot.
 *
 * A snapshot becomes a *request*, all that is to be sent, in one step; sending it is a second step, which may be repeated. For receivers
 * that add up, allocations are counted from one request of a process to the next (delta.h), so each request must be settled once it is done
 * with, sent or not. One thread makes requests; any thread may send them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_FORWARD_FORWARD_H
#define CAIRN_FLEET_FORWARD_FORWARD_H

#include "base/buffer.h"
#include "base/error.h"
#include "store/store.h"

struct cairn_forward;

/* Whether NAME is a receiver, KIND:URL with a known kind. */
bool cairn_forward_is(const char *name);

/* Opens the receiver NAME. HEADERS is a file of header lines to send along, or NULL for those in CAIRN_FORWARD_HEADERS; a line that begins
 * with a kind and a blank is for that kind only. Returns NULL if an argument is wrong. */
struct cairn_forward *cairn_forward_open(const char *name, const char *headers, struct cairn_error *error);
void cairn_forward_close(struct cairn_forward *forward);

/* Its kind, such as "pyroscope"; a literal. */
const char *cairn_forward_kind(const struct cairn_forward *forward);

struct cairn_forward_request {
	struct cairn_buffer url;    /* terminated */
	struct cairn_buffer body;
	struct cairn_buffer tenant; /* a header line, terminated; empty for none */
	const char *type;           /* a header line */
	const char *encoding;       /* the same; NULL for none */
};

/* Makes a request of SNAPSHOT. Its PROFILE has names, and may get further strings. Returns false with an empty message if this snapshot of
 * the process, or a later one, was settled before, and with a message if it cannot be sent at all. */
bool cairn_forward_prepare(struct cairn_forward *forward, struct cairn_profile *profile, const struct cairn_store_snapshot *snapshot,
			   struct cairn_forward_request *request, struct cairn_error *error);

/* Settles the last request that was made: it was sent or given up. */
void cairn_forward_settle(struct cairn_forward *forward);

enum cairn_forwarded {
	CAIRN_FORWARDED,        /* the receiver took it */
	CAIRN_FORWARD_REFUSED,  /* it will never take it, with a message */
	CAIRN_FORWARD_AWAY,     /* it may take it later, with a message */
};
enum cairn_forwarded cairn_forward_send(const struct cairn_forward *forward, const struct cairn_forward_request *request,
					struct cairn_error *error);

void cairn_forward_request_free(struct cairn_forward_request *request);

#endif
