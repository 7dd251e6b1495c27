/* process_test.c - another program's output, and its ways to fail.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/process.h"

#include "tap.h"

static bool run(const char *const *arguments, size_t maximum, struct cairn_buffer *out, struct cairn_error *error)
{
	*out = cairn_buffer(maximum);
	return cairn_process_read(arguments, out, error);
}

int main(void)
{
	struct cairn_buffer out;
	struct cairn_error error;
	ok(run((const char *const[]){"printf", "%s|", "a b", "$HOME;", NULL}, 1 << 20, &out, &error), "runs without a shell");
	ok(cairn_bytes_equal(cairn_buffer_bytes(&out), cairn_bytes_of("a b|$HOME;|")), "arguments arrive as they are");
	cairn_buffer_free(&out);
	ok(!run((const char *const[]){"cairn-no-such-program", NULL}, 1 << 20, &out, &error), "a program that is not there");
	like_text(error.text, "cairn-no-such-program cannot be run", "is named");
	cairn_buffer_free(&out);
	ok(!run((const char *const[]){"false", NULL}, 1 << 20, &out, &error), "one that fails");
	like_text(error.text, "false failed", "is named");
	cairn_buffer_free(&out);
	ok(!run((const char *const[]){"yes", NULL}, 1 << 20, &out, &error), "one that writes without end");
	like_text(error.text, "more than was expected", "is stopped");
	cairn_buffer_free(&out);
	return tap_done();
}
