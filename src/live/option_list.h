/* option_list.h - the values of an option that may be given several times.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_OPTION_LIST_H
#define CAIRN_LIVE_OPTION_LIST_H

#include <stddef.h>

enum { CAIRN_OPTION_LIST_MAX = 64 };

struct cairn_option_list {
	const char *items[CAIRN_OPTION_LIST_MAX]; /* borrowed from the command line */
	size_t count;
};

#endif
