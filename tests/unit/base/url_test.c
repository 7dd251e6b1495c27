/* SPDX-License-Identifier: Apache-2.0 */
#include "base/url.h"
#include "tap.h"

static const char *escaped(const char *name)
{
	static char text[1024];
	struct cairn_buffer out = cairn_buffer(sizeof text - 1);
	cairn_url_name(&out, name);
	memcpy(text, out.data ? out.data : "", out.length);
	text[out.length] = 0;
	cairn_buffer_free(&out);
	return text;
}

int main(void)
{
	is_text(escaped("Service-1.4242_7~a.heap"), "Service-1.4242_7~a.heap", "plain characters stay");
	is_text(escaped("../a b?c=d&e#f%41+"), "..%2Fa%20b%3Fc%3Dd%26e%23f%2541%2B",
		"what an address gives a meaning is escaped, and the escape itself");
	is_text(escaped("[{@`^\"<>"), "%5B%7B%40%60%5E%22%3C%3E", "so are the neighbours of the letters");
	is_text(escaped("\xc3\xa4\xff\x01"), "%C3%A4%FF%01", "and every byte of other scripts, or of none");
	is_text(escaped(""), "", "nothing stays nothing");
	return tap_done();
}
