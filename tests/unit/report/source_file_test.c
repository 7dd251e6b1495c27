/* source_file_test.c - finding a source file by the end of its path, and its lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/source_file.h"

#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void)
{
	char folder[] = "/tmp/cairn-code.XXXXXX", path[128], link[128], upwards[32], search[300];
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof path, "%s/src", folder);
	mkdir(path, 0700);
	snprintf(path, sizeof path, "%s/src/a.c", folder);
	cairn_file_write(path, cairn_bytes_of("one\r\n\nthree"), NULL);

	struct cairn_source_file code;
	struct cairn_source_search below = {.folders = folder}, second = {.folders = search}, nowhere = {.folders = "/nonexistent"};
	struct cairn_source_search only_below = {.folders = folder, .confined = true}, confined = {.confined = true};
	ok(cairn_source_file_open(&code, "/build/x/src/a.c", &below), "by the end of its path");
	is_text(code.path, path, "there");
	is_int(code.count, 3, "three lines");
	ok(cairn_bytes_equal(cairn_source_file_line(&code, 1), cairn_bytes_of("one")), "a line without its end");
	is_int(cairn_source_file_line(&code, 2).length, 0, "an empty line");
	ok(cairn_bytes_equal(cairn_source_file_line(&code, 3), cairn_bytes_of("three")), "the last one has no end");
	is_int(cairn_source_file_line(&code, 4).length, 0, "past the last");
	is_int(cairn_source_file_line(&code, 0).length, 0, "line 0 is none");
	cairn_source_file_close(&code);
	snprintf(search, sizeof search, "/nonexistent::%s", folder);
	ok(cairn_source_file_open(&code, "src/a.c", &second), "in the second folder");
	cairn_source_file_close(&code);
	ok(cairn_source_file_open(&code, path, &nowhere), "as it is");
	cairn_source_file_close(&code);
	ok(cairn_source_file_open(&code, path, &only_below), "confined: below the folder");
	cairn_source_file_close(&code);
	ok(!cairn_source_file_open(&code, path, &confined), "confined to no folder: nothing");
	snprintf(link, sizeof link, "%s/src/b.c", folder);
	ok(symlink("/etc/passwd", link) == 0 && !cairn_source_file_open(&code, "src/b.c", &only_below), "confined: no link that leads out");
	unlink(link);
	ok(symlink("a.c", link) == 0 && cairn_source_file_open(&code, "src/b.c", &only_below), "confined: a link that stays");
	cairn_source_file_close(&code);
	snprintf(search, sizeof search, "%s/src", folder);
	ok(!cairn_source_file_open(&code, "../src/none/../a.c/..", &second), "a path that leads up");
	snprintf(upwards, sizeof upwards, "../src/%s", "a.c");
	ok(cairn_source_file_open(&code, upwards, &second), "its end without .. is looked for");
	is_text(code.path, path, "below the folder");
	cairn_source_file_close(&code);
	/* The folder is ours alone, as mkdtemp makes it. */
	struct cairn_source_search foreign = {.folders = "/nonexistent", .foreign = true}, named = {.folders = folder, .foreign = true};
	ok(!cairn_source_file_open(&code, path, &foreign) && code.withheld, "foreign: a file in a folder that not everybody may enter");
	ok(cairn_source_file_open(&code, path, &named), "which the user named, though");
	cairn_source_file_close(&code);
	ok(!cairn_source_file_open(&code, "/nothing", &foreign) && !code.withheld, "what is not there is not withheld");
	char src[128];
	snprintf(src, sizeof src, "%s/src", folder);
	chmod(folder, 0711);
	ok(chmod(src, 0711) == 0 && chmod(path, 0644) == 0 && cairn_source_file_open(&code, path, &foreign), "one that everybody may read");
	cairn_source_file_close(&code);
	ok(cairn_source_file_open(&code, link, &foreign), "through a link, too");
	cairn_source_file_close(&code);
	ok(chmod(path, 0640) == 0 && !cairn_source_file_open(&code, path, &foreign) && code.withheld, "one that not everybody may read");
	ok(!cairn_source_file_open(&code, link, &foreign) && code.withheld, "nor through a link");
	ok(chmod(path, 0644) == 0 && chmod(src, 0700) == 0 && !cairn_source_file_open(&code, path, &foreign), "nor in such a folder");
	ok(chmod(folder, 0700) == 0 && unlink(link) == 0 && symlink("/etc/passwd", link) == 0 &&
		   !cairn_source_file_open(&code, "src/b.c", &named),
	   "foreign: no link that leads out of a named folder");
	ok(unlink(link) == 0 && symlink("a.c", link) == 0, "(the link as it was)");

	struct cairn_profile profile;
	cairn_profile_init(&profile);
	ok(!cairn_source_search(&profile, NULL).foreign, "a profile of our own is not foreign");
	cairn_profile_add_module(&profile, cairn_profile_text(&profile, path), 0);
	ok(!cairn_source_search(&profile, NULL).foreign, "nor with a program of our own");
	if (geteuid() != 0)
		tap_skip("a program of another user", "only root can make one");
	else
		ok(chown(path, 65534, 65534) == 0 && cairn_source_search(&profile, NULL).foreign, "with one of another user it is");
	profile.facts.foreign = true;
	profile.module_count = 0;
	ok(cairn_source_search(&profile, NULL).foreign, "so it is where the profile says so");
	cairn_profile_free(&profile);
	ok(truncate(link, 17 << 20) == 0 && !cairn_source_file_open(&code, "src/a.c", &below), "no source code is that large");
	ok(!cairn_source_file_open(&code, "/proc/self/status", &(struct cairn_source_search){0}), "nor a file of the kernel's");
	unlink(link);
	ok(!cairn_source_file_open(&code, "b.c", &below), "not there");
	ok(!cairn_source_file_open(&code, "/build/src", &below), "a folder is no file");
	unlink(path);
	snprintf(path, sizeof path, "%s/src", folder);
	rmdir(path);
	rmdir(folder);
	return tap_done();
}
