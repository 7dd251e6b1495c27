/* summary.h - the results of `cairn run`: the profile of the tree as a file, and five lines about it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_RUN_SUMMARY_H
#define CAIRN_CMD_RUN_SUMMARY_H

#include "live/run/supervise.h"

struct cairn_summary_options {
	const char *name;   /* of the command */
	const char *output; /* the profile's file; NULL for a name that begins with PREFIX; TMPDIR has it if it cannot be written */
	const char *prefix;
	bool quiet;         /* write the profile, print nothing */
	bool waited;        /* sampling was not on from the start */
	const char *unseen; /* why the command's own memory is in no profile; NULL if nothing is known of that */
};

/* Writes the profiles of RUN, that of its end and, if it was much higher, that of its peak, and prints on standard error how the run
 * ended, how much memory was live, which functions held it, and where the profiles are. The profile of one process is its dump unchanged,
 * unless the name asks for pprof's format or gzip; that of several is their sum in pprof's format, with the process of each sample as a
 * label. */
void cairn_summary_write(const struct cairn_supervision *run, const struct cairn_summary_options *options);

#endif
