/* replay.c - gives a fuzz target each file of its corpus once, as a test.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "tap.h"

#include <dirent.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A copy without anything behind it, so that a sanitizer sees every step past the end. */
static void replay(const char *path)
{
	struct cairn_file file;
	struct cairn_error error;
	if (!cairn_file_read(&file, path, &error)) {
		ok(false, "%s", error.text);
		return;
	}
	uint8_t *copy = malloc(file.bytes.length ? file.bytes.length : 1);
	if (copy && file.bytes.length)
		memcpy(copy, file.bytes.data, file.bytes.length);
	LLVMFuzzerTestOneInput(copy, file.bytes.length);
	ok(true, "%s", path);
	free(copy);
	cairn_file_close(&file);
}

int main(void)
{
	struct dirent **entries;
	int count = scandir(CORPUS, &entries, NULL, alphasort);
	ok(count > 2, "%s has files; run from the top of the repository", CORPUS);
	for (int i = 0; i < count; i++) {
		char path[1000];
		snprintf(path, sizeof path, "%s/%s", CORPUS, entries[i]->d_name);
		if (entries[i]->d_name[0] != '.')
			replay(path);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
	return tap_done();
}
