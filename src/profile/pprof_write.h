/* pprof_write.h - writes a profile as pprof's profile.proto, for `go tool pprof`, Pyroscope, Parca and others.
 *
 * The result satisfies the strictest of those readers: IDs count from 1, text is valid UTF-8, the main program's mapping comes first.
 * Values are rounded to integers so that their sum is the rounded sum. Reading the result gives the same profile again; locations and
 * functions that no sample uses are not written.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_PPROF_WRITE_H
#define CAIRN_PROFILE_PPROF_WRITE_H

#include "base/buffer.h"
#include "profile/profile.h"

enum cairn_pprof_names {
	CAIRN_PPROF_NAMES_KNOWN, /* the names in the profile; the reader may name the rest */
	CAIRN_PPROF_NAMES_ALL,   /* also "libfoo.so+0x1234" for each unnamed location, so that the reader has nothing to look up */
	CAIRN_PPROF_NAMES_NONE,  /* only addresses, for a server that names them by build-id */
};

/* All zeroes writes everything. */
struct cairn_pprof_options {
	enum cairn_pprof_names names;
	/* Gives each heap sample without a size the label "bytes": the mean size of its objects or, if only a part was sampled, the
	 * nearest of jemalloc's size classes. The rest of a difference has none. */
	bool sizes;
	const char *drop_frames; /* a regular expression, used when the profile has none of its own; may be NULL */
	/* The receiver's limits; 0 for none. The stacks with the smallest default value are merged into one, "other". */
	size_t samples_most;
	size_t bytes_most;
};

/* Appends PROFILE to OUT, uncompressed. Returns false if it does not fit OUT's maximum, or if no sample would fit bytes_most. */
bool cairn_pprof_write(const struct cairn_profile *profile, const struct cairn_pprof_options *options, struct cairn_buffer *out);

#endif
