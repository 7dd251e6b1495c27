/* end.c - the words for the end of a process, written and read.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/end.h"

#include "base/text.h"

#include <stdio.h>

void cairn_end_say(const struct cairn_end *end, char *out, size_t size)
{
	const char *oom = end->out_of_memory ? ", by the OOM killer (inferred)" : "";
	if (end->kind == CAIRN_END_SIGNAL)
		snprintf(out, size, "killed by signal %d (%s)%s", end->number, strsignal(end->number), oom);
	else if (end->kind == CAIRN_END_CODE)
		snprintf(out, size, "exited with code %d", end->number);
	else
		snprintf(out, size, "ended, how is not known%s", oom);
}

struct cairn_end cairn_end_parse(struct cairn_bytes words)
{
	struct cairn_end end = {.out_of_memory = cairn_bytes_contain(words, "OOM killer")};
	enum cairn_end_kind kind = cairn_text_take(&words, "killed by signal ")	 ? CAIRN_END_SIGNAL
				   : cairn_text_take(&words, "exited with code ") ? CAIRN_END_CODE
										  : CAIRN_END_UNKNOWN;
	uint64_t number;
	if (kind != CAIRN_END_UNKNOWN && cairn_text_decimal(&words, &number) && number <= INT32_MAX) {
		end.kind = kind;
		end.number = (int)number;
	}
	return end;
}

const char *cairn_end_brief(const char *words, char *out, size_t size)
{
	struct cairn_end end = cairn_end_parse(cairn_bytes_of(words));
	const char *name = end.kind == CAIRN_END_SIGNAL ? sigabbrev_np(end.number) : NULL;
	if (end.out_of_memory)
		snprintf(out, size, "killed by the OOM killer");
	else if (name)
		snprintf(out, size, "killed (SIG%s)", name);
	else
		snprintf(out, size, "%s", words);
	return out;
}
