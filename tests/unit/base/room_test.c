/* room_test.c - memory up to a limit, files beyond it, and neither.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/room.h"

#include "base/inflate.h"
#include "tap.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { length = 3 << 20 };
static char plain[length], packed[length + 4096];
static char folder[] = "/var/tmp/cairn-room.XXXXXX";

static size_t entries(const char *path)
{
	size_t count = 0;
	DIR *listing = opendir(path);
	for (struct dirent *entry; listing && (entry = readdir(listing));)
		count += entry->d_name[0] != '.' || entry->d_name[1] == 'c';
	if (listing)
		closedir(listing);
	return count;
}

static void test_memory(void)
{
	int descriptor;
	ok(cairn_room_take(SIZE_MAX / 2, &descriptor) && descriptor == -1, "without a limit everything fits into memory");
	cairn_room_give(SIZE_MAX / 2);
	cairn_room_set(1000, NULL, 0);
	ok(cairn_room_take(600, &descriptor) && descriptor == -1, "what fits is taken");
	ok(cairn_room_left() == 400, "and counted");
	ok(!cairn_room_take(401, &descriptor) && descriptor == -1, "what does not fit has no room where there is no folder");
	ok(cairn_room_take(400, &descriptor) && descriptor == -1, "to the last byte");
	cairn_room_give(600);
	cairn_room_give(400);
	ok(cairn_room_left() == 1000, "and can be given back");
}

static void test_file(void)
{
	char missing[sizeof folder + 16];
	snprintf(missing, sizeof missing, "%s/made/here", folder);
	const char *const folders[] = {"/proc/nowhere", missing};
	cairn_room_set(0, folders, 2);
	int descriptor;
	struct stat status;
	ok(cairn_room_take(length, &descriptor) && descriptor >= 0, "beyond the limit there is a file, in the first folder that takes one");
	ok(fstat(descriptor, &status) == 0 && status.st_size == length, "of the size that was asked for");
	ok(status.st_nlink == 0 && entries(missing) == 0, "that has no name");
	ok((status.st_mode & 077) == 0, "and is nobody else's");
	ok(status.st_blocks * 512 >= length, "its blocks are allocated");
	close(descriptor);
	ok(!cairn_room_take((size_t)1 << 60, &descriptor), "more than the disk has is refused");
}

static void test_folder_in_memory(void)
{
	const char *const folders[] = {"/dev/shm"};
	cairn_room_set(0, folders, 1);
	int descriptor;
	ok(!cairn_room_take(length, &descriptor), "a folder that lies in memory is not used");
}

static size_t pack(enum cairn_inflate_kind kind)
{
	uLongf size = sizeof packed;
	if (kind == CAIRN_INFLATE_ZSTD)
		return ZSTD_compress(packed, sizeof packed, plain, length, 1);
	compress2((Bytef *)packed, &size, (const Bytef *)plain, length, 1);
	return size;
}

/* Whether the kernel reads only the pages that are touched of the mapping that begins at MEMORY. */
static bool is_read_page_by_page(const void *memory)
{
	char line[4200], start[32];
	bool inside = false, found = false;
	snprintf(start, sizeof start, "%lx-", (unsigned long)(uintptr_t)memory);
	FILE *file = fopen("/proc/self/smaps", "re");
	while (file && fgets(line, sizeof line, file)) {
		inside = inside || strncmp(line, start, strlen(start)) == 0;
		if (!inside || strncmp(line, "VmFlags:", 8) != 0)
			continue;
		found = strstr(line, " rr") != NULL;
		break;
	}
	if (file)
		fclose(file);
	return found;
}

static void test_inflate(enum cairn_inflate_kind kind, const char *name)
{
	const char *const folders[] = {folder};
	struct cairn_bytes input = {packed, pack(kind)};
	cairn_room_set(length, folders, 1);
	struct cairn_inflate *first = cairn_inflate_new(input, false, kind, length);
	struct cairn_inflate *second = cairn_inflate_new(input, false, kind, length);
	const char *before = cairn_inflate_bytes(second).data;
	ok(cairn_inflate_place(first) && cairn_inflate_place(second) && cairn_room_left() == 0,
		"%s: the first takes the memory, the second a file", name);
	ok(cairn_inflate_wait(second, 0, length) && memcmp(cairn_inflate_bytes(second).data, plain, length) == 0,
		"%s: a file has the same bytes", name);
	ok(cairn_inflate_bytes(second).data == before, "%s: where they were said to be", name);
	ok(is_read_page_by_page(before), "%s: and reads nothing that nobody asked for", name);
	cairn_inflate_expect(first, 0, length);
	cairn_inflate_expect(second, 5000, 100000);
	cairn_inflate_expect(second, length - 1, 1 << 20);
	cairn_inflate_expect(second, length, 1);
	ok(memcmp(cairn_inflate_bytes(second).data, plain, length) == 0, "%s: but what was asked for ahead", name);
	ok(cairn_inflate_wait(first, 0, length) && memcmp(cairn_inflate_bytes(first).data, plain, length) == 0,
		"%s: and so has memory", name);
	ok(!cairn_inflate_lacked_room(first) && !cairn_inflate_lacked_room(second), "%s: there was room", name);
	cairn_inflate_free(first);
	ok(cairn_room_left() == length, "%s: memory is given back", name);
	cairn_inflate_free(second);
	ok(entries(folder) == 1, "%s: nothing is left in the folder, but for the folder of before", name);

	cairn_room_set(length - 1, NULL, 0);
	first = cairn_inflate_new(input, false, kind, length);
	ok(!cairn_inflate_place(first) && !cairn_inflate_wait(first, 0, 1) && cairn_inflate_is_done(first),
		"%s: without room nothing is unpacked", name);
	ok(cairn_inflate_lacked_room(first) && cairn_inflate_bytes(first).data[length - 1] == 0, "%s: it says so, and reads as zeroes",
		name);
	cairn_inflate_free(first);
}

/* A limit on the size of files stands for a disk that turns out to be full. */
static void test_full_disk(void)
{
	const char *const folders[] = {folder};
	struct cairn_bytes input = {packed, pack(CAIRN_INFLATE_ZLIB)};
	cairn_room_set(0, folders, 1);
	struct cairn_inflate *inflate = cairn_inflate_new(input, false, CAIRN_INFLATE_ZLIB, length);
	ok(cairn_inflate_place(inflate), "there seems to be room");
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit before, small;
	getrlimit(RLIMIT_FSIZE, &before);
	small = (struct rlimit){1 << 20, before.rlim_max};
	setrlimit(RLIMIT_FSIZE, &small);
	ok(!cairn_inflate_wait(inflate, 0, length) && cairn_inflate_lacked_room(inflate),
		"a disk that is full after all ends the unpacking");
	setrlimit(RLIMIT_FSIZE, &before);
	ok(cairn_inflate_wait(inflate, 0, 1 << 20) && memcmp(cairn_inflate_bytes(inflate).data, plain, 1 << 20) == 0,
		"what was written is right");
	ok(cairn_inflate_bytes(inflate).data[length - 1] == 0, "and the rest reads as zeroes");
	cairn_inflate_free(inflate);
}

int main(void)
{
	srand(7);
	for (size_t i = 0; i < length; i++)
		plain[i] = (char)(rand() % 4 ? "abcdef"[i % 6] : rand());
	if (!mkdtemp(folder))
		return 1;
	test_memory();
	test_file();
	test_folder_in_memory();
	test_inflate(CAIRN_INFLATE_ZLIB, "zlib");
	test_inflate(CAIRN_INFLATE_ZSTD, "zstd");
	test_full_disk();
	char command[100];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command) || tap_done();
}
