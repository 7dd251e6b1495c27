/* jeprof_name.h - names as jemalloc's jeprof prints them.
 *
 * The name of a function is printed without arguments, templates and return type. If that would remove the type it belongs to (Rust's
 * "<Vec<T> as Clone>::clone", an anonymous namespace), the usual short name is used. If two functions get the same name, @ and a number
 * derived from the full name are appended.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_JEPROF_NAME_H
#define CAIRN_REPORT_JEPROF_NAME_H

#include "report/view.h"

struct cairn_jeprof_names {
	const struct cairn_profile *profile; /* borrowed */
	bool full; /* whole names, and [inline] instead of (inline): for folded text */
	struct cairn_strings strings;
	uint32_t *names; /* in `strings`, of each function */
	uint32_t *tags;  /* of each function that shares its name with another, else 0 */
};

void cairn_jeprof_names_make(struct cairn_jeprof_names *names, const struct cairn_profile *profile, bool full);
void cairn_jeprof_names_free(struct cairn_jeprof_names *names);

/* NAME in jeprof's short form, appended to OUT. */
void cairn_jeprof_shorten(const char *name, struct cairn_buffer *out);

/* The short name of FUNCTION, without the number that distinguishes it. */
static inline struct cairn_bytes cairn_jeprof_name(const struct cairn_jeprof_names *names, uint32_t function)
{
	return cairn_strings_bytes(&names->strings, names->names[function]);
}

/* "file:line" of FRAME (CAIRN_NONE for none), as addr2line prints it. */
void cairn_jeprof_place(const struct cairn_profile *profile, uint32_t frame, struct cairn_buffer *out);

/* Names one frame of a view whose `name_context` is a struct cairn_jeprof_names. */
cairn_view_namer cairn_jeprof_name_frame;

#endif
