/* client.c - connecting, asking, reading the answer.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/client.h"

#include "base/text.h"
#include "http/request.h"

#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int cairn_fetch_connect(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof address.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path));
	int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (descriptor >= 0 && connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
		int code = errno;
		close(descriptor);
		errno = code;
		return -1;
	}
	return descriptor;
}

struct address {
	char host[256];
	char port[8];
	const char *path;
};

static bool split_url(const char *url, struct address *address, struct cairn_error *error)
{
	const char *rest = url + strlen("http://");
	size_t length = strcspn(rest, "/?");
	address->path = rest + length;
	const char *end = rest + length, *colon = NULL;
	if (rest[0] == '[') {
		const char *bracket = memchr(rest, ']', length);
		if (!bracket)
			return cairn_fail(error, "%s: no ] behind the address", url);
		colon = bracket + 1 < end && bracket[1] == ':' ? bracket + 1 : NULL;
		snprintf(address->host, sizeof address->host, "%.*s", (int)(bracket - rest - 1), rest + 1);
	} else {
		colon = memchr(rest, ':', length);
		snprintf(address->host, sizeof address->host, "%.*s", (int)((colon ? colon : end) - rest), rest);
	}
	snprintf(address->port, sizeof address->port, "%.*s", colon ? (int)(end - colon - 1) : 2, colon ? colon + 1 : "80");
	return address->host[0] ? true : cairn_fail(error, "%s: no host in it", url);
}

static int connect_tcp(const char *url, const struct address *address, struct cairn_error *error)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
	int code = getaddrinfo(address->host, address->port, &hints, &found);
	if (code != 0) {
		cairn_fail(error, "%s: %s", url, gai_strerror(code));
		return -1;
	}
	int descriptor = -1;
	for (struct addrinfo *at = found; at && descriptor < 0; at = at->ai_next) {
		descriptor = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (descriptor >= 0 && connect(descriptor, at->ai_addr, at->ai_addrlen) != 0) {
			code = errno;
			close(descriptor);
			errno = code;
			descriptor = -1;
		}
	}
	if (descriptor < 0)
		cairn_fail_errno(error, "%s", url);
	freeaddrinfo(found);
	return descriptor;
}

int cairn_fetch_parse(char *data, size_t length, bool closed, struct cairn_bytes *body)
{
	struct cairn_bytes rest = {data, length}, line;
	const char *end = length ? memmem(data, length, "\r\n\r\n", 4) : NULL;
	if (!end)
		return closed || length > 64 << 10 ? -1 : 0;
	rest.length = (size_t)(end - data) + 2;
	uint64_t status, size = 0;
	bool has_length = false, chunked = false;
	if (!cairn_text_line(&rest, &line, NULL) || !cairn_text_take(&line, "HTTP/1.") || line.length < 6 ||
	    !(line = cairn_bytes_skip(line, 2), cairn_text_decimal(&line, &status)) || status < 100 || status > 599)
		return -1;
	while (cairn_text_line(&rest, &line, NULL)) {
		const char *colon = memchr(line.data, ':', line.length);
		size_t name = colon ? (size_t)(colon - line.data) : 0;
		struct cairn_bytes value = cairn_text_trim(cairn_bytes_skip(line, name + 1));
		if (name == 14 && strncasecmp(line.data, "content-length", 14) == 0)
			has_length = cairn_text_decimal(&value, &size);
		else if (name == 17 && strncasecmp(line.data, "transfer-encoding", 17) == 0)
			chunked = value.length == 7 && strncasecmp(value.data, "chunked", 7) == 0;
	}
	size_t head = (size_t)(end - data) + 4;
	if (status == 100) /* an interim answer; the real one follows */
		return cairn_fetch_parse(data + head, length - head, closed, body);
	*body = (struct cairn_bytes){data + head, length - head};
	if (chunked) {
		if (!closed) /* decoded in place once, so only when all is there: we asked for the connection to be closed */
			return 0;
		struct cairn_chunks chunks = {0};
		if (cairn_chunks_decode(&chunks, data + head, body->length) != 200)
			return -1;
		body->length = chunks.written;
	} else if (has_length) {
		if (body->length < size)
			return closed ? -1 : 0;
		body->length = (size_t)size;
	} else if (!closed) {
		return 0;
	}
	return (int)status;
}

static bool send_all(int descriptor, struct cairn_bytes bytes)
{
	while (bytes.length > 0) {
		ssize_t part = send(descriptor, bytes.data, bytes.length, MSG_NOSIGNAL);
		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			return false;
		bytes = cairn_bytes_skip(bytes, (size_t)part);
	}
	return true;
}

static int converse(int descriptor, const struct cairn_fetch *fetch, struct cairn_bytes request, const char *name,
		    struct cairn_buffer *in, struct cairn_error *error)
{
	if (!send_all(descriptor, request))
		return cairn_fail_errno(error, "%s", name);
	for (;;) {
		struct pollfd ready = {.fd = descriptor, .events = POLLIN};
		int count = poll(&ready, 1, (int)fetch->seconds * 1000);
		if (count < 0 && errno == EINTR)
			continue;
		if (count == 0)
			return cairn_fail(error, "%s: no answer within %u seconds", name, fetch->seconds);
		char *room = cairn_buffer_room(in, 64 << 10);
		if (!room)
			return cairn_fail(error, "%s: the answer is longer than %zu bytes", name, fetch->maximum);
		ssize_t length = recv(descriptor, room, 64 << 10, 0);
		if (length < 0 && errno == EINTR)
			continue;
		if (length < 0)
			return cairn_fail_errno(error, "%s", name);
		in->length += (size_t)length;
		struct cairn_bytes body;
		int status = cairn_fetch_parse(in->data, in->length, length == 0, &body);
		if (status > 0) {
			memmove(in->data, body.data, body.length);
			in->length = body.length;
			return status;
		}
		if (status < 0)
			return cairn_fail(error, "%s: the answer is not HTTP or was cut short", name);
	}
}

static size_t append_curl(char *data, size_t size, size_t count, void *context)
{
	struct cairn_buffer *body = context;
	cairn_buffer_append(body, data, size * count);
	return body->failed ? 0 : size * count;
}

/* The part of libcurl's easy interface that is used. */
struct curl {
	void *(*easy_init)(void);
	int (*easy_setopt)(void *curl, int option, ...);
	int (*easy_perform)(void *curl);
	int (*easy_getinfo)(void *curl, int information, ...);
	void (*easy_cleanup)(void *curl);
	const char *(*easy_strerror)(int code);
	void *(*slist_append)(void *list, const char *text);
	void (*slist_free_all)(void *list);
};

static bool load_curl(struct curl *curl)
{
	static const char *const names[] = {"curl_easy_init", "curl_easy_setopt", "curl_easy_perform", "curl_easy_getinfo", "curl_easy_cleanup",
					    "curl_easy_strerror", "curl_slist_append", "curl_slist_free_all"};
	_Static_assert(sizeof *curl == sizeof names, "a name for each function");
	void *library = dlopen("libcurl.so.4", RTLD_NOW);
	if (!library)
		library = dlopen("libcurl-gnutls.so.4", RTLD_NOW);
	for (size_t i = 0; library && i < sizeof names / sizeof *names; i++) {
		void *function = dlsym(library, names[i]);
		if (!function)
			return false;
		memcpy((char *)curl + i * sizeof function, &function, sizeof function);
	}
	return library != NULL;
}

/* By the numbers libcurl documents for its options. */
static int fetch_by_curl(const struct cairn_fetch *fetch, const char *url, struct cairn_buffer *body, struct cairn_error *error)
{
	enum { write_data = 10001, url_option = 10002, http_header = 10023, custom_request = 10036, write_function = 20011, follow_location = 52,
	       low_speed_limit = 19, low_speed_time = 20, no_signal = 99, response_code = 0x200002 };
	struct curl curl;
	char authorization[512];
	if (!load_curl(&curl))
		return cairn_fail(error, "%s: https needs libcurl.so.4, which is not installed", url);
	void *handle = curl.easy_init(), *headers = NULL;
	if (fetch->token) {
		snprintf(authorization, sizeof authorization, "Authorization: Bearer %s", fetch->token);
		headers = curl.slist_append(NULL, authorization);
	}
	curl.easy_setopt(handle, url_option, url);
	curl.easy_setopt(handle, custom_request, fetch->method);
	curl.easy_setopt(handle, http_header, headers);
	curl.easy_setopt(handle, write_function, append_curl);
	curl.easy_setopt(handle, write_data, body);
	curl.easy_setopt(handle, follow_location, (long)!fetch->token); /* a token goes nowhere but where it was meant to */
	curl.easy_setopt(handle, no_signal, 1L);
	curl.easy_setopt(handle, low_speed_limit, 1L);
	curl.easy_setopt(handle, low_speed_time, (long)fetch->seconds);
	long status = 0;
	int code = curl.easy_perform(handle);
	if (code == 0)
		curl.easy_getinfo(handle, response_code, &status);
	else
		cairn_fail(error, "%s: %s", url, curl.easy_strerror(code));
	curl.slist_free_all(headers);
	curl.easy_cleanup(handle);
	return (int)status;
}

int cairn_fetch(const struct cairn_fetch *fetch, struct cairn_buffer *body, struct cairn_error *error)
{
	struct cairn_buffer request = cairn_buffer(64 << 10);
	struct address address = {.host = "localhost", .path = ""};
	const char *name = fetch->socket ? fetch->socket : fetch->url;
	int descriptor = -1, status = 0;
	*body = cairn_buffer(fetch->maximum);
	if (!fetch->socket && strncmp(fetch->url, "https://", 8) == 0) {
		cairn_buffer_format(&request, "%s%s%c", fetch->url, fetch->target, 0);
		status = fetch_by_curl(fetch, request.data, body, error);
	} else if (fetch->socket) {
		descriptor = cairn_fetch_connect(fetch->socket);
		if (descriptor < 0)
			cairn_fail_errno(error, "%s", fetch->socket);
	} else if (split_url(fetch->url, &address, error)) {
		descriptor = connect_tcp(fetch->url, &address, error);
	}
	if (descriptor >= 0) {
		bool v6 = strchr(address.host, ':') != NULL, slash = !address.path[0] && !fetch->target[0];
		cairn_buffer_format(&request, "%s %s%s%s HTTP/1.1\r\nHost: %s%s%s%s%s\r\nUser-Agent: cairn/" CAIRN_VERSION "\r\nConnection: close\r\n",
				    fetch->method, slash ? "/" : "", address.path, fetch->target, v6 ? "[" : "", address.host, v6 ? "]" : "",
				    address.port[0] ? ":" : "", address.port);
		if (fetch->token)
			cairn_buffer_format(&request, "Authorization: Bearer %s\r\n", fetch->token);
		cairn_buffer_text(&request, "Content-Length: 0\r\n\r\n");
		status = converse(descriptor, fetch, cairn_buffer_bytes(&request), name, body, error);
		close(descriptor);
	}
	cairn_buffer_free(&request);
	return status;
}
