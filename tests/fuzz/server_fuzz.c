/* server_fuzz.c - one server, many clients: the input is a script of who connects, sends, reads and hangs up, and when answers are ready.
 *
 * Everything happens on one thread and the clock is ours, so that an input always does the same. Pages are taken from the heap, every one
 * that grows moves, and those that were given back are gone: ASan sees each use of memory that a connection no longer has. At the end all
 * memory, all descriptors and all contents must have been given back.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptor.h"
#include "base/pages.h"
#include "base/quota.h"
#include "http/server.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { clients_maximum = 12, slots = 8, waiting_maximum = 8, large = 300 << 10, memory = 512 << 10 };

/* The heap in place of base/pages.c, which the linker then leaves out. */
void *cairn_pages_map(size_t size)
{
	return calloc(1, size);
}

void cairn_pages_unmap(void *memory_given, size_t size)
{
	(void)size;
	free(memory_given);
}

static bool move(struct cairn_buffer *buffer, size_t capacity)
{
	if (!cairn_quota_resize(buffer->quota, buffer->capacity, capacity))
		return false;
	char *data = capacity ? malloc(capacity) : NULL;
	if (capacity && !data)
		abort();
	if (data && buffer->data)
		memcpy(data, buffer->data, buffer->length < capacity ? buffer->length : capacity);
	free(buffer->data);
	buffer->data = data;
	buffer->capacity = capacity;
	return true;
}

struct cairn_buffer cairn_pages(size_t maximum)
{
	return (struct cairn_buffer){.maximum = maximum, .resize = move};
}

struct cairn_buffer cairn_pages_of(struct cairn_quota *quota, size_t maximum)
{
	return (struct cairn_buffer){.maximum = maximum, .resize = move, .quota = quota};
}

/* Time passes when the script says so; the clock on the wall, and all time between two scripts, is the fuzzer's. */
static int64_t clock_ms = -1;

int clock_gettime(clockid_t id, struct timespec *now)
{
	if (clock_ms < 0 || id != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, id, now);
	*now = (struct timespec){clock_ms / 1000 + 1, clock_ms % 1000 * 1000000};
	return 0;
}

struct world {
	struct cairn_server *server;
	struct cairn_quota whole, remote, local;
	int clients[clients_maximum];
	struct cairn_exchange *waiting[waiting_maximum]; /* left to be finished later */
	unsigned waiting_count;
	int contents; /* handed out and not released */
	int listeners[2]; /* local, TCP */
	int file;
};
static struct world world;
static char *large_content;

static void release_content(void *owner)
{
	if (owner != &world || world.contents-- == 0)
		abort();
}

static struct cairn_bytes no_bytes(void)
{
	return (struct cairn_bytes){NULL, 0};
}

/* Reads every byte that a request borrows. */
static unsigned touch(const struct cairn_request *request)
{
	const struct cairn_bytes fields[] = {request->method, request->path, request->query, request->host,
					     request->origin, request->authorization, request->content_type, request->fetch_site,
					     request->user_agent, request->cookie, request->if_none_match, request->cairn,
					     request->body};
	unsigned sum = 0;
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		for (size_t j = 0; j < fields[i].length; j++)
			sum += (unsigned char)fields[i].data[j];
	return sum;
}

/* What serve and the collector do with a request before they answer: the cookie that stands for the token is a part of what was sent, and a
 * name out of the path ends within its room, whatever was written for its characters. */
static void look_up(const struct cairn_request *request)
{
	static const char *const names[] = {"cairn_80", "a", ""};
	char name[16];
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct cairn_bytes cookie = cairn_request_cookie(request, names[i]);
		if (cookie.length > 0 && (cookie.data < request->cookie.data ||
					  cookie.data + cookie.length > request->cookie.data + request->cookie.length ||
					  memchr(cookie.data, ';', cookie.length)))
			abort();
		cairn_token_equal(cookie, "token");
	}
	if (cairn_token_equal(request->cairn, "1") != cairn_bytes_equal(request->cairn, cairn_bytes_of("1")))
		abort();
	size_t length = cairn_query_decode(request->path, false, name, sizeof name);
	if (length >= sizeof name || name[length] != 0 || length > request->path.length)
		abort();
	cairn_query_get(request->query, "token", name, sizeof name);
}

static void fill_in(struct cairn_exchange *exchange)
{
	struct cairn_response *response = &exchange->response;
	struct cairn_bytes path = exchange->request.path;
	char kind = path.length > 1 ? path.data[1] : 'q';
	unsigned sum = touch(&exchange->request);
	look_up(&exchange->request);
	if (kind == 'c') { /* content kept elsewhere */
		cairn_response_start(response, 200, "text/plain");
		world.contents++;
		response->content = (struct cairn_bytes){large_content, large};
		response->release = release_content;
		response->owner = &world;
	} else if (kind == 'f') { /* a file, perhaps longer than it is by now */
		int file = cairn_descriptor_adopt(dup(world.file));
		cairn_response_start(response, 200, "text/plain");
		response->file = file > 0 ? file : 0;
		response->file_length = path.length > 2 ? large * 2 : large;
	} else if (kind == 'b') { /* a body that may not fit */
		cairn_response_start(response, 200, "text/plain");
		for (int i = 0; i < 64; i++)
			cairn_buffer_append(&response->body, large_content, large / 64);
		cairn_response_header(response, "X", "y");
	} else {
		cairn_response_text(response, sum % 7 ? 200 : 404, "text/plain", "%u %.*s\n", sum,
				    (int)(path.length < 100 ? path.length : 100), path.data);
	}
}

static bool admit(void *context, struct cairn_exchange *exchange, size_t *maximum)
{
	(void)context;
	touch(&exchange->request);
	if (exchange->request.body.length > 0)
		abort();
	if (cairn_bytes_start_with(exchange->request.path, "/n")) {
		cairn_response_text(&exchange->response, 403, "text/plain", "no\n");
		return false;
	}
	*maximum = cairn_bytes_start_with(exchange->request.path, "/s") ? 100 : 400 << 10;
	return true;
}

static bool handle(void *context, struct cairn_exchange *exchange)
{
	(void)context;
	struct cairn_bytes path = exchange->request.path;
	bool later = path.length > 1 && path.data[path.length - 1] == 'l';
	if (later && world.waiting_count < waiting_maximum) {
		world.waiting[world.waiting_count++] = exchange;
		return false;
	}
	fill_in(exchange);
	return true;
}

static void finish(unsigned index)
{
	struct cairn_exchange *exchange = world.waiting[index];
	world.waiting[index] = world.waiting[--world.waiting_count];
	if (atomic_load(&exchange->gone))
		cairn_response_text(&exchange->response, 503, "text/plain", "gone\n");
	else
		fill_in(exchange);
	cairn_exchange_finish(exchange);
}

static void abandon(void *context, struct cairn_exchange *exchange)
{
	(void)context;
	if (!atomic_load(&exchange->gone))
		abort();
	for (unsigned i = 0; i < world.waiting_count; i++)
		if (world.waiting[i] == exchange) {
			finish(i);
			return;
		}
	abort(); /* only one that is being worked on can be abandoned, and only once */
}

static int listen_on(bool local)
{
	union {
		struct sockaddr any;
		struct sockaddr_un local;
		struct sockaddr_in far;
	} address = {.any.sa_family = local ? AF_UNIX : AF_INET};
	if (!local)
		address.far.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	int listener = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_SNDBUF, &(int){8192}, sizeof(int));
	/* Only the family of a unix address: the kernel finds a name. */
	if (listener < 0 || bind(listener, &address.any, local ? sizeof(sa_family_t) : sizeof address.far) != 0 ||
	    listen(listener, 64) != 0)
		abort();
	return listener;
}

static int dial(bool local)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof address;
	int client = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	setsockopt(client, SOL_SOCKET, SO_RCVBUF, &(int){4096}, sizeof(int));
	if (getsockname(world.listeners[!local], (struct sockaddr *)&address, &length) != 0)
		abort();
	if (client >= 0 && connect(client, (struct sockaddr *)&address, length) != 0 && errno != EINPROGRESS) {
		close(client);
		return -1;
	}
	return client;
}

static void begin(void)
{
	static struct cairn_server_options options = {
		.connections = slots, .seconds = 2, .body_maximum = 400 << 10, .response_maximum = 4 << 20,
		.quota = &world.remote, .local_quota = &world.local, .admit = admit, .handle = handle, .abandon = abandon,
	};
	struct cairn_error error;
	if (!large_content) {
		large_content = malloc(large);
		world.file = memfd_create("file", MFD_CLOEXEC);
		if (!large_content || world.file < 0)
			abort();
		memset(large_content, 'x', large);
		if (write(world.file, large_content, large) != large)
			abort();
		world.listeners[0] = listen_on(true);
		world.listeners[1] = listen_on(false);
	}
	clock_ms = 0;
	world.whole = (struct cairn_quota){.limit = memory};
	world.remote = (struct cairn_quota){.limit = memory / 4 * 3, .whole = &world.whole};
	world.local = (struct cairn_quota){.limit = memory, .reserve = memory / 4, .whole = &world.whole};
	for (int i = 0; i < clients_maximum; i++)
		world.clients[i] = -1;
	world.waiting_count = 0;
	world.server = cairn_server_open(&options, &error);
	for (int i = 0; world.server && i < 2; i++)
		if (!cairn_server_listen(world.server, cairn_descriptor_adopt(dup(world.listeners[i])), i == 0, &error))
			abort();
	if (!world.server)
		abort();
}

static void end(void)
{
	for (int i = 0; i < clients_maximum; i++)
		if (world.clients[i] >= 0) {
			/* Without a time of waiting: thousands of closed connections a second would use up the ports. */
			setsockopt(world.clients[i], SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
			close(world.clients[i]);
		}
	for (int i = 0; i < 40; i++) /* whoever has not been accepted is not left to the next run */
		cairn_server_step(world.server, 0);
	while (world.waiting_count > 0)
		finish(0);
	cairn_server_close(world.server);
	if (world.contents || atomic_load(&world.whole.used) || atomic_load(&world.remote.used) || atomic_load(&world.local.used) ||
	    cairn_descriptors_count() != 0)
		abort();
}

static struct cairn_bytes take(struct cairn_bytes *script, size_t length)
{
	struct cairn_bytes part = {script->data, length < script->length ? length : script->length};
	*script = cairn_bytes_skip(*script, part.length);
	return part;
}

/* Requests that a few bytes of script stand for, so that the fuzzer need not spell them. */
static const char *const phrases[] = {
	"GET /q HTTP/1.1\r\nHost: x\r\n\r\n", "GET /cl HTTP/1.1\r\nHost: x\r\n\r\n", "GET /b HTTP/1.1\r\nHost: x\r\n\r\n",
	"HEAD /f HTTP/1.1\r\nHost: x\r\n\r\n", "GET /f HTTP/1.1\r\nHost: x\r\n\r\n", "GET /ff HTTP/1.0\r\n\r\n",
	"GET /ql HTTP/1.0\r\n\r\n", "GET /bl HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
	"POST /q HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n",
	"POST /ql HTTP/1.1\r\nHost: x\r\nContent-Length: 70000\r\nExpect: 100-continue\r\n\r\n",
	"POST /ql HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
	"POST /s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "ffff\r\n", "0\r\n\r\n", "10000;x=y\r\n", "\r\n",
	"POST /n HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n", "X: y\r\n",
	"POST /s HTTP/1.1\r\nHost: x\r\nContent-Length: 101\r\n\r\n",
	"POST /q HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET /c HTTP/1.1\r\nHost: x\r\n\r\n",
	"GET /q HTTP/1.1\r\nHost: x\r\nCookie: a=b; cairn_80=token ;=;;a\r\nX-Cairn: 1\r\n\r\n", "Cookie: cairn_80=", "Cookie: a\r\n",
	"X-Cairn: 1\r\n", "GET /q%2f..%2F%00%zz%?token=%41%&token HTTP/1.1\r\nHost: x\r\n", "GET http://x/../q//%",
};

static void send_some(int client, const char *data, size_t length)
{
	(void)!send(client, data, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void send_phrase(int client, const char *phrase)
{
	send_some(client, phrase, strlen(phrase));
}

static void act(unsigned char action, unsigned char argument, int *client, struct cairn_bytes *script)
{
	char sink[16 << 10];
	struct cairn_bytes part = no_bytes();
	switch (action & 15) {
	case 0:
	case 1:
		if (*client < 0)
			*client = dial(action & 1);
		break;
	case 2: /* as it is written */
		part = take(script, argument);
		send_some(*client, part.data, part.length);
		break;
	case 3:
	case 4: send_phrase(*client, phrases[argument % (sizeof phrases / sizeof *phrases)]); break;
	case 5: send_some(*client, large_content, (size_t)argument * 1024); break; /* a body, or a head that never ends */
	case 6: send_some(*client, phrases[argument % 12], argument / 12); break; /* a beginning */
	case 7: (void)!recv(*client, sink, (size_t)argument * 64, MSG_DONTWAIT); break;
	case 8:
		while (recv(*client, sink, sizeof sink, MSG_DONTWAIT) > 0)
			;
		break;
	case 9: shutdown(*client, argument & 1 ? SHUT_WR : SHUT_RDWR); break;
	case 10:
		setsockopt(*client, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger)); /* a reset, and no port kept */
		close(*client);
		*client = -1;
		break;
	case 11:
		if (world.waiting_count > 0)
			finish(argument % world.waiting_count);
		break;
	case 12: clock_ms += argument * 16; break;
	case 13: /* all that pipelining has */
		for (int i = 0; i < argument % 32; i++)
			send_some(*client, phrases[0], strlen(phrases[0]));
		break;
	case 14: /* another gets or gives back what is there for all */
		if (argument & 1)
			send_some(*client, large_content, large);
		break;
	default:
		break;
	}
	for (int i = 0; i < 1 + (action >> 6); i++)
		if (!cairn_server_step(world.server, 0))
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_bytes script = {(const char *)data, size < 4096 ? size : 4096};
	begin();
	while (script.length >= 3) {
		struct cairn_bytes step = take(&script, 3);
		act((unsigned char)step.data[0], (unsigned char)step.data[1], &world.clients[(unsigned char)step.data[2] % clients_maximum],
		    &script);
	}
	end();
	clock_ms = -1;
	return 0;
}
