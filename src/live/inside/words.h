/* words.h - changes words of a process whose threads are stopped, all of them or none.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_INSIDE_WORDS_H
#define CAIRN_LIVE_INSIDE_WORDS_H

#include "base/error.h"
#include "protocol/inside.h"

#include <stdbool.h>
#include <stddef.h>

/* What to change, and in what. */
struct cairn_words {
	int memory; /* /proc/PID/mem */
	const struct cairn_inside_word *items; /* those that give back before those that allocate: an object is never seen to come and not to go */
	size_t count;
	size_t changed; /* the result: how many did not read so before */
};

/* Makes each word read `after`, in their order, or with BACK `before`, in the opposite one, by the tracer of TID, and reads them all again.
 * Words that read something else are somebody else's (a breakpoint, say). Then none is changed; with BACK, the others are, and false says which was
 * not. If no word reads as it should, their file was unloaded, and there is nothing to change back. */
bool cairn_words_change(struct cairn_words *words, int tid, bool back, struct cairn_error *error);

/* How many words read as they would if they were changed, if they were changed back, and something else although their file is loaded. */
struct cairn_words_state {
	size_t after, before, strange;
};
struct cairn_words_state cairn_words_look(const struct cairn_words *words);

#endif
