/* shared_options.h - options that several commands take, for their groups.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SHARED_OPTIONS_H
#define CAIRN_CMD_SHARED_OPTIONS_H

#include "cmd/option.h"
#include "live/source.h"
#include "live/store_source.h"
#include "live/target.h"

/* They go with a struct cairn_source_options. */
extern const struct cairn_option cairn_combine_option_table[]; /* sums and differences of profiles */
extern const struct cairn_option cairn_source_option_table[];  /* all others, but: */
extern const struct cairn_option cairn_shown_option_table[];   /* what is shown instead of live memory (dump/shown.h) */

/* It goes with a struct cairn_fleet_options. */
extern const struct cairn_option cairn_fleet_option_table[];

struct cairn_target_options {
	const char *token;
};
extern const struct cairn_option cairn_target_option_table[];

#endif
