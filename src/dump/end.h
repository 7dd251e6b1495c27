/* end.h - how a process ended: as a type, and as the words that stand for it in dumps and stores.
 *
 * Only the words travel: `ended` in a trailer, the reason of a dump, a column of the store. They are shown as they are; a program that
 * needs to know more asks cairn_end_parse, which is the only reader of these words.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_END_H
#define CAIRN_DUMP_END_H

#include "base/bytes.h"

enum cairn_end_kind { CAIRN_END_UNKNOWN, CAIRN_END_CODE, CAIRN_END_SIGNAL };

struct cairn_end {
	enum cairn_end_kind kind;
	int number;         /* the exit code or signal */
	bool out_of_memory; /* it was inferred that the OOM killer killed it */
};

/* The words: "exited with code 3", "killed by signal 9 (Killed), by the OOM killer (inferred)", "ended, how is not known". */
void cairn_end_say(const struct cairn_end *end, char *out, size_t size);

/* WORDS, shorter if they say more than people want: "killed (SIGKILL)", "killed by the OOM killer". Returns OUT. */
const char *cairn_end_brief(const char *words, char *out, size_t size);

/* What WORDS say, which may also be another program's: what they do not say is unknown. */
struct cairn_end cairn_end_parse(struct cairn_bytes words);

/* Whether it was killed, by a signal or by the OOM killer. */
static inline bool cairn_end_was_kill(struct cairn_end end)
{
	return end.kind == CAIRN_END_SIGNAL || end.out_of_memory;
}

#endif
