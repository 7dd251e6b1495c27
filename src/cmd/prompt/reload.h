/* reload.h - profiles of the same sources with changing options, for commands that answer more than once.
 *
 * Recent profiles are kept, so that going back and forth costs nothing. Standard input, pipes and live processes are read once: they have
 * no other profile.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_PROMPT_RELOAD_H
#define CAIRN_CMD_PROMPT_RELOAD_H

#include "live/source.h"

enum { CAIRN_RELOAD_MOST = 2 };

struct cairn_reload {
	const struct cairn_profile *first; /* borrowed, and what it was loaded with */
	struct cairn_source_options first_options;
	int count; /* of names */
	char **names;
	struct cairn_reload_slot {
		bool used;
		struct cairn_profile profile;
		struct cairn_source_options options;
		struct cairn_arena arena; /* of the texts in options */
	} slots[CAIRN_RELOAD_MOST];
	unsigned next; /* the slot to reuse next */
};

/* The profile of the sources with OPTIONS, kept or loaded now. NULL with a message if it cannot be loaded. Borrowed until the next call. */
const struct cairn_profile *cairn_reload_get(struct cairn_reload *reload, const struct cairn_source_options *options,
					     struct cairn_error *error);
void cairn_reload_free(struct cairn_reload *reload);

#endif
