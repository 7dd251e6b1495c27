/* source_series.h - loads files and folders as a series of dumps, for the commands that look at time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_SOURCE_SERIES_H
#define CAIRN_LIVE_SOURCE_SERIES_H

#include "live/source.h"
#include "report/view.h"
#include "series/leaks.h"

/* Loads the dumps that NAMES stand for into SERIES, in the order of time and with names; the caller frees it. It has the value that VIEW
 * selects. If a folder has several services, the one with the most dumps is used, and of processes that ran at the same time one. Notes
 * say what was left out. Fails with a message if fewer than LEAST dumps can be used or, if the newest has the ages of its objects and they
 * are wanted (with_freed), fewer than LEAST_AGED. */
bool cairn_source_series(struct cairn_series *series, const struct cairn_source_options *options,
			 const struct cairn_view_options *view, size_t least, size_t least_aged,
			 int count, char **names, struct cairn_error *error);

/* For a command's refusals: the options that make one profile of several, which it does not. */
#define CAIRN_SERIES_REFUSALS(why) {"base", why}, {"normalize", why}, {"sum", why}, {"tree", why}

#endif
