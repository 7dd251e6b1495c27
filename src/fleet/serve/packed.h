/* packed.h - compressed trees, ready to be sent. Recent ones are kept, so that a hundred pages cost as much as one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_PACKED_H
#define CAIRN_FLEET_SERVE_PACKED_H

#include "http/server.h"

enum { CAIRN_PACKED_TAG = 224 };

/* Freed with its last user. Any thread may call these functions. */
struct cairn_packed;

/* Compresses BYTES. The caller owns the result, and releases or keeps it. */
struct cairn_packed *cairn_packed_make(struct cairn_bytes bytes);
void cairn_packed_release(void *packed);

/* Makes PACKED the body of RESPONSE. */
void cairn_packed_answer(struct cairn_response *response, struct cairn_packed *packed);

/* Keeps PACKED under TAG, which has at most CAIRN_PACKED_TAG bytes with its terminator. Takes ownership. */
void cairn_packed_keep(struct cairn_packed *packed, const char *tag);

/* Answers with the tree that is kept under TAG. Returns false if there is none. */
bool cairn_packed_find(struct cairn_response *response, const char *tag);

#endif
