/* source_file_test.c - finding a source file by the end of its path, and its lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/source_file.h"

#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
	char folder[] = "/tmp/cairn-code.XXXXXX", path[128], search[300];
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof path, "%s/src", folder);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/src/a.c", folder);
	cairn_file_write(path, cairn_bytes_of("one\r\n\nthree"), NULL);

	struct cairn_source_file code;
	ok(cairn_source_file_open(&code, "/build/x/src/a.c", folder), "by the end of its path");
	is_text(code.path, path, "there");
	is_int(code.count, 3, "three lines");
	ok(cairn_bytes_equal(cairn_source_file_line(&code, 1), cairn_bytes_of("one")), "a line without its end");
	is_int(cairn_source_file_line(&code, 2).length, 0, "an empty line");
	ok(cairn_bytes_equal(cairn_source_file_line(&code, 3), cairn_bytes_of("three")), "the last one has no end");
	is_int(cairn_source_file_line(&code, 4).length, 0, "past the last");
	is_int(cairn_source_file_line(&code, 0).length, 0, "line 0 is none");
	cairn_source_file_close(&code);
	snprintf(search, sizeof search, "/nonexistent::%s", folder);
	ok(cairn_source_file_open(&code, "src/a.c", search), "in the second folder");
	cairn_source_file_close(&code);
	ok(cairn_source_file_open(&code, path, "/nonexistent"), "as it is");
	cairn_source_file_close(&code);
	ok(!cairn_source_file_open(&code, "b.c", folder), "not there");
	ok(!cairn_source_file_open(&code, "/build/src", folder), "a folder is no file");
	unlink(path);
	snprintf(path, sizeof path, "%s/src", folder);
	rmdir(path);
	rmdir(folder);
	return tap_done();
}
