/* head.h - the head of every report: the process, how it was sampled, and the total.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_HEAD_H
#define CAIRN_REPORT_HEAD_H

#include "base/json.h"
#include "report/shape.h"
#include "report/view.h"

/* Writes two lines and an empty one. */
void cairn_head_text(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out);
/* The same as members of the object that is open. */
void cairn_head_json(struct cairn_view *view, struct cairn_json *json);

/* How much of a process's live bytes a dump has; 0 for what is not known. */
struct cairn_coverage {
	double sampled;                       /* live bytes, as the dump estimates them */
	int64_t start_ns, since_ns, time_ns; /* when the process started, sampling began, and the dump was taken */
	double allocated;                     /* live bytes by the allocator's own count */
	double before;                        /* memory that the process had when sampling began */
	double resident;                      /* all its resident memory */
};

/* Whether the process had memory when sampling began that matters: a twentieth of what is live, by the allocator's own count if there is
 * one. */
bool cairn_coverage_is_partial(const struct cairn_coverage *coverage);

/* Whether it shows less than half of the resident memory, and the rest is more than the program's code. */
bool cairn_coverage_is_little(const struct cairn_coverage *coverage);

/* If a dump is partial: writes the sentence that says so to OUT, "sampling began at 12:03:11; 1.3 GiB were resident by then and are not in
 * this profile (cairn rss explains them)", or, by the allocator's own count, "340 MiB sampled since 12:03:11, of 1.3 GiB live". If it shows
 * little of the resident memory, partial or not, the sentence says who explains the rest. Every report that shows the total shows this
 * sentence too. Returns false if there is none. OUT has room for CAIRN_COVERAGE_TEXT bytes. */
enum { CAIRN_COVERAGE_TEXT = 320 };
bool cairn_coverage_text(const struct cairn_coverage *coverage, char *out, size_t size);

/* The same for what VIEW shows. */
bool cairn_head_coverage(const struct cairn_view *view, char *out, size_t size);

/* Formats VALUE as the report does. Returns OUT, which holds at least 32 bytes. */
char *cairn_head_number(const struct cairn_view *view, const struct cairn_shape *shape, double value, char *out);

/* The confidence interval of VALUE, as "1.5 MiB to 2.1 MiB"; "not known" if the format does not record errors. Returns OUT, which holds
 * at least CAIRN_INTERVAL_TEXT bytes. */
enum { CAIRN_INTERVAL_TEXT = 72, CAIRN_INTERVAL_WIDTH = 23 };
char *cairn_head_interval(const struct cairn_view *view, const struct cairn_shape *shape, double value,
			  struct cairn_spread spread, char *out);
/* The same as a column of a table, and the title of such a column: empty unless the view shows errors. */
char *cairn_head_interval_column(const struct cairn_view *view, const struct cairn_shape *shape, double value,
				 struct cairn_spread spread, char *out);
const char *cairn_head_interval_title(const struct cairn_view *view);
/* The same as members NAME_low and NAME_high, null if unknown; nothing unless the view shows errors. */
void cairn_head_interval_json(const struct cairn_view *view, struct cairn_json *json, const char *name, double value,
			      struct cairn_spread spread);

/* The value type that the view counts, as in the profile: "inuse_space". */
const char *cairn_head_type(const struct cairn_view *view);

/* The same in words, for headings: "live memory" for inuse_space. */
const char *cairn_head_title(const struct cairn_view *view);
const char *cairn_head_value_title(const struct cairn_profile *profile, uint32_t value);

#endif
