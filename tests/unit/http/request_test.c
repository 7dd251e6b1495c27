/* request_test.c - the request parser: what it takes, what it refuses, at every split of the input.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/request.h"
#include "tap.h"

#include <stdlib.h>

static int parse(const char *text, struct cairn_request *request)
{
	size_t used;
	return cairn_request_parse(request, cairn_bytes_of(text), &used);
}

static bool is(struct cairn_bytes bytes, const char *text)
{
	return cairn_bytes_equal(bytes, cairn_bytes_of(text));
}

static void test_good(void)
{
	struct cairn_request request;
	const char *text = "POST /debug/prof/mem?output=proto#x HTTP/1.1\r\nHost: localhost:4000\r\nContent-Length: 5\r\n"
			   "AUTHORIZATION:Bearer t \r\nX: y\r\n\r\nhello";
	is_int(parse(text, &request), 200, "a request with a body");
	ok(cairn_request_is(&request, "POST") && is(request.path, "/debug/prof/mem") && is(request.query, "output=proto"),
	   "its first line");
	ok(is(request.host, "localhost:4000") && is(request.authorization, "Bearer t"), "header names in any case, values trimmed");
	ok(request.has_length && request.content_length == 5 && request.keep_alive && !request.chunked, "length and connection");
	for (size_t length = 0; length < strlen(text) - 5; length++) {
		size_t used;
		char *part = malloc(length ? length : 1); /* exact size, so that a sanitizer sees a byte too far */
		memcpy(part, text, length);
		int status = cairn_request_parse(&request, (struct cairn_bytes){part, length}, &used);
		free(part);
		if (status != 0) {
			ok(false, "%zu bytes are not a request yet (got %d)", length, status);
			return;
		}
	}
	ok(true, "no shorter piece of it is taken for a request");
	is_int(parse("GET http://h/x?a HTTP/1.1\r\nHost: h\r\n\r\n", &request), 200, "absolute form");
	ok(is(request.path, "/x") && is(request.query, "a"), "its path and query");
	is_int(parse("\r\nGET / HTTP/1.0\n\n", &request), 200, "an empty line before, bare line feeds, HTTP/1.0 without Host");
	ok(!request.keep_alive, "HTTP/1.0 closes");
	parse("GET / HTTP/1.1\r\nHost: h\r\nConnection: x, Close\r\n\r\n", &request);
	ok(!request.keep_alive, "Connection: close");
}

static void test_refused(void)
{
	static const struct {
		int status;
		const char *text, *what;
	} cases[] = {
		{400, "GET /\r\n\r\n", "no version"},
		{400, "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 without Host"},
		{400, "GET x HTTP/1.1\r\nHost: h\r\n\r\n", "a target that is no path"},
		{400, "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n", "a space in the target"},
		{400, "G(T / HTTP/1.1\r\nHost: h\r\n\r\n", "a method that is no token"},
		{400, "GET / HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n", "two Hosts"},
		{400, "GET / HTTP/1.1\r\nHost : h\r\n\r\n", "a space before the colon"},
		{400, "GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", "a folded line"},
		{400, "GET / HTTP/1.1\r\nHost: h\r\nnocolon\r\n\r\n", "a line without a colon"},
		{400, "GET / HTTP/1.1\r\nHost: h\x01\r\n\r\n", "a control character"},
		{400, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "two lengths"},
		{400, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "length and chunks"},
		{400, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", "a negative length"},
		{400, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", "a length past 64 bits"},
		{501, "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", "another transfer encoding"},
		{417, "POST / HTTP/1.1\r\nHost: h\r\nExpect: more\r\n\r\n", "another expectation"},
		{505, "GET / HTTP/2.0\r\nHost: h\r\n\r\n", "another version"},
	};
	struct cairn_request request;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		is_int(parse(cases[i].text, &request), cases[i].status, "refused: %s", cases[i].what);
	static char text[20000];
	size_t used;
	memset(text, 'a', sizeof text);
	memcpy(text, "GET /", 5);
	is_int(cairn_request_parse(&request, (struct cairn_bytes){text, sizeof text}, &used), 414, "an endless target");
	memcpy(text, "GET / HTTP/1.1\r\nHost: h\r\nX: ", 28);
	is_int(cairn_request_parse(&request, (struct cairn_bytes){text, sizeof text}, &used), 431, "an endless header");
}

static void test_token(void)
{
	static const struct {
		const char *value, *token, *what;
	} cases[] = {
		{"Bearer secret", "secret", "a token"},
		{"bearer secret", "secret", "its scheme in lower case"},
		{"BEARER secret", "secret", "in upper case"},
		{"Bearer a b", "a b", "a blank in it"},
		{"Basic secret", "", "another scheme"},
		{"Bearersecret", "", "no blank"},
		{"Bearer", "", "nothing behind the scheme"},
		{"", "", "an empty header"},
	};
	struct cairn_request request = {0};
	ok(cairn_request_token(&request).length == 0, "no header, no token");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		request.authorization = cairn_bytes_of(cases[i].value);
		ok(is(cairn_request_token(&request), cases[i].token), "%s", cases[i].what);
	}
	ok(cairn_token_equal(cairn_bytes_of("secret"), "secret"), "the same token");
	static const char *const wrong[] = {"", "secre", "secretx", "Secret", "secreT", "xxxxxx"};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ok(!cairn_token_equal(cairn_bytes_of(wrong[i]), "secret"), "not '%s'", wrong[i]);
	ok(!cairn_token_equal((struct cairn_bytes){"secret\0x", 8}, "secret"), "nor what goes on behind a zero");
}

static void test_cookie(void)
{
	static const struct {
		const char *cookies, *value, *what;
	} cases[] = {
		{"a=1", "1", "a cookie"},
		{"b=2; a=1", "1", "behind another"},
		{"a=1;b=2", "1", "before another, without a blank"},
		{"a=1=2", "1=2", "an equals sign in it"},
		{"aa=1; ba=2", "", "longer names"},
		{"b=a=1", "", "a name in a value"},
		{"a", "", "no value"},
		{";;= ;", "", "nothing at all"},
		{"", "", "an empty header"},
	};
	struct cairn_request request = {0};
	ok(cairn_request_cookie(&request, "a").length == 0, "no header, no cookie");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		request.cookie = cairn_bytes_of(cases[i].cookies);
		ok(is(cairn_request_cookie(&request, "a"), cases[i].value), "%s", cases[i].what);
	}
}

static void test_query(void)
{
	char out[16];
	struct cairn_bytes query = cairn_bytes_of("a=1&b=x%20y+z&c&d=%zz&a=2");
	ok(cairn_query_get(query, "a", out, sizeof out) && strcmp(out, "1") == 0, "the first of two");
	ok(cairn_query_get(query, "b", out, sizeof out) && strcmp(out, "x y z") == 0, "escapes and plus");
	ok(cairn_query_get(query, "c", out, sizeof out) && strcmp(out, "") == 0, "no value");
	ok(cairn_query_get(query, "d", out, sizeof out) && strcmp(out, "%zz") == 0, "a wrong escape stays");
	ok(!cairn_query_get(query, "e", out, sizeof out), "what is not there");
	ok(cairn_query_get(cairn_bytes_of("a=0123456789abcdefgh"), "a", out, sizeof out) && strlen(out) == 15, "a long value is cut");
}

/* Decodes TEXT in pieces of STEP bytes, as the server does. */
static int decode(const char *text, size_t step, char *out, struct cairn_chunks *chunks)
{
	size_t have = 0, given = 0, total = strlen(text);
	int status = 0;
	*chunks = (struct cairn_chunks){0};
	while (status == 0 && given < total) {
		size_t part = total - given < step ? total - given : step;
		memcpy(out + have, text + given, part);
		have += part;
		given += part;
		status = cairn_chunks_decode(chunks, out, have);
		if (status == 0)
			have = chunks->read = chunks->written;
	}
	return status;
}

static void test_chunks(void)
{
	char out[256];
	struct cairn_chunks chunks;
	const char *text = "5;x=y\r\nhello\r\n1\r\n \r\nA\r\n0123456789\r\n0\r\nTrailer: z\r\n\r\n";
	bool good = true;
	for (size_t step = 1; step < 60; step++)
		good = good && decode(text, step, out, &chunks) == 200 && chunks.written == 16 && memcmp(out, "hello 0123456789", 16) == 0;
	ok(good, "chunks decode the same at every split");
	is_int(decode("5\r\nhelloX", 100, out, &chunks), 400, "a chunk that is longer than it says");
	is_int(decode("zz\r\n", 100, out, &chunks), 400, "a size that is no number");
	is_int(decode("\r\n", 100, out, &chunks), 400, "a size that is not there");
	is_int(decode("fffffffffffffffff\r\n", 100, out, &chunks), 400, "a size past 64 bits");
	is_int(decode("5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\n", 100, out, &chunks), 200, "an extension and a trailer");
	static const char *const loose[] = {
		"5\nhello\r\n0\r\n\r\n", "5;a\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello\r\r\n0\r\n\r\n",
		"5\r\rhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\nx: y\n\r\n", "5\r\nhello\r\n0\r\n\n", "5\r\nhello\r\n0\r\n\rx",
		"5;a\rb\r\nhello\r\n0\r\n\r\n",
	};
	int refused = 0;
	for (size_t i = 0; i < sizeof loose / sizeof *loose; i++)
		refused += decode(loose[i], 100, out, &chunks) == 400;
	is_int(refused, sizeof loose / sizeof *loose, "line ends that another server may read differently are refused");
	is_int(decode("5\r\nhel", 100, out, &chunks), 0, "a chunk that has not arrived");
}

int main(void)
{
	test_good();
	test_refused();
	test_token();
	test_cookie();
	test_query();
	test_chunks();
	return tap_done();
}
