/* counts.h - a line of counts in a jemalloc dump: `t3: 13: 6688 [0: 0] worker`, or `t*:` for all threads.
 *
 * The first one in a dump is its total; those after an @ line belong to a stack. Inline, since a dump consists mostly of these lines.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_COUNTS_H
#define CAIRN_DUMP_COUNTS_H

#include "base/text.h"

struct cairn_counts {
	uint64_t thread;
	bool is_all; /* t* */
	uint64_t numbers[4]; /* live objects, live bytes, all objects, all bytes */
	struct cairn_bytes name; /* of the thread; borrowed from the line */
};

static inline void cairn_counts_skip_space(const char **at, const char *end)
{
	while (*at < end && (**at == ' ' || **at == '\t'))
		++*at;
}

static inline bool cairn_counts_take(const char **at, const char *end, char wanted)
{
	cairn_counts_skip_space(at, end);
	if (*at == end || **at != wanted)
		return false;
	++*at;
	return true;
}

static inline bool cairn_counts_number(const char **at, const char *end, uint64_t *value)
{
	cairn_counts_skip_space(at, end);
	const char *first = *at;
	uint64_t result = 0;
	for (; *at < end && (unsigned char)(**at - '0') < 10; ++*at)
		if (__builtin_mul_overflow(result, (uint64_t)10, &result) ||
		    __builtin_add_overflow(result, (uint64_t)(**at - '0'), &result))
			return false;
	*value = result;
	return *at > first;
}

/* Reads LINE. Returns false if it is not a line of counts. */
static inline bool cairn_counts_read(struct cairn_bytes line, struct cairn_counts *counts)
{
	const char *at = line.data, *end = line.data + line.length;
	*counts = (struct cairn_counts){0};
	if (!cairn_counts_take(&at, end, 't'))
		return false;
	counts->is_all = at < end && *at == '*';
	if (counts->is_all)
		at++;
	else if (!cairn_counts_number(&at, end, &counts->thread))
		return false;
	for (int i = 0; i < 4; i++)
		if (!cairn_counts_take(&at, end, i == 2 ? '[' : ':') || !cairn_counts_number(&at, end, &counts->numbers[i]))
			return false;
	if (!cairn_counts_take(&at, end, ']'))
		return false;
	counts->name = cairn_text_trim((struct cairn_bytes){at, (size_t)(end - at)});
	return true;
}

/* The total of sampled objects and bytes in DUMP, from its first lines; zero if they do not say. */
static inline void cairn_counts_total(struct cairn_bytes dump, uint64_t *objects, uint64_t *bytes)
{
	struct cairn_counts counts;
	struct cairn_bytes line;
	*objects = *bytes = 0;
	for (int i = 0; i < 3 && cairn_text_line(&dump, &line, NULL); i++)
		if (cairn_counts_read(line, &counts) && counts.is_all) {
			*objects = counts.numbers[0];
			*bytes = counts.numbers[1];
			return;
		}
}

#endif
