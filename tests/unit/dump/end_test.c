/* end_test.c - the words for the end of a process, and what is read from them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/end.h"
#include "tap.h"

static void test_words(void)
{
	static const struct {
		struct cairn_end end;
		const char *words;
		bool kill;
	} cases[] = {
		{{CAIRN_END_CODE, 3, false}, "exited with code 3", false},
		{{CAIRN_END_CODE, 0, false}, "exited with code 0", false},
		{{CAIRN_END_SIGNAL, 9, false}, "killed by signal 9 (Killed)", true},
		{{CAIRN_END_SIGNAL, 9, true}, "killed by signal 9 (Killed), by the OOM killer (inferred)", true},
		{{CAIRN_END_UNKNOWN, 0, false}, "ended, how is not known", false},
		{{CAIRN_END_UNKNOWN, 0, true}, "ended, how is not known, by the OOM killer (inferred)", true},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char words[100];
		cairn_end_say(&cases[i].end, words, sizeof words);
		is_text(words, cases[i].words, "the words: %s", cases[i].words);
		struct cairn_end end = cairn_end_parse(cairn_bytes_of(words));
		ok(end.kind == cases[i].end.kind && end.number == cases[i].end.number && end.out_of_memory == cases[i].end.out_of_memory,
		   "and back");
		is_int(cairn_end_was_kill(end), cases[i].kill, "%s", cases[i].kill ? "it was killed" : "it was not killed");
	}
}

static void test_others(void)
{
	static const char *const others[] = {"", "killed", "killed by signal ", "killed by signal x", "exited with code 99999999999",
					     "the service killed by signal 9 sent it"};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		struct cairn_end end = cairn_end_parse(cairn_bytes_of(others[i]));
		ok(end.kind == CAIRN_END_UNKNOWN && end.number == 0 && !cairn_end_was_kill(end), "unknown: '%s'", others[i]);
	}
	ok(cairn_end_was_kill(cairn_end_parse(cairn_bytes_of("killed by the OOM killer"))), "another program's words for the OOM killer");
}

int main(void)
{
	test_words();
	test_others();
	return tap_done();
}
