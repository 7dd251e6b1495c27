/* forward_test.c - passing a request on to a child whose agent answers well, badly or not at all.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/route/forward.h"

#include "agent/work/agent.h"
#include "base/descriptor.h"
#include "base/pages.h"
#include "tap.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/cairn-forward.XXXXXX";

/* A child that listens as an agent does, gives ANSWER to the one who asks, and hands us what it was asked. */
static pid_t start(const char *answer, int *asked)
{
	int ends[2];
	char byte;
	if (pipe(ends) != 0)
		return -1;
	pid_t pid = tap_fork();
	if (pid == 0) {
		struct sockaddr_un address = {.sun_family = AF_UNIX};
		char text[2000] = "";
		snprintf(address.sun_path, sizeof address.sun_path, "%s/%d.sock", folder, getpid());
		int listener = socket(AF_UNIX, SOCK_STREAM, 0);
		if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1) != 0)
			_exit(1);
		(void)!write(ends[1], "!", 1);
		int client = accept(listener, NULL, NULL);
		ssize_t length = read(client, text, sizeof text);
		(void)!write(ends[1], text, length > 0 ? (size_t)length : 0);
		(void)!write(client, answer, strlen(answer));
		shutdown(client, SHUT_WR);
		while (read(client, text, sizeof text) > 0) /* whoever closes with something unread resets the connection */
			;
		_exit(0);
	}
	(void)!read(ends[0], &byte, 1);
	close(ends[1]);
	*asked = ends[0];
	return pid;
}

/* As a worker does. */
static void look_until_done(struct cairn_call *call)
{
	do {
		poll(NULL, 0, call->due_ns ? 10 : 0);
		call->due_ns = 0;
		call->handle(call);
	} while (call->due_ns);
}

static void forward(const char *method, const char *target, struct cairn_bytes body, struct cairn_response *response)
{
	struct cairn_request request = {.method = cairn_bytes_of(method), .content_type = cairn_bytes_of("text/plain"), .body = body};
	cairn_request_target(&request, cairn_bytes_of(target));
	*response = (struct cairn_response){.body = cairn_pages(1 << 20)};
	ok(cairn_forward_is_meant(&request), "%s %s is for another", method, target);
	struct cairn_call call = {.agent = &cairn_agent, .handle = cairn_forward_route.handle, .request = &request, .response = response};
	look_until_done(&call);
}

static void test_meant(void)
{
	char own[40];
	snprintf(own, sizeof own, "pid=%d", getpid());
	ok(!cairn_forward_is_meant(&(struct cairn_request){.query = cairn_bytes_of("")}), "no pid");
	ok(!cairn_forward_is_meant(&(struct cairn_request){.query = cairn_bytes_of(own)}), "our own");
	ok(cairn_forward_is_meant(&(struct cairn_request){.query = cairn_bytes_of("a=b&pid=1")}), "another's");
	ok(cairn_forward_is_meant(&(struct cairn_request){.query = cairn_bytes_of("pid=x")}),
	   "what is none is refused, not taken for ours");
}

static void test_patience(void)
{
	static const struct {
		const char *query;
		int seconds;
	} cases[] = {{"", 120}, {"pid=1&seconds=300", 420}, {"seconds=99999", 3720}, {"seconds=x", 120}, {"seconds=", 120}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		is_int(cairn_forward_patience(&(struct cairn_request){.query = cairn_bytes_of(cases[i].query)}), cases[i].seconds,
		       "'%s' is waited for", cases[i].query);
}

static void test_answer(void)
{
	struct cairn_response response;
	char target[80], text[2000] = "";
	int asked;
	pid_t pid = start("HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\nhello", &asked);
	snprintf(target, sizeof target, "/cairn/x?a=1&pid=%d&b=2", pid);
	forward("POST", target, cairn_bytes_of("body"), &response);
	is_int(response.status, 201, "its status");
	is_text(response.type, "application/json", "its type");
	ok(cairn_bytes_equal(cairn_buffer_bytes(&response.body), cairn_bytes_of("hello")), "its body");
	(void)!read(asked, text, sizeof text - 1);
	like_text(text, "POST /cairn/x?a=1&b=2 HTTP/1.1\r\n", "it was asked the same, without the pid");
	like_text(text, "Content-Length: 4\r\nContent-Type: text/plain\r\n\r\n", "with body and type");
	cairn_response_free(&response);
	close(asked);
	waitpid(pid, NULL, 0);
}

/* A child that is stopped takes its time: nobody waits for it. */
static void test_late(void)
{
	int before = cairn_descriptors_count();
	for (int leaves = 0; leaves < 2; leaves++) {
		char target[40];
		int asked;
		pid_t pid = start("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate", &asked);
		kill(pid, SIGSTOP);
		waitpid(pid, NULL, WUNTRACED);
		snprintf(target, sizeof target, "/?seconds=3600&pid=%d", pid);
		struct cairn_request request = {.method = cairn_bytes_of("GET")};
		struct cairn_response response = {.body = cairn_pages(1 << 20)};
		struct cairn_call call = {.agent = &cairn_agent, .handle = cairn_forward_route.handle, .request = &request, .response = &response};
		cairn_request_target(&request, cairn_bytes_of(target));
		for (int i = 0; i < 3; i++) {
			call.due_ns = 0;
			call.handle(&call);
			ok(call.due_ns > 0 && call.held, "an answer that is not there yet is looked for later");
		}
		kill(pid, SIGCONT);
		if (leaves) {
			cairn_call_release(&call);
		} else {
			look_until_done(&call);
			is_int(response.status, 200, "and comes");
			ok(cairn_bytes_equal(cairn_buffer_bytes(&response.body), cairn_bytes_of("late")), "whole");
		}
		is_int(cairn_descriptors_count(), before, leaves ? "the connection ends with the call" : "and the connection is closed");
		cairn_response_free(&response);
		close(asked);
		waitpid(pid, NULL, 0);
	}
}

static void test_bad(void)
{
	static const char *const answers[] = {
		"", "HTTP/1.1 200 OK", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort",
		"HTTP/1.1 200 OK\r\n\r\nno length", "\r\n\r\n", "HTTP/1.1 \r\nContent-Length: 99999999999999999999999\r\n\r\n",
		"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
	};
	for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
		struct cairn_response response;
		char target[40];
		int asked;
		pid_t pid = start(answers[i], &asked);
		snprintf(target, sizeof target, "/?pid=%d", pid);
		forward("GET", target, (struct cairn_bytes){"", 0}, &response);
		is_int(response.status, 502, "a bad answer, number %zu", i);
		cairn_response_free(&response);
		close(asked);
		waitpid(pid, NULL, 0);
	}
}

static void test_refusals(void)
{
	static const char *const strangers[] = {"/?pid=1", "/?pid=x", "/?pid=-3", "/?pid=99999999999", "/?pid="};
	struct cairn_response response;
	char target[40];
	for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++) {
		forward("GET", strangers[i], (struct cairn_bytes){"", 0}, &response);
		is_int(response.status, 404, "%s is not of our tree", strangers[i]);
		cairn_response_free(&response);
	}
	pid_t pid = tap_fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	snprintf(target, sizeof target, "/?pid=%d", pid);
	forward("GET", target, (struct cairn_bytes){"", 0}, &response);
	is_int(response.status, 409, "a child without an agent");
	cairn_response_free(&response);
	/* Another process's socket under the child's name does not pass for its agent. */
	int asked;
	char path[200], other[200];
	pid_t impostor = start("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &asked);
	snprintf(path, sizeof path, "%s/%d.sock", folder, impostor);
	snprintf(other, sizeof other, "%s/%d.sock", folder, pid);
	ok(rename(path, other) == 0, "a socket of another name");
	forward("GET", target, (struct cairn_bytes){"", 0}, &response);
	is_int(response.status, 409, "is not believed");
	cairn_response_free(&response);
	close(asked);
	kill(pid, SIGKILL);
	kill(impostor, SIGKILL);
	waitpid(pid, NULL, 0);
	waitpid(impostor, NULL, 0);
}

int main(void)
{
	char command[100];
	if (!mkdtemp(folder))
		return 1;
	snprintf(cairn_agent.listen.folder, sizeof cairn_agent.listen.folder, "%s", folder);
	test_meant();
	test_patience();
	test_answer();
	test_late();
	test_bad();
	test_refusals();
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command) == 0 ? tap_done() : 1;
}
