/* dump_fuzz.c - the lines of a dump folder's index, and the scan of a dump file: no crash, and what a line gives is written again as
 * it was.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/dump.h"

#include "base/hash.h"
#include "base/pages.h"
#include "base/text.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Reads LINE, and what it gives once more from how that is written. */
static void read_twice(struct cairn_bytes line)
{
	struct cairn_dump dump, same;
	struct cairn_buffer again = cairn_pages(4096);
	if (cairn_dump_read_line(line, &dump)) {
		cairn_dump_write_line(&dump, &again);
		struct cairn_bytes text = cairn_buffer_bytes(&again);
		text.length -= text.length > 0;
		if (!cairn_dump_read_line(text, &same) || strcmp(same.name, dump.name) != 0 || strcmp(same.reason, dump.reason) != 0 ||
		    same.memory != dump.memory || !cairn_life_equal(&same.process, &dump.process))
			abort();
	}
	cairn_buffer_free(&again);
}

/* The checksum is in the way of a fuzzer, so each line is tried with the right one, too. */
static void read_with_checksum(struct cairn_bytes line)
{
	struct cairn_buffer out = cairn_pages(1 << 20);
	cairn_buffer_format(&out, "%016llx\t", (unsigned long long)cairn_hash_text(line));
	cairn_buffer_append(&out, line.data, line.length);
	read_twice(cairn_buffer_bytes(&out));
	cairn_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_bytes rest = {(const char *)data, size}, line;
	while (cairn_text_line(&rest, &line, NULL)) {
		read_twice(line);
		read_with_checksum(line);
	}
	static int file = -1;
	if (file < 0)
		file = memfd_create("dump", MFD_CLOEXEC);
	if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size)
		return 0;
	struct cairn_dump dump = {.name = "svc.77.0.i0.heap", .size = size};
	char group[64];
	if (cairn_dump_scan(file, INT64_MAX, &dump) && strlen(dump.reason) >= sizeof dump.reason)
		abort();
	cairn_dump_find_group(file, group, sizeof group);
	return 0;
}
