/* entries_test.c - the names in a folder: all of them once, however many, and none where there is no folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/entries.h"
#include "tap.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { files = 1000 };

static int number_of(const char *name)
{
	int number;
	return sscanf(name, "a-file-with-a-long-name-%d", &number) == 1 && number >= 0 && number < files ? number : -1;
}

/* Counts the files that are seen exactly once, and removes them if REMOVE. */
static int count(int folder, bool remove, int *others)
{
	struct cairn_entries entries;
	static int seen[files];
	memset(seen, 0, sizeof seen);
	*others = 0;
	cairn_entries_start(&entries, folder);
	for (const struct dirent64 *entry; (entry = cairn_entries_next(&entries));) {
		int number = number_of(entry->d_name);
		if (number < 0)
			++*others;
		else if (++seen[number] == 1 && remove)
			unlinkat(folder, entry->d_name, 0);
	}
	int once = 0;
	for (int i = 0; i < files; i++)
		once += seen[i] == 1;
	return once;
}

int main(void)
{
	char path[] = "/tmp/cairn-entries-XXXXXX", name[64];
	if (!mkdtemp(path))
		return 1;
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), others;
	is_int(count(folder, false, &others), 0, "an empty folder has no files");
	is_int(others, 2, "but . and ..");
	for (int i = 0; i < files; i++) {
		snprintf(name, sizeof name, "a-file-with-a-long-name-%d", i);
		int made = openat(folder, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (made >= 0)
			close(made);
	}
	is_int(count(folder, false, &others), files, "more files than one call of the kernel lists, each once");
	is_int(count(folder, false, &others), files, "a second look starts with the first again");
	is_int(count(folder, true, &others), files, "files that are removed meanwhile are all seen");
	is_int(count(folder, false, &others), 0, "and are gone");
	rmdir(path);
	is_int(count(folder, false, &others), 0, "a folder that is gone");
	is_int(others, 0, "has no names");
	close(folder);
	is_int(count(-1, false, &others) + others, 0, "no folder, no names");
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	is_int(count(file, false, &others) + others, 0, "a file has none");
	close(file);
	return tap_done();
}
