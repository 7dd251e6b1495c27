/* newest.h - what is kept of the newest dump of a process only: churn, and the bill of resident memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_NEWEST_H
#define CAIRN_FLEET_SERVE_NEWEST_H

#include "fleet/serve/serve.h"

/* Appends the churn as JSON (report/churn.h). Fails if the dump does not have it. */
bool cairn_newest_churn(struct cairn_serve_process *process, struct cairn_buffer *out, struct cairn_error *error);

/* Appends both for a page of the dump AT, compared with BASE; appends nothing unless AT is the newest dump and BASE is 0. Under the heavy
 * lock. */
void cairn_newest_describe(struct cairn_serve_process *process, int64_t at, int64_t base, struct cairn_buffer *churn,
			   struct cairn_buffer *bill);

#endif
