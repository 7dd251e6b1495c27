/* work.h - the trees that requests are for: which one it is, and the answer if it was made lately.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SERVE_WORK_H
#define CAIRN_CMD_SERVE_WORK_H

#include "cmd/serve/packed.h"
#include "cmd/serve/serve.h"

/* Which tree a request is for: the tag that no other has, in quotes as HTTP wants it, and the points behind it. False where there is no
 * dump. Under serve->lock. */
struct cairn_work_tree {
	int64_t at, base; /* base is 0 for none */
	char value[40];
	char tag[CAIRN_PACKED_TAG];
};
bool cairn_work_tree(const struct cairn_serve_process *process, struct cairn_bytes query, struct cairn_work_tree *tree);

/* Answers with TREE where it was made lately. */
bool cairn_work_answer(struct cairn_response *response, const struct cairn_work_tree *tree);

/* Says in RESPONSE which tree it is, and of which points: those asked for may be gone. */
void cairn_work_name(struct cairn_response *response, const struct cairn_work_tree *tree);

#endif
