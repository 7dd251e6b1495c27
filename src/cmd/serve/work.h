/* work.h - trees that were made lately, so that a hundred pages cost as much as one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SERVE_WORK_H
#define CAIRN_CMD_SERVE_WORK_H

#include "cmd/serve/serve.h"

enum { CAIRN_WORK_TAG = 224 };

/* Which tree a request is for: the tag that no other has, in quotes as HTTP wants it, and the points behind it. False where there is no
 * dump. Under serve->lock. */
struct cairn_work_tree {
	int64_t at, base; /* base is 0 for none */
	char value[40];
	char tag[CAIRN_WORK_TAG];
};
bool cairn_work_tree(const struct cairn_serve_process *process, struct cairn_bytes query, struct cairn_work_tree *tree);

/* Answers with TREE where it was made lately. */
bool cairn_work_answer(struct cairn_response *response, const struct cairn_work_tree *tree);

/* Says in RESPONSE which tree it is, and of which points: those asked for may be gone. */
void cairn_work_name(struct cairn_response *response, const struct cairn_work_tree *tree);

/* A tree as it is sent, packed. It belongs to all who send or keep it. */
struct cairn_work_packed;
struct cairn_work_packed *cairn_work_pack(struct cairn_bytes bytes);
void cairn_work_release(void *packed);

/* Answers with PACKED, which is TREE; NULL for one that has no name. */
void cairn_work_answer_packed(struct cairn_response *response, struct cairn_work_packed *packed, const struct cairn_work_tree *tree);

/* Keeps PACKED, which the caller gives away, for those who ask for the tree of that tag. */
void cairn_work_keep(struct cairn_work_packed *packed, const char *tag);

#endif
