/* graphviz_test.c - pictures by the library, and what is said where it cannot make one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/graphviz.h"

#include "tap.h"

/* Under LeakSanitizer: what Graphviz and the libraries below it keep until the end is theirs. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libfontconfig\nleak:libgvc\nleak:libcgraph\nleak:libpango\nleak:libcairo\nleak:libglib\nleak:libgvplugin\nleak:"
	       "libexpat\n";
}

static bool render(const char *dot, const char *format, struct cairn_buffer *out, struct cairn_error *error)
{
	*out = cairn_buffer(1 << 20);
	bool good = cairn_graphviz_render(cairn_bytes_of(dot), format, out, error);
	cairn_buffer_byte(out, '\0');
	return good;
}

int main(void)
{
	struct cairn_buffer out;
	struct cairn_error error;
	if (TAP_THREAD_SANITIZER) {
		tap_skip("pictures", "the libraries below Graphviz are not built for ThreadSanitizer");
		return tap_done();
	}
	if (!render("digraph { a -> b }", "svg", &out, &error)) {
		like_text(error.text, "Graphviz is not installed", "without Graphviz there is a sentence");
		tap_skip("pictures", "no Graphviz here");
		return tap_done();
	}
	like_text(out.data, "<svg", "a graph becomes SVG");
	cairn_buffer_free(&out);
	ok(render("digraph { a -> b }", "png", &out, &error) && memcmp(out.data + 1, "PNG", 3) == 0, "the next one PNG");
	cairn_buffer_free(&out);
	ok(!render("digraph { a -> ", "svg", &out, &error), "what is no dot text fails");
	like_text(error.text, "Graphviz cannot draw", "with a sentence");
	cairn_buffer_free(&out);
	ok(!render("digraph { a }", "nonsense", &out, &error), "and so does a format nobody knows");
	cairn_buffer_free(&out);
	ok(render("digraph { a -> b }", "svg", &out, &error), "after which the next one works");
	cairn_buffer_free(&out);
	return tap_done();
}
