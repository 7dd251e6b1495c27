/* answer.h - the answers about processes for pages and scripts, as JSON (doc/live-page.md).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_ANSWER_H
#define CAIRN_FLEET_SERVE_ANSWER_H

#include "fleet/serve/serve.h"

/* Call all of these under serve->lock. */
void cairn_answer_processes(struct cairn_serve *serve, struct cairn_buffer *out);
/* Only what is later than SINCE, in milliseconds since 1970. */
void cairn_answer_series(const struct cairn_serve_process *process, int64_t since, struct cairn_buffer *out);
/* The data of an event about PROCESS: its entry in the list, and of a dump its POINT (else NULL), what that adds to the series, and the bill.
 * The last two are left out if they are long or the dump is not the newest; a page then asks for them. */
void cairn_answer_news(const struct cairn_serve_process *process, const struct cairn_serve_point *point, struct cairn_buffer *out);
void cairn_answer_leaks(const struct cairn_serve_process *process, struct cairn_buffer *out);
void cairn_answer_bill(const struct cairn_serve_process *process, struct cairn_buffer *out);
void cairn_answer_health(const struct cairn_serve_process *process, struct cairn_buffer *out);

/* Metrics of all processes in the format of Prometheus. */
void cairn_answer_metrics(const struct cairn_serve *serve, struct cairn_buffer *out);

/* Resident memory of PROCESS, from the last reading or dump that has it; 0 if none does. */
double cairn_answer_resident(const struct cairn_serve_process *process);

#endif
