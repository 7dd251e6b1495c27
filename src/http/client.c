/* client.c - HTTP through libcurl, which is loaded when it is first needed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/client.h"

#include "base/json_read.h"
#include "base/text.h"
#include "base/url.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* The functions of the library that are used here. */
static struct {
	__typeof__(&curl_global_init) global_init;
	__typeof__(&curl_easy_init) init;
	CURLcode (*set)(CURL *handle, CURLoption option, ...);
	CURLcode (*get)(CURL *handle, CURLINFO info, ...);
	__typeof__(&curl_easy_perform) perform;
	__typeof__(&curl_easy_strerror) explain;
	__typeof__(&curl_easy_cleanup) cleanup;
	__typeof__(&curl_slist_append) list_append;
	__typeof__(&curl_slist_free_all) list_free;
} library;
static bool library_ready;
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void load_library(void)
{
	void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		handle = dlopen("libcurl-gnutls.so.4", RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return;
	const struct {
		void *function;
		const char *name;
	} wanted[] = {
		{&library.global_init, "curl_global_init"},   {&library.init, "curl_easy_init"},
		{&library.set, "curl_easy_setopt"},	      {&library.get, "curl_easy_getinfo"},
		{&library.perform, "curl_easy_perform"},      {&library.explain, "curl_easy_strerror"},
		{&library.cleanup, "curl_easy_cleanup"},      {&library.list_append, "curl_slist_append"},
		{&library.list_free, "curl_slist_free_all"},
	};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		void *function = dlsym(handle, wanted[i].name);
		if (!function)
			return;
		memcpy(wanted[i].function, &function, sizeof function);
	}
	library_ready = library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

unsigned cairn_http_silence_ms(void)
{
	const char *text = getenv("CAIRN_HTTP_TIMEOUT");
	struct cairn_bytes rest = cairn_bytes_of(text ? text : "");
	uint64_t seconds;
	return cairn_text_decimal(&rest, &seconds) && rest.length == 0 && seconds > 0 && seconds < 1000000 ? (unsigned)seconds * 1000
													   : 60000;
}

static uint64_t usual_limit(void)
{
	const char *text = getenv("CAIRN_HTTP_LIMIT");
	uint64_t bytes;
	return text && cairn_text_size(text, &bytes) && bytes > 0 ? bytes : 1 << 30;
}

struct exchange {
	const struct cairn_http_call *call;
	struct cairn_http_answer *answer;
	CURL *handle;
	struct curl_slist *headers;
	char reason[CURL_ERROR_SIZE];
};

static size_t receive(char *data, size_t size, size_t count, void *context)
{
	struct exchange *exchange = context;
	cairn_buffer_append(&exchange->answer->body, data, size * count);
	return exchange->answer->body.failed ? 0 : size * count;
}

static int report_progress(void *context, curl_off_t total, curl_off_t received, curl_off_t upload_total, curl_off_t uploaded)
{
	(void)total, (void)upload_total, (void)uploaded;
	const struct exchange *exchange = context;
	if (exchange->call->progress)
		exchange->call->progress(exchange->call->context, (uint64_t)received);
	return exchange->call->stop && atomic_load(exchange->call->stop);
}

/* Allows HTTP and HTTPS only, also after a redirect. libcurl before 7.85 does not know these options by name. */
static bool set_protocols(CURL *handle)
{
	enum {
		by_number = 181,
		redirections_by_number = 182
	}; /* CURLOPT_PROTOCOLS and CURLOPT_REDIR_PROTOCOLS, which newer headers warn of */
	const long http = CURLPROTO_HTTP | CURLPROTO_HTTPS;
	if (library.set(handle, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
	    library.set(handle, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") == CURLE_OK)
		return true;
	return library.set(handle, (CURLoption)by_number, http) == CURLE_OK &&
	       library.set(handle, (CURLoption)redirections_by_number, http) == CURLE_OK;
}

/* A server that sends less is as good as silent: a byte now and then must not keep a request alive for ever. A line that is slower than
 * this has no use for dumps. */
enum { least_speed = 1024 }; /* bytes a second */

static void set_limits(const struct exchange *exchange)
{
	const struct cairn_http_call *call = exchange->call;
	CURL *handle = exchange->handle;
	unsigned silence = call->silence_ms ? call->silence_ms : cairn_http_silence_ms();
	library.set(handle, CURLOPT_CONNECTTIMEOUT_MS, (long)(call->connect_ms ? call->connect_ms : 10000));
	library.set(handle, CURLOPT_LOW_SPEED_LIMIT, (long)least_speed);
	library.set(handle, CURLOPT_LOW_SPEED_TIME, (long)((silence + 999) / 1000));
	library.set(handle, CURLOPT_TIMEOUT_MS, (long)call->total_ms);
	library.set(handle, CURLOPT_NOSIGNAL, 1L);
	library.set(handle, CURLOPT_DEFAULT_PROTOCOL, "http");
	library.set(handle, CURLOPT_FOLLOWLOCATION, 1L);
	library.set(handle, CURLOPT_MAXREDIRS, (long)CAIRN_HTTP_REDIRECTIONS);
	library.set(handle, CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL);
}

static void set_request(struct exchange *exchange)
{
	const struct cairn_http_call *call = exchange->call;
	CURL *handle = exchange->handle;
	struct cairn_buffer url = cairn_buffer(SIZE_MAX);
	if (call->socket) /* whoever listens there */
		cairn_buffer_text(&url, call->url);
	else
		cairn_url_restore(&url, call->url);
	cairn_buffer_byte(&url, 0);
	library.set(handle, CURLOPT_URL, url.data); /* copied */
	cairn_buffer_free(&url);
	if (call->socket && call->socket[0] == '@')
		library.set(handle, CURLOPT_ABSTRACT_UNIX_SOCKET, call->socket + 1);
	else if (call->socket)
		library.set(handle, CURLOPT_UNIX_SOCKET_PATH, call->socket);
	if (call->body.data || (call->method && strcmp(call->method, "POST") == 0)) {
		library.set(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.length);
		library.set(handle, CURLOPT_POSTFIELDS, call->body.data ? call->body.data : "");
	}
	if (call->method && strcmp(call->method, "POST") != 0)
		library.set(handle, CURLOPT_CUSTOMREQUEST, call->method);
	for (size_t i = 0; call->headers && call->headers[i]; i++)
		exchange->headers = library.list_append(exchange->headers, call->headers[i]);
	/* Without this, libcurl waits a second for the server to agree to a large body. */
	exchange->headers = library.list_append(exchange->headers, "Expect:");
	library.set(handle, CURLOPT_HTTPHEADER, exchange->headers);
	library.set(handle, CURLOPT_USERAGENT, "cairn/" CAIRN_VERSION);
	library.set(handle, CURLOPT_ACCEPT_ENCODING, "");
	library.set(handle, CURLOPT_ERRORBUFFER, exchange->reason);
	library.set(handle, CURLOPT_WRITEFUNCTION, receive);
	library.set(handle, CURLOPT_WRITEDATA, exchange);
	library.set(handle, CURLOPT_NOPROGRESS, call->progress || call->stop ? 0L : 1L);
	library.set(handle, CURLOPT_XFERINFOFUNCTION, report_progress);
	library.set(handle, CURLOPT_XFERINFODATA, exchange);
}

static bool explain_failure(const struct exchange *exchange, CURLcode code, struct cairn_error *error)
{
	const struct cairn_http_call *call = exchange->call;
	char size[24], name[1024]; /* the query says nothing about the connection, and may be long */
	snprintf(name, sizeof name, "%.*s", (int)(call->socket ? strlen(call->socket) : strcspn(call->url, "?")),
		 call->socket ? call->socket : call->url);
	long status = 0;
	library.get(exchange->handle, CURLINFO_RESPONSE_CODE, &status);
	if (exchange->answer->body.failed)
		return cairn_fail(error, "%s: the answer is larger than %s; set CAIRN_HTTP_LIMIT=4G to accept more", name,
				  cairn_text_human((double)exchange->answer->body.maximum, size));
	switch (code) {
	case CURLE_ABORTED_BY_CALLBACK:
		return cairn_fail(error, "%s: the client no longer waits for the answer", name);
	case CURLE_COULDNT_RESOLVE_HOST:
		return cairn_fail(error, "%s: unknown host", name);
	case CURLE_COULDNT_CONNECT:
		return cairn_fail(error, "%s: cannot connect: %s", name, exchange->reason);
	case CURLE_OPERATION_TIMEDOUT:
		return status ? cairn_fail(error, "%s: the server sends too slowly, or stopped in the middle of its answer, after %s", name,
					   cairn_text_human((double)exchange->answer->body.length, size))
			      : cairn_fail(error, "%s: the server did not answer; set CAIRN_HTTP_TIMEOUT=300 to wait 300 seconds", name);
	case CURLE_TOO_MANY_REDIRECTS:
		return cairn_fail(error, "%s: redirected more than %d times; use the final URL", name, CAIRN_HTTP_REDIRECTIONS);
	case CURLE_PARTIAL_FILE:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
		return cairn_fail(error, "%s: the server closed the connection before its answer was complete, after %s", name,
				  cairn_text_human((double)exchange->answer->body.length, size));
	default:
		return cairn_fail(error, "%s: %s", name, *exchange->reason ? exchange->reason : library.explain(code));
	}
}

static void read_head(const struct exchange *exchange)
{
	long status = 0;
	const char *type = NULL;
	library.get(exchange->handle, CURLINFO_RESPONSE_CODE, &status);
	library.get(exchange->handle, CURLINFO_CONTENT_TYPE, &type);
	exchange->answer->status = (int)status;
	snprintf(exchange->answer->type, sizeof exchange->answer->type, "%s", type ? type : "");
}

bool cairn_http_ask(const struct cairn_http_call *call, struct cairn_http_answer *answer, struct cairn_error *error)
{
	*answer = (struct cairn_http_answer){.body = cairn_buffer(call->limit_bytes ? call->limit_bytes : usual_limit())};
	pthread_once(&library_once, load_library);
	if (!library_ready)
		return cairn_fail(error, "%s: fetching needs libcurl, which is not installed (Debian: libcurl4)", call->url);
	struct exchange exchange = {.call = call, .answer = answer, .handle = library.init()};
	if (!exchange.handle)
		return cairn_fail(error, "%s: libcurl failed to start", call->url);
	if (!set_protocols(exchange.handle)) {
		library.cleanup(exchange.handle);
		return cairn_fail(error, "%s: this libcurl cannot be restricted to HTTP, so it is not used", call->url);
	}
	set_limits(&exchange);
	set_request(&exchange);
	CURLcode code = library.perform(exchange.handle);
	bool good = code == CURLE_OK || explain_failure(&exchange, code, error);
	read_head(&exchange);
	library.list_free(exchange.headers);
	library.cleanup(exchange.handle);
	return good;
}

bool cairn_http_fetch(const struct cairn_http_call *call, struct cairn_http_answer *answer, struct cairn_error *error)
{
	if (!cairn_http_ask(call, answer, error))
		return false;
	if (answer->status >= 200 && answer->status < 300)
		return true;
	char words[1600];
	cairn_http_words(cairn_buffer_bytes(&answer->body), words, sizeof words);
	return cairn_fail(error, words[0] ? "%s: the server answers %d: %s" : "%s: the server answers %d", call->url, answer->status,
			  words);
}

void cairn_http_words(struct cairn_bytes body, char *out, size_t size)
{
	static const char more[] = " …";
	struct cairn_json_value said = cairn_json_find(cairn_json_value(body), "error");
	char text[8192];
	if (said.kind == CAIRN_JSON_TEXT) {
		cairn_json_copy(said, text, sizeof text);
		body = cairn_bytes_of(text);
	}
	body = cairn_text_trim(body);
	out[0] = '\0';
	if (body.length > 0 && body.data[0] == '<') /* a page for people */
		return;
	size_t length = 0, at = 0;
	for (; at < body.length && length + sizeof more < size; at++) {
		unsigned char byte = (unsigned char)body.data[at];
		bool blank = byte <= ' ';
		if (!blank || (length > 0 && out[length - 1] != ' '))
			out[length++] = blank ? ' ' : (char)byte;
	}
	while (at < body.length && length > 0 && ((unsigned char)body.data[at] & 0xc0) == 0x80) { /* does not cut a character in half */
		length--;
		at--;
	}
	memcpy(out + length, at < body.length ? more : "", at < body.length ? sizeof more : 1);
}

void cairn_http_answer_free(struct cairn_http_answer *answer)
{
	cairn_buffer_free(&answer->body);
}
