/* library_test.c - the first library that is installed is loaded, whole or not at all.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/library.h"

#include "tap.h"

static int starts;

static bool start(void)
{
	starts++;
	return true;
}

static bool fail_to_start(void)
{
	return false;
}

int main(void)
{
	struct {
		size_t (*length)(const char *text);
		int (*number)(const char *text);
	} functions = {0};
	struct cairn_library library = {
		.files = "libcairn-none.so.1 libc.so.6", .names = "strlen atoi", .members = &functions, .size = sizeof functions, .start = start};
	ok(cairn_library_is_there(&library), "the second file is there");
	ok(functions.length("four") == 4 && functions.number("12") == 12, "each member is the function of its name");
	ok(cairn_library_is_there(&library) && starts == 1, "it is started once");

	struct cairn_library incomplete = library;
	incomplete.names = "strlen cairn_no_such_function";
	incomplete.state = 0;
	ok(!cairn_library_is_there(&incomplete), "a library without one of the functions is not used");
	is_int(starts, 1, "nor started");

	struct cairn_library absent = library;
	absent.files = "libcairn-none.so.1 libcairn-none.so.2";
	absent.state = 0;
	ok(!cairn_library_is_there(&absent), "a library that is not installed is not there");
	absent.files = library.files;
	ok(!cairn_library_is_there(&absent), "which is tried once");

	struct cairn_library useless = library;
	useless.start = fail_to_start;
	useless.state = 0;
	ok(!cairn_library_is_there(&useless), "nor one that does not start");
	return tap_done();
}
