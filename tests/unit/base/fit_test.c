/* fit_test.c - tables and sentences in the width of a terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/fit.h"

#include "base/text.h"
#include "base/utf8.h"
#include "tap.h"

static void fits(const char *text, size_t width, const char *wanted, const char *what)
{
	struct cairn_buffer out = cairn_buffer(1 << 20);
	cairn_fit_lines(cairn_bytes_of(text), width, &out);
	cairn_buffer_byte(&out, 0);
	is_text(out.data, wanted, "%s", what);
	cairn_buffer_free(&out);
}

static void test_sentences(void)
{
	fits("a short line\n\nand one without an end", 40, "a short line\n\nand one without an end", "what fits stays");
	fits("no leak was seen so far in the small part that is sampled\n", 40,
	     "no leak was seen so far in the small\npart that is sampled\n", "a sentence goes on in the next line");
	fits("note      one thing    that one has to read to its end, and more\n", 48,
	     "note      one thing    that one has to read to\n                       its end, and more\n",
	     "under the beginning of its column");
	fits("problem   agent        -> cairn attach --container a-long-name 12345\n", 48,
	     "problem   agent        -> cairn attach --container a-long-name 12345\n", "a command stays in one line");
	fits("see /a/path/that/is/longer/than/a/line/of/this/terminal/is\n", 40,
	     "see\n/a/path/that/is/longer/than/a/line/of/this/terminal/is\n", "a file's name is not cut");
	fits("no leak was seen so far in the small part that is sampled\n", 8,
	     "no leak was seen so far in the small part that is sampled\n", "a terminal of no width changes nothing");
}

static void test_tables(void)
{
	fits("a sentence above\n\n"
	     "     Rate  Verdict    Call path\n"
	     "  1 MiB/s  growing    remember_session\n"
	     "                      serve\n"
	     "                      … 1 more\n",
	     36,
	     "a sentence above\n\n"
	     "     Rate  Verdict\n    Call path\n"
	     "  1 MiB/s  growing\n    remember_session\n"
	     "    serve\n"
	     "    … 1 more\n",
	     "a column without room goes below its rows");
	fits("     Rate  Call path\n  1 MiB/s  remember_a_session_for_ever\n", 36,
	     "     Rate  Call path\n  1 MiB/s  remember_a_s…ion_for_ever\n", "a name is shortened in the middle");
	fits("     Rate  Call path\n  1 MiB/s  größe_ändern_für_alle_übrigen\033[0m\n", 36,
	     "     Rate  Call path\n  1 MiB/s  größe_ändern…alle_übrigen\033[0m\n", "by characters, and a colour ends");
	fits("  1 MiB/s  \033[90mremember_a_session_for\033[0m\n", 36, "  1 MiB/s  \033[90mremember_a_session_for\033[0m\n",
	     "colours take no room");
}

/* However long the words of a sentence are, no line is wider than the terminal. */
static void test_any(void)
{
	unsigned state = 7;
	bool good = true;
	for (int round = 0; round < 2000; round++) {
		struct cairn_buffer text = cairn_buffer(1 << 20), out = cairn_buffer(1 << 20);
		for (int word = 0; word < 12; word++) {
			cairn_buffer_text(&text, word ? " " : "");
			for (unsigned i = 0, length = (state = state * 1103515245 + 12345) >> 16 & 63; i <= length; i++)
				cairn_buffer_text(&text, i % 5 == 4 ? "\033[1m" : i & 1 ? "a" : "ä");
		}
		cairn_fit_lines(cairn_buffer_bytes(&text), 40, &out);
		struct cairn_bytes rest = cairn_buffer_bytes(&out), line;
		while (cairn_text_line(&rest, &line, NULL))
			good = good && cairn_utf8_columns(line) <= 40;
		cairn_buffer_free(&text);
		cairn_buffer_free(&out);
	}
	ok(good, "no word is too long");
}

int main(void)
{
	test_sentences();
	test_tables();
	test_any();
	return tap_done();
}
