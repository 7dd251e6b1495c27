/* embed.c - a service that starts the agent itself and mounts its routes in its own HTTP server, on its own port.
 *
 *     cc -O2 embed.c -o embed $(pkg-config --cflags --libs cairn) -ljemalloc
 *     MALLOC_CONF=prof:true ./embed 8080
 *     curl localhost:8080/debug/prof/mem/status
 * SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <cairn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* A very small HTTP server: one request at a time, no bodies. A real one passes on method, target and body in the same way. */
static void answer(int client)
{
	char request[4096], method[16], target[2048], head[1024];
	ssize_t length = read(client, request, sizeof request - 1);
	request[length > 0 ? length : 0] = 0;
	struct cairn_reply reply;
	if (sscanf(request, "%15s %2047s", method, target) != 2 || !cairn_answer(method, target, NULL, NULL, 0, &reply))
		return;
	int size = snprintf(head, sizeof head, "HTTP/1.0 %d -\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%s\r\n", reply.status,
			    reply.type, reply.length, reply.headers);
	if (write(client, head, (size_t)size) == size && write(client, reply.body, reply.length) < 0)
		perror("write");
	cairn_reply_free(&reply);
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
