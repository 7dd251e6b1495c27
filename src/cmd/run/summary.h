/* summary.h - what `cairn run` leaves: the profile of the tree as a file, and five lines about it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_RUN_SUMMARY_H
#define CAIRN_CMD_RUN_SUMMARY_H

#include "cmd/run/supervise.h"

struct cairn_summary_options {
	const char *name;   /* of the command */
	const char *output; /* the profile's file; NULL for one that PREFIX begins */
	const char *prefix;
	bool quiet;         /* write the profile, say nothing */
	bool waited;        /* sampling was not on from the start */
};

/* Writes the profiles of RUN, that of its end and that of its highest moment where it was much higher, and says on standard error how
 * the run ended, how much there was, who held it, and where the profiles are. A profile of one process is its dump as it came; one of
 * several is their sum in pprof's format, each sample with the process it is of. */
void cairn_summary_write(const struct cairn_supervision *run, const struct cairn_summary_options *options);

#endif
