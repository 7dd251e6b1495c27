/* client.c - HTTP through libcurl, which is loaded when it is first needed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/client.h"

#include "base/json_read.h"
#include "base/library.h"
#include "base/text.h"
#include "base/url.h"
#include "process/clock.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

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

static bool start(void)
{
	return library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
}

static struct cairn_library curl = {
	.files = "libcurl.so.4 libcurl-gnutls.so.4",
	.names = "curl_global_init curl_easy_init curl_easy_setopt curl_easy_getinfo curl_easy_perform curl_easy_strerror curl_easy_cleanup "
		 "curl_slist_append curl_slist_free_all",
	.members = &library,
	.size = sizeof library,
	.start = start,
};

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
	char *redirected; /* the URL that a server named instead, owned; NULL for the call's own */
	int64_t began_ns;
	int file_code; /* the errno of a write to the call's file that failed */
	char reason[CURL_ERROR_SIZE];
	int descriptor; /* of the connection */
	bool approved;  /* whoever answers there */
	struct cairn_error refusal; /* or why not; "" before that */
};

/* Makes the socket for libcurl, to know its number: libcurl connects it and closes it. */
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct exchange *exchange = context;
	(void)purpose;
	exchange->descriptor = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
	return exchange->descriptor;
}

/* Takes a line of the answer's head. Nothing is read from somebody whom the caller does not approve of. */
static size_t receive_head(char *data, size_t size, size_t count, void *context)
{
	struct exchange *exchange = context;
	const struct cairn_http_call *call = exchange->call;
	(void)data;
	if (!exchange->approved && !call->approve(call->context, exchange->descriptor, &exchange->refusal))
		return 0;
	exchange->approved = true;
	return size * count;
}

static size_t write_file(struct exchange *exchange, const char *data, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t written = write(exchange->call->file, data + done, length - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			exchange->file_code = written < 0 ? errno : ENOSPC;
			return 0;
		}
		done += (size_t)written;
	}
	return length;
}

/* What a server says about a failure. */
enum { refusal_most = 1 << 20 };

static size_t receive(char *data, size_t size, size_t count, void *context)
{
	struct exchange *exchange = context;
	struct cairn_http_answer *answer = exchange->answer;
	size_t length = size * count;
	long status = 0;
	library.get(exchange->handle, CURLINFO_RESPONSE_CODE, &status);
	answer->length += length;
	if (answer->length > answer->body.maximum) {
		answer->body.failed = true;
		return 0;
	}
	if (exchange->call->file && status == 200)
		return write_file(exchange, data, length);
	if (status >= 300 && answer->length > refusal_most) /* enough was heard, and libcurl is left to find the end */
		return length;
	cairn_buffer_append(&answer->body, data, length);
	return answer->body.failed ? 0 : length;
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
	library.set(handle, CURLOPT_NOSIGNAL, 1L);
	library.set(handle, CURLOPT_DEFAULT_PROTOCOL, "http");
}

/* Whether URL is of this machine, which no proxy can reach for us. */
static bool is_loopback(const char *url)
{
	static const char *const hosts[] = {"localhost", "127.", "[::1]"};
	const char *scheme = strstr(url, "://"), *host = scheme ? scheme + 3 : url;
	for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
		size_t length = strlen(hosts[i]);
		if (strncasecmp(host, hosts[i], length) == 0 && (hosts[i][length - 1] == '.' || !host[length] || strchr(":/?#", host[length])))
			return true;
	}
	return false;
}

/* Sets what depends on the server that is asked. Only the one that the call names gets its user, its password and its headers. */
static void set_server(struct exchange *exchange)
{
	const struct cairn_http_call *call = exchange->call;
	CURL *handle = exchange->handle;
	const char *asked = exchange->redirected ? exchange->redirected : call->url;
	bool own = !exchange->redirected || cairn_url_same_server(call->url, asked);
	struct cairn_buffer url = cairn_buffer(SIZE_MAX);
	if (call->socket || !own) /* whoever listens there */
		cairn_buffer_text(&url, asked);
	else
		cairn_url_restore(&url, asked);
	cairn_buffer_byte(&url, 0);
	library.set(handle, CURLOPT_URL, url.data); /* copied */
	cairn_buffer_free(&url);
	if (call->socket || is_loopback(asked))
		library.set(handle, CURLOPT_PROXY, "");
	else
		library.set(handle, CURLOPT_PROXY, NULL); /* that of the environment */
	library.list_free(exchange->headers);
	exchange->headers = NULL;
	for (size_t i = 0; call->headers && call->headers[i]; i++)
		if (own || strncasecmp(call->headers[i], "Content-", 8) == 0)
			exchange->headers = library.list_append(exchange->headers, call->headers[i]);
	/* Without this, libcurl waits a second for the server to agree to a large body. */
	exchange->headers = library.list_append(exchange->headers, "Expect:");
	library.set(handle, CURLOPT_HTTPHEADER, exchange->headers);
	if (call->total_ms) {
		int64_t left_ms = call->total_ms - (cairn_clock_ns() - exchange->began_ns) / CAIRN_MILLISECOND_NS;
		library.set(handle, CURLOPT_TIMEOUT_MS, (long)(left_ms > 1 ? left_ms : 1));
	}
}

static void set_request(struct exchange *exchange)
{
	const struct cairn_http_call *call = exchange->call;
	CURL *handle = exchange->handle;
	if (call->socket && call->socket[0] == '@')
		library.set(handle, CURLOPT_ABSTRACT_UNIX_SOCKET, call->socket + 1);
	else if (call->socket)
		library.set(handle, CURLOPT_UNIX_SOCKET_PATH, call->socket);
	if (call->socket && call->approve) {
		library.set(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
		library.set(handle, CURLOPT_OPENSOCKETDATA, exchange);
		library.set(handle, CURLOPT_HEADERFUNCTION, receive_head);
		library.set(handle, CURLOPT_HEADERDATA, exchange);
	}
	if (call->body.data || (call->method && strcmp(call->method, "POST") == 0)) {
		library.set(handle, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.length);
		library.set(handle, CURLOPT_POSTFIELDS, call->body.data ? call->body.data : "");
	}
	if (call->method && strcmp(call->method, "POST") != 0)
		library.set(handle, CURLOPT_CUSTOMREQUEST, call->method);
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
	if (exchange->refusal.text[0]) {
		*error = exchange->refusal;
		return false;
	}
	if (exchange->file_code)
		return cairn_fail(error, "%s: the answer cannot be written to disk: %s", name, cairn_errno_text(exchange->file_code));
	if (exchange->answer->body.failed)
		return cairn_fail(error, call->limit_bytes ? "%s: the answer is larger than %s"
							   : "%s: the answer is larger than %s; set CAIRN_HTTP_LIMIT=4G to accept more",
				  name, cairn_text_human((double)exchange->answer->body.maximum, size));
	switch (code) {
	case CURLE_ABORTED_BY_CALLBACK:
		return cairn_fail(error, "%s: the client no longer waits for the answer", name);
	case CURLE_COULDNT_RESOLVE_HOST:
		return cairn_fail(error, "%s: unknown host", name);
	case CURLE_COULDNT_CONNECT:
		return cairn_fail(error, "%s: cannot connect: %s", name, exchange->reason);
	case CURLE_OPERATION_TIMEDOUT:
		return status ? cairn_fail(error, "%s: the server sends too slowly, or stopped in the middle of its answer, after %s", name,
					   cairn_text_human((double)exchange->answer->length, size))
			      : cairn_fail(error, "%s: the server did not answer; set CAIRN_HTTP_TIMEOUT=300 to wait 300 seconds", name);
	case CURLE_PARTIAL_FILE:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
		return cairn_fail(error, "%s: the server closed the connection before its answer was complete, after %s", name,
				  cairn_text_human((double)exchange->answer->length, size));
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

/* The URL that the answer names instead, to be freed; NULL for none. */
static char *find_redirection(const struct exchange *exchange)
{
	const char *url = NULL;
	if (!exchange->call->socket)
		library.get(exchange->handle, CURLINFO_REDIRECT_URL, &url);
	return url ? strdup(url) : NULL;
}

/* Asks until an answer is no redirection. libcurl could follow them by itself, but would send most headers to any server. */
static bool perform(struct exchange *exchange, struct cairn_error *error)
{
	struct cairn_http_answer *answer = exchange->answer;
	for (unsigned redirections = 0;; redirections++) {
		set_server(exchange);
		CURLcode code = library.perform(exchange->handle);
		if (code != CURLE_OK)
			return explain_failure(exchange, code, error);
		char *next = find_redirection(exchange);
		if (!next)
			return true;
		free(exchange->redirected);
		exchange->redirected = next;
		if (redirections == CAIRN_HTTP_REDIRECTIONS)
			return cairn_fail(error, "%s: redirected more than %d times; use the final URL", exchange->call->url,
					  CAIRN_HTTP_REDIRECTIONS);
		answer->body.length = 0;
		answer->length = 0;
	}
}

bool cairn_http_ask(const struct cairn_http_call *call, struct cairn_http_answer *answer, struct cairn_error *error)
{
	*answer = (struct cairn_http_answer){.body = cairn_buffer(call->limit_bytes ? call->limit_bytes : usual_limit())};
	if (!cairn_library_is_there(&curl))
		return cairn_fail(error, "%s: fetching needs libcurl, which is not installed (Debian: libcurl4)", call->url);
	struct exchange exchange = {.call = call, .answer = answer, .handle = library.init(), .began_ns = cairn_clock_ns()};
	if (!exchange.handle)
		return cairn_fail(error, "%s: libcurl failed to start", call->url);
	if (!set_protocols(exchange.handle)) {
		library.cleanup(exchange.handle);
		return cairn_fail(error, "%s: this libcurl cannot be restricted to HTTP, so it is not used", call->url);
	}
	set_limits(&exchange);
	set_request(&exchange);
	bool good = perform(&exchange, error);
	read_head(&exchange);
	library.list_free(exchange.headers);
	library.cleanup(exchange.handle);
	free(exchange.redirected);
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
