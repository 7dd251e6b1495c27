/* replay.c - runs a fuzz target on the files of its corpus, without a fuzzer: every input that ever broke it stays checked.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "tap.h"

#include <dirent.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(void)
{
	DIR *folder = opendir(CORPUS);
	if (!folder) {
		ok(false, "the corpus %s can be read", CORPUS);
		return tap_done();
	}
	for (struct dirent *entry; (entry = readdir(folder));) {
		if (entry->d_name[0] == '.')
			continue;
		char path[4096];
		snprintf(path, sizeof path, "%s/%s", CORPUS, entry->d_name);
		struct cairn_error error;
		struct cairn_file file;
		if (!cairn_file_read(&file, path, &error)) {
			ok(false, "%s", error.text);
			continue;
		}
		LLVMFuzzerTestOneInput((const uint8_t *)file.bytes.data, file.bytes.length);
		ok(true, "%s", entry->d_name);
		cairn_file_close(&file);
	}
	closedir(folder);
	ok(tap_count > 0, "the corpus is not empty");
	return tap_done();
}
