/* forward.h - sending snapshots on to another system: Pyroscope, an OpenTelemetry Collector, Parca or Coroot.
 *
 * A snapshot becomes a *request*, all that is to be sent, in one step; sending it is another, which may be repeated. What was allocated is
 * counted from one request of a process to the next (delta.h), for the receivers that add up: a request that is done with, sent or not, is
 * settled. One thread makes requests; sending is for any.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_FORWARD_FORWARD_H
#define CAIRN_CMD_FORWARD_FORWARD_H

#include "base/buffer.h"
#include "base/error.h"
#include "store/store.h"

struct cairn_forward;

/* Whether NAME is a receiver, KIND:URL with a known kind. */
bool cairn_forward_is(const char *name);

/* The receiver NAME. HEADERS is a file of header lines to be sent along, or NULL for those in CAIRN_FORWARD_HEADERS; a line that begins
 * with a kind and a blank is for that kind only. NULL, with a sentence, where an argument is wrong. */
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

/* Makes a request of SNAPSHOT, whose PROFILE has names, and may get further strings. False, without a sentence, where this snapshot of the
 * process, or a later one, was settled before; with one where it cannot be sent at all. */
bool cairn_forward_prepare(struct cairn_forward *forward, struct cairn_profile *profile, const struct cairn_store_snapshot *snapshot,
			   struct cairn_forward_request *request, struct cairn_error *error);

/* The last request that was made is done with. */
void cairn_forward_settle(struct cairn_forward *forward);

enum cairn_forwarded {
	CAIRN_FORWARDED,        /* it was taken */
	CAIRN_FORWARD_REFUSED,  /* it will never be, with a sentence */
	CAIRN_FORWARD_AWAY,     /* it may be later, with a sentence */
};
enum cairn_forwarded cairn_forward_send(const struct cairn_forward *forward, const struct cairn_forward_request *request,
					struct cairn_error *error);

void cairn_forward_request_free(struct cairn_forward_request *request);

#endif
