/* answer.h - the answers about processes for pages and scripts, as JSON (doc/live-page.md).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SERVE_ANSWER_H
#define CAIRN_CMD_SERVE_ANSWER_H

#include "cmd/serve/serve.h"

/* All of them under serve->lock. */
void cairn_answer_processes(struct cairn_serve *serve, struct cairn_buffer *out);
/* What there is after SINCE, milliseconds since 1970. */
void cairn_answer_series(const struct cairn_serve_process *process, int64_t since, struct cairn_buffer *out);
void cairn_answer_leaks(const struct cairn_serve_process *process, struct cairn_buffer *out);
void cairn_answer_bill(const struct cairn_serve_process *process, struct cairn_buffer *out);
void cairn_answer_health(const struct cairn_serve_process *process, struct cairn_buffer *out);

/* Metrics of all processes in Prometheus' format. */
void cairn_answer_metrics(const struct cairn_serve *serve, struct cairn_buffer *out);

/* Resident memory of PROCESS, by the last reading or dump that knows it; 0 where none does. */
double cairn_answer_resident(const struct cairn_serve_process *process);

#endif
