/* folder_fixture.h - a dump folder on a real disk, and dumps to put into it; each test that includes it has its own.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_FOLDER_FIXTURE_H
#define CAIRN_TESTS_FOLDER_FIXTURE_H

#include "dump/folder.h"
#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[] = "/tmp/cairn-folder-XXXXXX";
static struct cairn_folder folder;
static const struct cairn_folder_facts manual = {.reason = "manual"};

static const char *path_of(const char *name)
{
	static char path[600];
	snprintf(path, sizeof path, "%s/%s", folder.path, name);
	return path;
}

static void start(const char *name, struct cairn_folder_limits limits)
{
	char path[128];
	struct cairn_error error;
	snprintf(path, sizeof path, "%s/%s", root, name);
	ok(cairn_folder_set(&folder, path, &limits, &error), "a folder: %s", name);
}

/* A dump as the agent makes it, of process PID that began at TICKS. */
static struct cairn_bytes dump_of(int pid, unsigned ticks, unsigned second, unsigned long memory)
{
	static char text[2048];
	int length = snprintf(
		text, sizeof text,
		"heap_v2/524288\n  t*: 3: %lu [0: 0]\n@ 0x1 0x2\n  t*: 3: %lu [0: 0]\n\nMAPPED_LIBRARIES:\n1-2 r-xp 0 00:00 0 /bin/x\n"
		"# cairn trailer 1\n# cairn time %u.000000000\n# cairn pid %d\n# cairn process %d.%u.0000beef\n"
		"# cairn smaps.anonymous %lu\n# cairn end\n",
		memory / 2, memory / 2, second, pid, pid, ticks, memory);
	return (struct cairn_bytes){text, (size_t)length};
}

static void write_plain(const char *name, const char *text, size_t length)
{
	int descriptor = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(descriptor, text, length) != (ssize_t)length)
		tap_check(false, __FILE__, __LINE__, "a file for the test");
	close(descriptor);
}

static size_t count_dumps(void)
{
	struct cairn_error error;
	struct cairn_listing listing;
	size_t count = cairn_folder_list(&folder, &listing, &error) ? listing.count : 0;
	cairn_listing_free(&listing);
	return count;
}

/* Removes everything, and ends the test; its exit code. */
static int finish(void)
{
	char command[64];
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command) != 0 ? 1 : tap_done();
}

#endif
