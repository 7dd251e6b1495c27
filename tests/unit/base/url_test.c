/* url_test.c - addresses: parts, names and passwords taken out, and what is refused.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/url.h"
#include "tap.h"

#include <stdio.h>

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

static struct cairn_error error;

/* TEXT after its user and password were set aside; "?" if that failed. */
static const char *cleaned(const char *text)
{
	static char out[200];
	snprintf(out, sizeof out, "%s", text);
	return cairn_url_set_aside(out, &error) ? out : "?";
}

static const char *restored(const char *url)
{
	static char text[200];
	struct cairn_buffer out = cairn_buffer(sizeof text - 1);
	cairn_url_restore(&out, url);
	snprintf(text, sizeof text, "%.*s", (int)out.length, out.data);
	cairn_buffer_free(&out);
	return text;
}

static void test_credentials(void)
{
	is_text(cleaned("http://alice:secret@host:80/heap"), "http://host:80/heap", "user and password are taken out");
	is_text(cairn_url_credentials("http://host:80/other?page"), "alice:secret", "and kept for all pages of the server");
	is_text(restored("http://host:80/other"), "http://alice:secret@host:80/other", "the request has them again");
	ok(!cairn_url_credentials("http://host:8/") && !cairn_url_credentials("https://host:80/") && !cairn_url_credentials("host:80/"),
	   "another port, scheme or name has none");
	is_text(restored("http://host:8/heap"), "http://host:8/heap", "and its URL is as it was");
	is_text(cleaned("--forward=pyroscope:https://alice:s@receiver"), "--forward=pyroscope:https://receiver",
		"a URL within an argument");
	is_text(cairn_url_credentials("https://receiver/ingest"), "alice:s", "is kept by its scheme and host");
	is_text(cleaned("clickhouse://only@db/x"), "clickhouse://db/x", "a user alone");
	is_text(cleaned("http://a:b@c?d#e@odd/x@y"), "http://odd/x@y", "a password that was not escaped goes as a whole");
	is_text(cleaned("http://host/a@b"), "http://host/a@b", "an @ of the path stays");
	is_text(cleaned("see http://host and mail me@home"), "see http://host and mail me@home", "so does one of another word");
	is_text(cleaned("a:b@c"), "a:b@c", "what is no URL stays");
	is_text(cleaned("://a@b"), "://a@b", "what has no scheme, too");
	is_text(cleaned("http://alice:secret@host:80"), "http://host:80", "the same user again");
	is_text(cleaned("http://bob:secret@host:80/x"), "?", "another user of one server");
	ok(error.usage && strstr(error.text, "http://host:80 is given with two users or passwords"), "is a usage error: %s", error.text);

	char text[] = "http://alice:secret@host:80/heap";
	cairn_url_set_aside(text, NULL);
	ok(!memmem(text, sizeof text, "t@", 2) && memcmp(text + sizeof text - 14, "\0\0\0\0\0\0\0\0\0\0\0\0\0", 14) == 0,
	   "nothing of them is left behind the end");
}

int main(void)
{
	test_credentials();
	is_text(escaped("Service-1.4242_7~a.heap"), "Service-1.4242_7~a.heap", "plain characters stay");
	is_text(escaped("../a b?c=d&e#f%41+"), "..%2Fa%20b%3Fc%3Dd%26e%23f%2541%2B",
		"what an address gives a meaning is escaped, and the escape itself");
	is_text(escaped("[{@`^\"<>"), "%5B%7B%40%60%5E%22%3C%3E", "so are the neighbours of the letters");
	is_text(escaped("\xc3\xa4\xff\x01"), "%C3%A4%FF%01", "and every byte of other scripts, or of none");
	is_text(escaped(""), "", "nothing stays nothing");
	return tap_done();
}
