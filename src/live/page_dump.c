/* page_dump.c - finds the pages of this machine, and asks them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/page_dump.h"

#include "base/file.h"
#include "base/text.h"
#include "base/time.h"
#include "http/client.h"
#include "http/peer.h"
#include "process/proc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A page takes as long for a snapshot as its process. */
enum { asked_most = 16, connect_ms = 1000, answer_ms = 20000 };
/* A page that has too many requests to wait for says so, and is asked again. */
enum { busy = 503, busy_most = 200 };
static const struct timespec busy_pause = {.tv_nsec = 100 * CAIRN_MILLISECOND_NS};
static const char prefix[] = "@cairn-page/";

char *cairn_page_dump_name(int server, char out[CAIRN_PAGE_DUMP_NAME])
{
	snprintf(out, CAIRN_PAGE_DUMP_NAME, "%s%d", prefix, server);
	return out;
}

struct question {
	int server, pid;
};

/* Anybody can listen on such a name. It must be the process that the name says, of a user who may ask the process himself; and in another
 * PID namespace the numbers of processes mean nothing here. */
static bool is_heard(void *context, int descriptor, struct cairn_error *error)
{
	const struct question *question = context;
	struct cairn_peer peer = cairn_peer_of(descriptor);
	bool trusted = peer.user == 0 || peer.user == geteuid() || cairn_proc_runs_as(question->pid, peer.user);
	return (peer.pid == question->server && trusted) || cairn_fail(error, "a stranger answers");
}

static bool ask(const char *name, struct question *question, struct cairn_buffer *dump)
{
	char url[80];
	struct cairn_error error;
	struct cairn_http_answer answer;
	snprintf(url, sizeof url, "http://cairn/api/newest?pid=%d", question->pid);
	const struct cairn_http_call call = {
		.url = url, .socket = name, .approve = is_heard, .connect_ms = connect_ms, .total_ms = answer_ms, .context = question,
	};
	bool answered = cairn_http_ask(&call, &answer, &error);
	for (int i = 0; answered && answer.status == busy && i < busy_most; i++) {
		cairn_http_answer_free(&answer);
		nanosleep(&busy_pause, NULL);
		answered = cairn_http_ask(&call, &answer, &error);
	}
	bool good = answered && answer.status == 200 && answer.body.length > 0;
	if (good)
		cairn_buffer_append(dump, answer.body.data, answer.body.length);
	cairn_http_answer_free(&answer);
	return good;
}

/* The number of the server that listens on the socket of LINE in the kernel's list; 0 if it is no page's. */
static int server_of(struct cairn_bytes line)
{
	static const char listens[] = " 00010000 ";
	const char *name = memmem(line.data, line.length, prefix, sizeof prefix - 1);
	uint64_t number;
	if (!name || !memmem(line.data, (size_t)(name - line.data), listens, sizeof listens - 1))
		return 0;
	struct cairn_bytes rest = cairn_bytes_skip(line, (size_t)(name - line.data) + sizeof prefix - 1);
	return cairn_text_decimal(&rest, &number) && rest.length == 0 && number <= INT32_MAX ? (int)number : 0;
}

bool cairn_page_dump(int pid, struct cairn_buffer *dump)
{
	struct cairn_file file;
	struct cairn_bytes line;
	bool found = false;
	int asked = 0;
	if (!cairn_file_read(&file, "/proc/self/net/unix", NULL))
		return false;
	for (struct cairn_bytes rest = file.bytes; !found && asked < asked_most && cairn_text_line(&rest, &line, NULL);) {
		char name[CAIRN_PAGE_DUMP_NAME];
		struct question question = {server_of(line), pid};
		asked += question.server != 0;
		found = question.server && ask(cairn_page_dump_name(question.server, name), &question, dump);
	}
	cairn_file_close(&file);
	return found;
}
