/* words.c - reading, writing and checking words.
 *
 * They are written by ptrace, which changes pages that only can be read or executed, whatever proc_mem.force_override says of /proc/PID/mem; eight
 * bytes at a time, so that a command that is killed leaves no word half written.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/inside/words.h"

#include <errno.h>
#include <sys/ptrace.h>
#include <unistd.h>

static bool read_word(const struct cairn_words *words, uint64_t address, uint64_t *value)
{
	return pread(words->memory, value, sizeof *value, (off_t)address) == sizeof *value;
}

/* Of word I, what it reads now, and what it is to read. False where it is neither that nor what it was. */
static bool look(const struct cairn_words *words, size_t i, bool back, bool *is_right)
{
	const struct cairn_inside_word *word = &words->items[i];
	uint64_t value;
	if (!read_word(words, word->address, &value) || (value != word->before && value != word->after))
		return false;
	*is_right = value == (back ? word->before : word->after);
	return true;
}

struct cairn_words_state cairn_words_look(const struct cairn_words *words)
{
	struct cairn_words_state state = {0};
	for (size_t i = 0; i < words->count; i++) {
		bool is_after;
		if (look(words, i, false, &is_after))
			++*(is_after ? &state.after : &state.before);
	}
	if (state.after || state.before)
		state.strange = words->count - state.after - state.before;
	return state;
}

static bool write_word(int tid, uint64_t address, uint64_t value)
{
	return ptrace(PTRACE_POKETEXT, tid, (void *)(uintptr_t)address, (void *)(uintptr_t)value) == 0;
}

/* Undoes what was changed from FIRST on, a step at a time. */
static void undo(const struct cairn_words *words, int tid, bool back, size_t done)
{
	while (done-- > 0) {
		const struct cairn_inside_word *word = &words->items[back ? words->count - 1 - done : done];
		bool is_right;
		if (look(words, (size_t)(word - words->items), back, &is_right) && is_right)
			write_word(tid, word->address, back ? word->after : word->before);
	}
}

bool cairn_words_change(struct cairn_words *words, int tid, bool back, struct cairn_error *error)
{
	bool is_right, any_strange = cairn_words_look(words).strange > 0;
	const struct cairn_inside_word *strange = NULL;
	words->changed = 0;
	for (size_t i = 0; i < words->count && (any_strange || !back) && !strange; i++)
		strange = look(words, i, back, &is_right) ? NULL : &words->items[i];
	if (strange)
		cairn_fail(error, "the code at %llx is not what its file has: something else has changed it, such as a breakpoint",
			   (unsigned long long)strange->address);
	if (strange && !back)
		return false;
	for (size_t i = 0; i < words->count; i++) {
		size_t at = back ? words->count - 1 - i : i;
		const struct cairn_inside_word *word = &words->items[at];
		uint64_t wanted = back ? word->before : word->after, value;
		if (!look(words, at, back, &is_right) || is_right)
			continue;
		if (!write_word(tid, word->address, wanted) || !read_word(words, word->address, &value) || value != wanted) {
			int reason = errno;
			undo(words, tid, back, i);
			errno = reason;
			return cairn_fail_errno(error, "the code at %llx cannot be changed", (unsigned long long)word->address);
		}
		words->changed++;
	}
	return !strange;
}
