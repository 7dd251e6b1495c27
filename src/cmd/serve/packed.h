/* packed.h - trees as they are sent, compressed; those that were made lately are kept, so that a hundred pages cost as much as one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SERVE_PACKED_H
#define CAIRN_CMD_SERVE_PACKED_H

#include "http/server.h"

enum { CAIRN_PACKED_TAG = 224 };

/* Freed with the last who sends it. Any thread may call these. */
struct cairn_packed;

/* BYTES compressed; owned by the caller, who releases it or has it kept. */
struct cairn_packed *cairn_packed_make(struct cairn_bytes bytes);
void cairn_packed_release(void *packed);

/* Makes it the answer. */
void cairn_packed_answer(struct cairn_response *response, struct cairn_packed *packed);

/* Takes PACKED over under TAG, of at most CAIRN_PACKED_TAG bytes with its end. */
void cairn_packed_keep(struct cairn_packed *packed, const char *tag);

/* Answers with what is kept under TAG; false if it is not. */
bool cairn_packed_find(struct cairn_response *response, const char *tag);

#endif
