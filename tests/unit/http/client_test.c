/* client_test.c - the client against a server of three lines, through a unix socket.
 * SPDX-License-Identifier: Apache-2.0 */
#include "http/client.h"
#include "tap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/cairn-client-XXXXXX", path[64];

/* Answers one request with TEXT, after which the connection ends; what was asked is written to the file "asked". Returns the child. */
static pid_t serve(const char *text)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
	unlink(path);
	if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 1) != 0)
		return -1;
	pid_t child = tap_fork();
	if (child == 0) {
		char request[4096], name[96];
		int connection = accept(listener, NULL, NULL);
		ssize_t length = recv(connection, request, sizeof request, 0);
		snprintf(name, sizeof name, "%s/asked", folder);
		FILE *asked = fopen(name, "w");
		if (asked && length > 0)
			fwrite(request, 1, (size_t)length, asked);
		if (asked)
			fclose(asked);
		if (text && send(connection, text, strlen(text), MSG_NOSIGNAL) < 0)
			_exit(1);
		if (!text)
			sleep(10);
		_exit(0);
	}
	close(listener);
	return child;
}

static char asked[4096];

static bool ask(const char *text, struct cairn_http_call *call, struct cairn_http_answer *answer, struct cairn_error *error)
{
	char name[96];
	pid_t child = serve(text);
	call->socket = path;
	bool good = cairn_http_ask(call, answer, error);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	snprintf(name, sizeof name, "%s/asked", folder);
	FILE *file = fopen(name, "r");
	asked[file ? fread(asked, 1, sizeof asked - 1, file) : 0] = '\0';
	if (file)
		fclose(file);
	return good;
}

int main(void)
{
	struct cairn_http_answer answer;
	struct cairn_error error;
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof path, "%s/socket", folder);

	struct cairn_http_call call = {.url = "http://localhost/page?x=1",
				       .headers = (const char *const[]){"Authorization: Bearer word", NULL}};
	ok(ask("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello", &call, &answer, &error), "an answer");
	is_int(answer.status, 200, "its status");
	is_text(answer.type, "text/plain", "its type");
	is_int(answer.body.length, 5, "its length");
	like_text(asked, "GET /page?x=1 HTTP/1.1\r\n", "what was asked");
	like_text(asked, "Authorization: Bearer word\r\n", "with the header");
	cairn_http_answer_free(&answer);

	call = (struct cairn_http_call){.url = "http://localhost/do", .method = "POST"};
	ok(ask("HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno\n", &call, &answer, &error), "a refusal is an answer");
	is_int(answer.status, 403, "with its status");
	like_text(asked, "POST /do HTTP/1.1\r\n", "a POST");
	like_text(asked, "Content-Length: 0\r\n", "with nothing in it");
	cairn_http_answer_free(&answer);

	call = (struct cairn_http_call){.url = "http://localhost/", .body = {"0x1+0x2", 7}};
	ok(ask("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", &call, &answer, &error), "chunks");
	is_int(answer.body.length, 3, "put together");
	like_text(asked, "0x1+0x2", "after a body");
	cairn_http_answer_free(&answer);

	call = (struct cairn_http_call){.url = "http://localhost/", .limit_bytes = 4};
	ok(!ask("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", &call, &answer, &error), "too much");
	like_text(error.text, "larger than 4 B", "is said to be");
	cairn_http_answer_free(&answer);

	call = (struct cairn_http_call){.url = "http://localhost/"};
	ok(!ask("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", &call, &answer, &error), "too little");
	like_text(error.text, "before its answer was complete", "is said to be");
	cairn_http_answer_free(&answer);

	call = (struct cairn_http_call){.url = "http://localhost/", .silence_ms = 1000};
	ok(!ask(NULL, &call, &answer, &error), "silence");
	like_text(error.text, "did not answer", "ends");
	cairn_http_answer_free(&answer);

	call = (struct cairn_http_call){.url = "http://localhost/", .socket = "/nowhere/socket"};
	ok(!cairn_http_ask(&call, &answer, &error), "no socket");
	like_text(error.text, "/nowhere/socket: cannot connect", "is named");
	cairn_http_answer_free(&answer);

	call = (struct cairn_http_call){.url = "file:///etc/passwd"};
	ok(!cairn_http_fetch(&call, &answer, &error), "nothing but http and https");
	cairn_http_answer_free(&answer);

	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command) == 0 ? tap_done() : 1;
}
