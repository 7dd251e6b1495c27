/* embed.c - a service that starts the agent itself and mounts its routes in its own HTTP server, on its own port.
 *
 *     cc -O2 embed.c -o embed $(pkg-config --cflags --libs cairn) -ljemalloc
 *     MALLOC_CONF=prof:true ./embed 8080
 *     curl localhost:8080/debug/prof/mem/status
 *
 * Without jemalloc, leave out -ljemalloc and MALLOC_CONF: Cairn's own engine samples.
 * SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <cairn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* Something to see in the profile. */
static void *work(size_t size)
{
	static void *kept[1000];
	static unsigned next;
	free(kept[next % 1000]);
	return kept[next++ % 1000] = malloc(size);
}

/* A very small HTTP server: one request at a time, no chunked bodies. A real one passes on method, target, content type and body in the
 * same way: without the content type a form is refused, and without the body jeprof gets no names. */
enum { head_most = 16 << 10, body_most = 64 << 20 };

struct request {
	char head[head_most], method[16], target[2048], type[128];
	char *body;
	size_t length;
};

/* The value of the header NAME; empty if it is not there. */
static void find_header(const char *head, const char *name, char *out, size_t size)
{
	size_t length = strlen(name);
	out[0] = 0;
	for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n"))
		if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':') {
			const char *value = line + 2 + length + 1;
			value += strspn(value, " \t");
			snprintf(out, size, "%.*s", (int)strcspn(value, "\r\n"), value);
		}
}

/* Reads a whole request: the head up to an empty line, then as many bytes as it says. The caller frees the body. */
static bool receive(int client, struct request *request)
{
	size_t length = 0, come;
	char *end, number[24];
	for (request->head[0] = 0; !(end = strstr(request->head, "\r\n\r\n")); request->head[length] = 0) {
		ssize_t got = read(client, request->head + length, head_most - 1 - length);
		if (got <= 0)
			return false;
		length += (size_t)got;
	}
	come = length - (size_t)(end + 4 - request->head);
	if (sscanf(request->head, "%15s %2047s", request->method, request->target) != 2)
		return false;
	end[2] = 0; /* what follows is no header */
	find_header(request->head, "Content-Type", request->type, sizeof request->type);
	find_header(request->head, "Content-Length", number, sizeof number);
	request->length = strtoul(number, NULL, 10);
	request->body = request->length <= body_most ? malloc(request->length + 1) : NULL;
	if (!request->body)
		return false;
	come = come < request->length ? come : request->length;
	memcpy(request->body, end + 4, come);
	while (come < request->length) {
		ssize_t got = read(client, request->body + come, request->length - come);
		if (got <= 0)
			return false;
		come += (size_t)got;
	}
	return true;
}

static bool send_all(int client, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t sent = send(client, bytes, length, MSG_NOSIGNAL);
		if (sent <= 0)
			return false;
		bytes += sent;
		length -= (size_t)sent;
	}
	return true;
}

static void answer(int client)
{
	static struct request request;
	char head[1024];
	struct cairn_reply reply;
	request.body = NULL;
	if (receive(client, &request) &&
	    cairn_answer(request.method, request.target, request.type[0] ? request.type : NULL, request.body, request.length, &reply)) {
		int size = snprintf(head, sizeof head, "HTTP/1.0 %d -\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n", reply.status,
				    reply.type, reply.length, reply.headers);
		if (!send_all(client, head, (size_t)size) || !send_all(client, reply.body, reply.length))
			perror("write");
		cairn_reply_free(&reply);
	}
	free(request.body);
}

int main(int argc, char **argv)
{
	struct cairn_options options = {.size = sizeof options, .heap_profiling = 1};
	char error[256];
	if (!cairn_start(&options, error, sizeof error))
		fprintf(stderr, "no heap profiling: %s\n", error);
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)(argc > 1 ? atoi(argv[1]) : 8080)),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 16) != 0) {
		perror("listen");
		return 1;
	}
	for (int client; (client = accept(listener, NULL, NULL)) >= 0; close(client)) {
		for (int i = 0; i < 1000; i++)
			work(4096);
		answer(client);
	}
	return 0;
}
