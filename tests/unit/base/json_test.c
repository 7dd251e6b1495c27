/* json_test.c - what a caller of the JSON writer must guarantee, at any depth.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { deep = 200 };

static void open_and_close(char opening, char closing)
{
	struct cairn_buffer out = cairn_buffer(1 << 10);
	struct cairn_json json = cairn_json(&out);
	cairn_json_open(&json, NULL, '[');
	cairn_json_open(&json, NULL, opening);
	cairn_json_close(&json, closing);
	cairn_json_close(&json, ']');
	cairn_buffer_free(&out);
}

static void close_alone(void)
{
	struct cairn_buffer out = cairn_buffer(1 << 10);
	struct cairn_json json = cairn_json(&out);
	cairn_json_close(&json, '}');
	cairn_buffer_free(&out);
}

static void put_in(char bracket, const char *key)
{
	struct cairn_buffer out = cairn_buffer(1 << 10);
	struct cairn_json json = cairn_json(&out);
	cairn_json_open(&json, NULL, bracket);
	cairn_json_integer(&json, key, 1);
	cairn_json_close(&json, bracket == '[' ? ']' : '}');
	cairn_buffer_free(&out);
}

static void wrong_bracket(void)
{
	open_and_close('{', ']');
}

static void right_bracket(void)
{
	open_and_close('{', '}');
}

static void no_key(void)
{
	put_in('{', NULL);
}

static void needless_key(void)
{
	put_in('[', "key");
}

/* The signal that ends a process that calls WORK; 0 for none. */
static int signal_of(void (*work)(void))
{
	int status;
	pid_t child = tap_fork();
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
		work();
		_exit(0);
	}
	return waitpid(child, &status, 0) == child && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void test_doors(void)
{
	fflush(stdout);
	is_int(signal_of(right_bracket), 0, "an object that is closed as one is well");
	is_int(signal_of(wrong_bracket), SIGABRT, "closing it as an array is a mistake of the caller");
	is_int(signal_of(close_alone), SIGABRT, "closing what is not open, too");
	is_int(signal_of(no_key), SIGABRT, "a value in an object has a key");
	is_int(signal_of(needless_key), SIGABRT, "and one in an array has none");
}

static void test_depth(void)
{
	struct cairn_buffer out = cairn_buffer(1 << 16);
	struct cairn_json json = cairn_json(&out);
	for (int i = 0; i < deep; i++)
		cairn_json_open(&json, i % 2 ? "a" : NULL, i % 2 ? '[' : '{');
	for (int i = deep; i-- > 0;)
		cairn_json_close(&json, i % 2 ? ']' : '}');
	bool right = out.length == deep / 2 * strlen("{\"a\":[]}");
	for (int i = 0; right && i < deep / 2; i++)
		right = memcmp(out.data + i * 6, "{\"a\":[", 6) == 0 && memcmp(out.data + deep / 2 * 6 + i * 2, "]}", 2) == 0;
	ok(right && json.depth == 0, "%d levels are written and closed", deep);
	cairn_buffer_free(&out);
}

int main(void)
{
	test_doors();
	test_depth();
	return tap_done();
}
