/* pages_test.c - pages that are all there, and pages that are given back.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/pages.h"

#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kib = 1 << 10 };

/* How much of the mapping that begins at MEMORY is in the page table, in KiB. */
static long resident_kib(const void *memory)
{
	char line[4200], start[32];
	long found = -1;
	bool inside = false;
	snprintf(start, sizeof start, "%lx-", (unsigned long)(uintptr_t)memory);
	FILE *file = fopen("/proc/self/smaps", "re");
	while (file && found < 0 && fgets(line, sizeof line, file)) {
		inside = inside || strncmp(line, start, strlen(start)) == 0;
		if (inside)
			sscanf(line, "Rss: %ld kB", &found);
	}
	if (file)
		fclose(file);
	return found;
}

static bool is_mapped(void *memory, size_t size)
{
	unsigned char pages[1024];
	return size / 4096 <= sizeof pages && mincore(memory, size, pages) == 0;
}

static void test_file(void)
{
	enum { size = 1000 * kib };
	int descriptor = memfd_create("pages", MFD_CLOEXEC);
	ok(descriptor >= 0 && ftruncate(descriptor, size) == 0 && posix_fallocate(descriptor, 0, size) == 0, "a file with all its pages");
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	is_int(resident_kib(memory), 0, "none of them is mapped at first");
	cairn_pages_touch(memory, size);
	is_int(resident_kib(memory), size / kib, "all are once touched");
	memory[0] = 'a';
	memory[700 * kib] = 'b';
	cairn_pages_unmap(memory, size);
	ok(!is_mapped(memory, size) && errno == ENOMEM, "given back, nothing is mapped");
	char first = 0, later = 0;
	ok(pread(descriptor, &first, 1, 0) == 1 && pread(descriptor, &later, 1, 700 * kib) == 1 && first == 'a' && later == 'b',
	   "and the file has what was written");
	close(descriptor);
}

/* Zeroes take no memory, from bytes and from a file, and what lies between them is where it was. */
static void test_zeroes(void)
{
	enum { size = 8 << 20, place = (5 << 20) + 100 };
	int descriptor = memfd_create("pages", MFD_CLOEXEC);
	ok(descriptor >= 0 && ftruncate(descriptor, size) == 0 && pwrite(descriptor, "x", 1, place) == 1, "a file that is nearly all hole");
	struct cairn_buffer read = cairn_pages(size), copy = cairn_pages(size - 1);
	ok(cairn_pages_read(&read, descriptor) && read.length == size && !read.failed, "is read");
	ok(read.data[place] == 'x' && read.data[place - 1] == 0 && read.data[size - 1] == 0, "as it is");
	long resident = resident_kib(read.data);
	ok(resident >= 4 && resident < 1024, "and takes the memory of what is in it: %ld KiB", resident);
	cairn_pages_append(&copy, (struct cairn_bytes){read.data + 1, size - 1});
	ok(copy.length == size - 1 && !copy.failed && copy.data[place - 1] == 'x', "a copy of it up to the limit");
	cairn_pages_append(&copy, (struct cairn_bytes){read.data, 1});
	ok(copy.failed, "beyond that, it fails");
	ok(!cairn_pages_read(&read, -1) && errno == EBADF, "what cannot be read is an error");
	cairn_buffer_free(&read);
	cairn_buffer_free(&copy);
	close(descriptor);
}

static void test_sizes(void)
{
	static const size_t sizes[] = {1, 4096, 256 * kib - 1, 256 * kib, 256 * kib + 1, 512 * kib, 3000 * kib + 5};
	bool all = true, none = true;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char *memory = cairn_pages_map(sizes[i]);
		all = all && memory;
		if (memory)
			memset(memory, 1, sizes[i]);
		cairn_pages_unmap(memory, sizes[i]);
		none = none && !is_mapped(memory, sizes[i]);
	}
	ok(all && none, "pages of any size are mapped and given back");
	cairn_pages_unmap(NULL, 0);
	cairn_pages_unmap(NULL, 1 << 20);
	ok(true, "nothing is given back where there is nothing");
}

int main(void)
{
	test_file();
	test_zeroes();
	test_sizes();
	return tap_done();
}
