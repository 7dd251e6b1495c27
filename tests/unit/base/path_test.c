/* path_test.c - base names, and the mark of a file that is gone.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptor.h"
#include "base/path.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void test_base_names(void)
{
	static const char *const cases[][2] = {{"/usr/bin/redis", "redis"}, {"redis", "redis"}, {"/", "/"}, {"a/b/", "a/b/"}, {"", ""}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		is_text(cairn_base_name(cases[i][0]), cases[i][1], "%s", cases[i][0]);
		ok(cairn_bytes_equal(cairn_path_base(cairn_bytes_of(cases[i][0])), cairn_bytes_of(cases[i][1])), "as bytes");
	}
}

static void test_programs(void)
{
	static const char *const cases[][2] = {{"redis-server *:6379", "redis-server"}, {"/usr/bin/python3 -m http", "python3"},
		{"nginx: master process /usr/sbin/nginx", "nginx"}, {"./service", "service"}, {"", ""}, {" x", ""}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ok(cairn_bytes_equal(cairn_path_program(cairn_bytes_of(cases[i][0])), cairn_bytes_of(cases[i][1])), "program of '%s'",
		   cases[i][0]);
}

static void test_deleted(void)
{
	struct cairn_bytes path = cairn_bytes_of("/tmp/a (deleted)"), whole = cairn_bytes_of("/tmp/a"), mark = cairn_bytes_of(" (deleted)");
	ok(cairn_path_take_deleted(&path) && cairn_bytes_equal(path, whole), "the mark is taken off");
	ok(!cairn_path_take_deleted(&path) && cairn_bytes_equal(path, whole), "a path without it stays");
	ok(!cairn_path_take_deleted(&mark) && mark.length == 10, "a mark without a path is a name");
}

static void test_write_all(void)
{
	int ends[2];
	static char text[200000];
	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0)
		return;
	struct cairn_bytes rest = {text, sizeof text};
	ok(!cairn_descriptor_write_all(ends[1], &rest) && errno == EAGAIN && rest.length > 0 && rest.length < sizeof text,
	   "a full pipe: what was written is taken off");
	size_t read_bytes = 0;
	char piece[4096];
	for (bool done = false; !done;) {
		for (ssize_t length; (length = read(ends[0], piece, sizeof piece)) > 0;)
			read_bytes += (size_t)length;
		done = rest.length == 0;
		cairn_descriptor_write_all(ends[1], &rest);
	}
	is_int((long long)read_bytes, (long long)sizeof text, "and the rest is written by the next calls");
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	test_base_names();
	test_programs();
	test_deleted();
	test_write_all();
	return tap_done();
}
