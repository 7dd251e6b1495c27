/* shown.h - what the live values of a profile are: what is live, or something else that the same dump says of live memory.
 *
 * Each is a row of cairn_shown_views, which every stage reads: the reader fills the values (profile/sections.c), the option of the row's name asks
 * for it, and reports and the page take its titles.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_SHOWN_H
#define CAIRN_DUMP_SHOWN_H

#include <stdbool.h>

enum cairn_shown {
	CAIRN_SHOWN_LIVE,
	CAIRN_SHOWN_PEAK,          /* what was live at the peak */
	CAIRN_SHOWN_SLACK,         /* what live objects can hold beyond what was requested */
	CAIRN_SHOWN_FRAGMENTATION, /* free space in slabs, divided among the live objects that keep them */
	CAIRN_SHOWN_MAPPED,        /* what the service mapped itself */
	CAIRN_SHOWN_COUNT,
};

struct cairn_shown_view {
	const char *option;          /* also its key in JSON */
	const char *space, *objects; /* its values, where a profile has them beside those of what is live */
	const char *space_title, *objects_title;
	const char *label, *hint; /* of its button in the page */
	const char *lacking;      /* what a dump that cannot show it does not say */
	const char *where;        /* which dumps of Cairn's own engine can */
	bool by_path;             /* known by call path only: neither by thread nor by age */
	bool by_object;           /* a number of bytes for each live object, which does not grow with its size */
	bool exact;               /* not an estimate */
};

/* The row after those is of what was allocated, freed or not. */
extern const struct cairn_shown_view cairn_shown_views[CAIRN_SHOWN_COUNT + 1];

/* The row of the value called TYPE ("peak_space"), or NULL. */
const struct cairn_shown_view *cairn_shown_of(const char *type);

#endif
