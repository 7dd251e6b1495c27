/* server_test.c - the server with answers at once and from other threads, many clients at a time, and its limits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptor.h"
#include "http/server.h"
#include "tap.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { clients = 12, rounds = 20 };

static char path[] = "/tmp/cairn-server-test.XXXXXX";
static atomic_bool stop;
static atomic_int ticks, answering;
static int far_listener;

static void *answer_later(void *context)
{
	struct cairn_exchange *exchange = context;
	usleep(2000);
	cairn_response_text(&exchange->response, 200, "text/plain", "later %.*s", (int)exchange->request.body.length,
			    exchange->request.body.length ? exchange->request.body.data : "");
	cairn_exchange_finish(exchange);
	atomic_fetch_sub(&answering, 1);
	return NULL;
}

static bool admit(void *context, struct cairn_exchange *exchange, size_t *maximum)
{
	(void)context;
	*maximum = 100000;
	if (!cairn_bytes_start_with(exchange->request.path, "/closed"))
		return true;
	cairn_response_text(&exchange->response, 403, "text/plain", "not for you");
	return false;
}

static char large_content[8 << 20];

static void keep(void *owner)
{
	(void)owner;
}

static int shared_file = -1;
static FILE *shared; /* closed when the server has stopped */
static atomic_int waiting;
static struct cairn_quota quota = {.limit = 500 << 10};

static void abandon(void *context, struct cairn_exchange *exchange)
{
	(void)context;
	atomic_fetch_sub(&waiting, 1);
	cairn_exchange_finish(exchange);
}

static bool handle(void *context, struct cairn_exchange *exchange)
{
	(void)context;
	pthread_t thread;
	if (cairn_bytes_start_with(exchange->request.path, "/large")) {
		cairn_response_start(&exchange->response, 200, "text/plain");
		exchange->response.content = (struct cairn_bytes){large_content, sizeof large_content};
		exchange->response.release = keep;
		return true;
	}
	if (cairn_bytes_start_with(exchange->request.path, "/file")) {
		cairn_response_start(&exchange->response, 200, "text/plain");
		exchange->response.file = cairn_descriptor_adopt(dup(shared_file));
		exchange->response.file_length = sizeof large_content;
		return true;
	}
	if (cairn_bytes_start_with(exchange->request.path, "/body")) {
		cairn_response_start(&exchange->response, 200, "text/plain");
		cairn_buffer_append(&exchange->response.body, large_content, 200 << 10);
		return true;
	}
	if (cairn_bytes_start_with(exchange->request.path, "/stream")) {
		cairn_response_start(&exchange->response, 200, "text/plain");
		cairn_buffer_text(&exchange->response.body, "first");
		exchange->response.stream = true;
		return true;
	}
	if (cairn_bytes_start_with(exchange->request.path, "/wait")) { /* until its client leaves */
		atomic_fetch_add(&waiting, 1);
		return false;
	}
	if (cairn_bytes_start_with(exchange->request.path, "/later")) {
		atomic_fetch_add(&answering, 1);
		if (pthread_create(&thread, NULL, answer_later, exchange) == 0) {
			pthread_detach(thread);
			return false;
		}
		atomic_fetch_sub(&answering, 1);
	}
	cairn_response_text(&exchange->response, 200, "text/plain", "now %s", exchange->local ? "local" : "far");
	return true;
}

static _Atomic(struct cairn_server *) streaming; /* what is pushed to at each tick; NULL for none */
static atomic_int streams;
static atomic_size_t pushed_bytes = 10;

static int tick(void *context)
{
	(void)context;
	atomic_fetch_add(&ticks, 1);
	struct cairn_server *to = atomic_load(&streaming);
	if (to)
		atomic_store(&streams, (int)cairn_server_push(to, (struct cairn_bytes){large_content, atomic_load(&pushed_bytes)}));
	return to ? 10 : 100;
}

static void *serve(void *server)
{
	return cairn_server_run(server) ? server : NULL;
}

static int dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", path);
	int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
	struct timeval limit = {.tv_sec = 10};
	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
	if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
		close(descriptor);
		return -1;
	}
	return descriptor;
}

/* Sends REQUEST and reads until the other side closes; the answer, terminated. */
static char *ask(const char *request, size_t length, char *out, size_t size)
{
	int descriptor = dial();
	size_t got = 0;
	for (size_t sent = 0; descriptor >= 0 && sent < length;) {
		ssize_t part = send(descriptor, request + sent, length - sent, MSG_NOSIGNAL);
		if (part <= 0)
			break;
		sent += (size_t)part;
	}
	for (ssize_t part; descriptor >= 0 && got + 1 < size && (part = recv(descriptor, out + got, size - got - 1, 0)) > 0;)
		got += (size_t)part;
	out[got] = 0;
	close(descriptor);
	return out;
}

#define CLOSE "Host: x\r\nConnection: close\r\n"

static char *ask_text(const char *request, char *out, size_t size)
{
	return ask(request, strlen(request), out, size);
}

static void *be_client(void *context)
{
	int good = 0;
	char out[1024];
	for (int i = 0; i < rounds; i++) {
		good += strstr(ask_text("GET /now HTTP/1.1\r\n" CLOSE "\r\n", out, sizeof out), "\r\n\r\nnow local") != NULL;
		good += strstr(ask_text("POST /later HTTP/1.1\r\n" CLOSE "Content-Length: 5\r\n\r\nhello", out, sizeof out),
			       "\r\n\r\nlater hello") != NULL;
	}
	return good == 2 * rounds ? context : NULL;
}

static void test_clients(void)
{
	pthread_t threads[clients];
	int good = 0;
	for (int i = 0; i < clients; i++)
		pthread_create(&threads[i], NULL, be_client, path);
	for (int i = 0; i < clients; i++) {
		void *result;
		pthread_join(threads[i], &result);
		good += result != NULL;
	}
	is_int(good, clients, "%d clients with %d requests each, answered at once and later", clients, 2 * rounds);
}

/* Clients that send all they have before they read, over TCP, where bytes that nobody read reset a connection. */
static void test_early_refusal(void)
{
	static char out[4096], large[2 << 20];
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	getsockname(far_listener, (struct sockaddr *)&address, &size);
	int length = snprintf(large, sizeof large, "POST /closed HTTP/1.1\r\n" CLOSE "Content-Length: 2000000\r\n\r\n"), seen = 0;
	for (int i = 0; i < 20; i++) {
		int descriptor = socket(AF_INET, SOCK_STREAM, 0);
		size_t sent = 0, got = 0, all = (size_t)length + 2000000;
		if (connect(descriptor, (struct sockaddr *)&address, size) == 0) /* the head alone first, as most libraries do */
			for (ssize_t part;
			     sent < all && (part = send(descriptor, large + sent, sent ? all - sent : (size_t)length, MSG_NOSIGNAL)) > 0;) {
				sent += (size_t)part;
				if (sent == (size_t)length)
					poll(&(struct pollfd){descriptor, POLLIN, 0}, 1, 10000);
			}
		for (ssize_t part; got + 1 < sizeof out && (part = recv(descriptor, out + got, sizeof out - got - 1, 0)) > 0;)
			got += (size_t)part;
		out[got] = 0;
		seen += sent == all && strstr(out, "not for you");
		close(descriptor);
	}
	is_int(seen, 20, "a client that sends all of a refused request first is told why");
	int stuck[40];
	for (int i = 0; i < 40; i++) {
		stuck[i] = dial();
		send(stuck[i], large, (size_t)length + 100, MSG_NOSIGNAL);
	}
	like_text(ask_text("GET /now HTTP/1.1\r\n" CLOSE "\r\n", out, sizeof out), "200 OK", "refused clients that never end make room");
	for (int i = 0; i < 40; i++)
		close(stuck[i]);
}

static int dial_far(void)
{
	struct sockaddr_in address = {0};
	socklen_t size = sizeof address;
	getsockname(far_listener, (struct sockaddr *)&address, &size);
	int descriptor = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &(int){2048}, sizeof(int));
	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = 20}, sizeof(struct timeval));
	return connect(descriptor, (struct sockaddr *)&address, size) == 0 ? descriptor : -1;
}

/* A client that takes a large answer steadily, but not as fast as the kernel asks for more of it; and one that takes nothing. */
static void test_slow_client(void)
{
	static char out[8192];
	static const char request[] = "GET /large HTTP/1.1\r\n" CLOSE "\r\n";
	size_t got = 0;
	int steady = dial_far(), stuck = dial_far();
	send(steady, request, sizeof request - 1, MSG_NOSIGNAL);
	send(stuck, request, sizeof request - 1, MSG_NOSIGNAL);
	for (ssize_t part, reads = 0; (part = recv(steady, out, sizeof out, 0)) > 0; reads++) {
		got += (size_t)part;
		if (reads < 160)
			usleep(25000);
	}
	ok(got > sizeof large_content, "a slow client gets all of a large answer: %zu bytes", got);
	got = 0;
	for (ssize_t part; (part = recv(stuck, out, sizeof out, 0)) > 0;)
		got += (size_t)part;
	ok(got < sizeof large_content, "one that takes nothing for seconds is cut off: %zu bytes", got);
	close(steady);
	close(stuck);
}

/* A body that takes longer than the time for a request, but never stands still for long. */
static void test_slow_body(void)
{
	static char out[4096], piece[20000];
	static const char head[] = "POST /later HTTP/1.1\r\n" CLOSE "Content-Length: 100000\r\n\r\n";
	int descriptor = dial();
	size_t got = 0;
	memset(piece, 'x', sizeof piece);
	send(descriptor, head, sizeof head - 1, MSG_NOSIGNAL);
	for (int i = 0; i < 5; i++) {
		usleep(800000);
		send(descriptor, piece, sizeof piece, MSG_NOSIGNAL);
	}
	for (ssize_t part; got + 1 < sizeof out && (part = recv(descriptor, out + got, sizeof out - got - 1, 0)) > 0;)
		got += (size_t)part;
	out[got] = 0;
	like_text(out, "\r\n\r\nlater xxx", "a body that comes slowly");
	close(descriptor);
}

static void test_limits(void)
{
	static char out[4096], large[200000];
	like_text(ask_text("GET /closed HTTP/1.1\r\n" CLOSE "\r\n", out, sizeof out), "403 Forbidden", "who is not admitted");
	like_text(ask_text("POST /x HTTP/1.1\r\n" CLOSE "Content-Length: 100001\r\n\r\n", out, sizeof out), "413",
		  "a body that is announced too long");
	like_text(ask_text("nonsense\r\n\r\n", out, sizeof out), "400 Bad Request", "what is no request");
	int length = snprintf(large, sizeof large, "POST /later HTTP/1.1\r\n" CLOSE "Transfer-Encoding: chunked\r\n\r\n186A0\r\n");
	memset(large + length, 'x', 100000);
	memcpy(large + length + 100000, "\r\n0\r\n\r\n", 7);
	like_text(ask(large, (size_t)length + 100007, out, sizeof out), "\r\n\r\nlater xxx", "a body of chunks up to the limit");
	memcpy(large + length - 7, "186A1", 5);
	memcpy(large + length + 100001, "\r\n0\r\n\r\n", 7);
	like_text(ask(large, (size_t)length + 100008, out, sizeof out), "413", "and one byte past it");
	like_text(ask_text("GET / HT", out, sizeof out), "408 Request Timeout", "half a request, after its time");
	is_text(ask_text("HEAD /now HTTP/1.0\r\n\r\n", out, sizeof out) + strlen(out) - 4, "\r\n\r\n", "HEAD has no body");
	int idle[40];
	for (int i = 0; i < 40; i++)
		idle[i] = dial();
	like_text(ask_text("GET /now HTTP/1.1\r\n" CLOSE "\r\n", out, sizeof out), "200 OK", "idle connections make room");
	for (int i = 0; i < 40; i++)
		close(idle[i]);
}

static bool reaches(atomic_int *counter, int value)
{
	for (int i = 0; i < 2000 && atomic_load(counter) != value; i++)
		usleep(5000);
	return atomic_load(counter) == value;
}

/* All that comes until the other side closes. */
static size_t read_all(int descriptor)
{
	static char out[64 << 10];
	size_t got = 0;
	for (ssize_t part; (part = recv(descriptor, out, sizeof out, 0)) > 0;)
		got += (size_t)part;
	return got;
}

static void test_file(void)
{
	static const char request[] = "GET /file HTTP/1.1\r\n" CLOSE "\r\n";
	FILE *file = tmpfile();
	shared_file = file ? fileno(file) : -1;
	ok(file && fwrite(large_content, 1, sizeof large_content, file) == sizeof large_content && fflush(file) == 0, "a file");
	int descriptor = dial();
	send(descriptor, request, sizeof request - 1, MSG_NOSIGNAL);
	size_t got = read_all(descriptor);
	ok(got > sizeof large_content && got < sizeof large_content + 1000, "is sent as it is: %zu bytes", got);
	close(descriptor);
	ok(ftruncate(shared_file, 1000000) == 0, "it becomes shorter");
	descriptor = dial();
	send(descriptor, request, sizeof request - 1, MSG_NOSIGNAL);
	got = read_all(descriptor);
	ok(got >= 1000000 && got < 1001000, "and the connection ends with it: %zu bytes", got);
	close(descriptor);
	shared = file;
}

/* Whoever hangs up while nothing is sent either way is noticed. */
static void test_hang_up(void)
{
	static const char request[] = "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n";
	int near[3], far[3];
	for (int i = 0; i < 3; i++) {
		near[i] = dial();
		far[i] = dial_far();
		send(near[i], request, sizeof request - 1, MSG_NOSIGNAL);
		send(far[i], request, sizeof request - 1, MSG_NOSIGNAL);
	}
	ok(reaches(&waiting, 6), "six clients wait");
	shutdown(near[0], SHUT_WR);
	shutdown(far[0], SHUT_WR);
	for (int i = 1; i < 3; i++)
		close(near[i]);
	setsockopt(far[1], SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
	close(far[1]);
	close(far[2]);
	ok(reaches(&waiting, 2), "four leave, by closing and by resetting; who closes only its own side stays");
	char interim[100] = "";
	ok(recv(far[0], interim, sizeof interim - 1, 0) > 0 && strstr(interim, "100 Continue"),
	   "over TCP that one is asked whether it is there");
	close(near[0]);
	close(far[0]);
	ok(reaches(&waiting, 0), "then those leave as well");
}

/* However many strangers there are, and whatever they do, local clients find room. */
static void test_reserve(void)
{
	static const char request[] = "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n";
	static char out[1024];
	int far[30];
	for (int i = 0; i < 30; i++) {
		far[i] = dial_far();
		send(far[i], request, sizeof request - 1, MSG_NOSIGNAL);
	}
	ok(reaches(&waiting, 12), "of 16 places strangers get 12");
	like_text(ask_text("GET /now HTTP/1.1\r\n" CLOSE "\r\n", out, sizeof out), "200 OK", "a local client finds one");
	for (int i = 0; i < 30; i++)
		close(far[i]);
	ok(reaches(&waiting, 0), "all have left");
}

/* Bodies together stay within the quota. */
static void test_quota(void)
{
	static char out[1024];
	static const char request[] = "GET /body HTTP/1.1\r\n" CLOSE "\r\n";
	int far[6], whole = 0, busy = 0;
	setsockopt(far_listener, SOL_SOCKET, SO_SNDBUF, &(int){8192}, sizeof(int)); /* inherited: the kernel keeps little of an answer */
	for (int i = 0; i < 6; i++) {
		far[i] = dial_far();
		send(far[i], request, sizeof request - 1, MSG_NOSIGNAL);
		recv(far[i], out, sizeof out, MSG_PEEK);
	}
	for (int i = 0; i < 6; i++) {
		out[recv(far[i], out, sizeof out - 1, 0)] = 0;
		whole += strstr(out, "200 OK") != NULL;
		busy += strstr(out, "503 Service") && strstr(out, "Retry-After: 1\r\n") &&
			strstr(out, "does not fit in the remaining memory");
	}
	ok(whole >= 2 && whole + busy == 6 && busy > 0, "of answers that nobody reads %d are given and %d refused", whole, busy);
	for (int i = 0; i < 6; i++)
		close(far[i]);
	for (int i = 0; i < 1000 && atomic_load(&quota.used) > 0; i++)
		usleep(5000);
	is_int((long)atomic_load(&quota.used), 0, "all of it is given back");
}

/* An answer without an end: what is pushed arrives, and who leaves or does not read is let go of. */
static void test_stream(struct cairn_server *server)
{
	static const char request[] = "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n", head[] = "HEAD /stream HTTP/1.1\r\n" CLOSE "\r\n";
	static char out[4096], answer[1024];
	size_t got = 0;
	atomic_store(&pushed_bytes, 10);
	atomic_store(&streaming, server);
	int reader = dial(), leaver = dial_far(), idler = dial_far();
	send(reader, request, sizeof request - 1, MSG_NOSIGNAL);
	send(leaver, request, sizeof request - 1, MSG_NOSIGNAL);
	send(idler, request, sizeof request - 1, MSG_NOSIGNAL);
	for (ssize_t part; got < 600 && (part = recv(reader, out + got, sizeof out - 1 - got, 0)) > 0;)
		got += (size_t)part;
	ok(strstr(out, "\r\n\r\nfirst") && !strstr(out, "Content-Length") && got >= 600,
	   "a stream has no length, and what is pushed follows");
	ok(reaches(&streams, 3), "three clients listen");
	close(leaver);
	ok(reaches(&streams, 2), "one that leaves is forgotten");
	atomic_store(&pushed_bytes, CAIRN_STREAM_BACKLOG / 2);
	ok(reaches(&streams, 0), "those that do not read lose their connections");
	atomic_store(&streaming, NULL);
	ok(strstr(ask(head, sizeof head - 1, answer, sizeof answer), "200 OK"), "HEAD of a stream is answered and ends");
	close(reader);
	close(idler);
}

int main(void)
{
	struct cairn_error error = {0};
	struct cairn_server *server = cairn_server_open(&(struct cairn_server_options){
		.connections = 16, .seconds = 3, .body_maximum = 1 << 20, .response_maximum = 1 << 20,
		.quota = &quota, .local_quota = &quota, .abandon = abandon,
		.admit = admit, .handle = handle, .tick = tick, .stop = &stop,
	}, &error);
	ok(server && mkdtemp(path), "a server");
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", path);
	int listener = cairn_descriptor_adopt(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
	ok(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 64) == 0 &&
	   cairn_server_listen(server, listener, true, &error), "listens");
	far_listener = cairn_descriptor_adopt(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
	struct sockaddr_in far = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	ok(bind(far_listener, (struct sockaddr *)&far, sizeof far) == 0 && listen(far_listener, 64) == 0 &&
	   cairn_server_listen(server, far_listener, false, &error), "also over TCP");
	pthread_t thread;
	void *result;
	pthread_create(&thread, NULL, serve, server);
	test_clients();
	test_early_refusal();
	test_slow_client();
	test_slow_body();
	test_limits();
	test_file();
	test_hang_up();
	test_reserve();
	test_quota();
	test_stream(server);
	atomic_store(&stop, true);
	pthread_join(thread, &result);
	if (shared)
		fclose(shared);
	ok(result == server, "stops when it is told to");
	ok(atomic_load(&ticks) > 0, "and had time for other things");
	while (atomic_load(&answering) > 0) /* no exchange may be with another thread when the server is closed */
		usleep(1000);
	cairn_server_close(server);
	is_int(cairn_descriptors_count(), 0, "nothing stays open");
	unlink(address.sun_path);
	rmdir(path);
	return tap_done();
}
