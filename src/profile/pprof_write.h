/* pprof_write.h - a profile as pprof's profile.proto, for `go tool pprof`, Pyroscope, Parca and their like.
 *
 * Fit for the strictest of those readers: ids count from 1, text is valid UTF-8, the main program's mapping comes first.
 * Values are rounded to integers so that their sum is the rounded sum. Reading the result gives the same profile again;
 * locations and functions that no sample uses are not written.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_PPROF_WRITE_H
#define CAIRN_PROFILE_PPROF_WRITE_H

#include "base/buffer.h"
#include "profile/profile.h"

enum cairn_pprof_names {
	CAIRN_PPROF_NAMES_KNOWN, /* the names the profile has; the rest may still be named by the reader */
	CAIRN_PPROF_NAMES_ALL,   /* and "libfoo.so+0x1234" for each location without one: a reader then has nothing to look up */
	CAIRN_PPROF_NAMES_NONE,  /* addresses only, for a server that names them by build-id */
};

/* All zeroes writes everything. */
struct cairn_pprof_options {
	enum cairn_pprof_names names;
	/* Labels each heap sample that has no size with one, "bytes": the mean of its objects, or where only a part was sampled the nearest of
	 * jemalloc's size classes. What is left of a difference has none. */
	bool sizes;
	const char *drop_frames; /* a regular expression, used when the profile has none of its own; may be NULL */
	/* The budget of the receiver; 0 is none. What is smallest in the default value is folded into one stack, "other". */
	size_t samples_most;
	size_t bytes_most;
};

/* Appends PROFILE to OUT, not packed. False when it does not fit OUT's maximum, or when no sample would fit bytes_most. */
bool cairn_pprof_write(const struct cairn_profile *profile, const struct cairn_pprof_options *options, struct cairn_buffer *out);

#endif
