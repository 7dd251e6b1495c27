/* image_live.c - an image of a running process, by /proc and process_vm_readv.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "base/text.h"
#include "heap/image.h"
#include "process/proc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

/* struct pm_scan_arg, struct page_region and PAGEMAP_SCAN of linux/fs.h, which older headers lack. */
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask, category_anyof_mask,
		return_mask;
};
struct scan_region {
	uint64_t start, end, categories;
};
static const unsigned long scan_request = _IOWR('f', 16, struct scan);
enum { is_file = 1 << 2, is_present = 1 << 3, is_swapped = 1 << 4, is_zero_page = 1 << 5, is_huge = 1 << 6 };

enum { words_most = 4096, regions_most = 512, maps_most = 64 << 20 };

/* Without PAGEMAP_SCAN, every page of a mapping costs a word: as many as 256 GiB have. */
static const uint64_t words_limit = (uint64_t)1 << 26;

struct cairn_image_live {
	int pid, memory, pagemap;
	bool can_scan;
	uint64_t words_left;
	uint64_t page_size;
	uint64_t words[words_most];
};

static size_t read_memory(void *context, uint64_t address, void *out, size_t length)
{
	struct cairn_image_live *live = context;
	struct iovec to = {out, length}, from = {(void *)(uintptr_t)address, length};
	ssize_t got;
	do
		got = live->memory >= 0 ? pread(live->memory, out, length, (off_t)address)
					: process_vm_readv(live->pid, &to, 1, &from, 1, 0);
	while (got < 0 && errno == EINTR);
	return got > 0 ? (size_t)got : 0;
}

/* The pages of [START, END), all of which are there, with CATEGORIES if the system told those already: one word for each says whether
 * another process has it too. */
static bool read_words(struct cairn_image_live *live, struct cairn_image *image, uint64_t start, uint64_t end, uint16_t categories)
{
	static const uint64_t present = (uint64_t)1 << 63, swapped = (uint64_t)1 << 62, shared = (uint64_t)1 << 61,
			      exclusive = (uint64_t)1 << 56;
	while (start < end) {
		uint64_t pages = (end - start) / live->page_size;
		size_t wanted = pages < words_most ? (size_t)pages : words_most;
		ssize_t got = pread(live->pagemap, live->words, wanted * sizeof *live->words,
				    (off_t)(start / live->page_size * sizeof *live->words));
		if (got < (ssize_t)sizeof *live->words)
			return false;
		size_t count = (size_t)got / sizeof *live->words;
		for (size_t i = 0, next; i < count; i = next) {
			const uint64_t mask = present | swapped | shared | exclusive;
			for (next = i + 1; next < count && !((live->words[next] ^ live->words[i]) & mask); next++)
				;
			uint64_t word = live->words[i];
			if (word & (present | swapped))
				cairn_image_add(image, start + i * live->page_size, start + next * live->page_size,
						(uint16_t)(categories | (word & present ? 0 : CAIRN_PAGE_SWAPPED) |
							   (word & shared ? CAIRN_PAGE_SHARED : 0) |
							   (word & exclusive || !(word & present) ? 0 : CAIRN_PAGE_COMMON)));
		}
		start += count * live->page_size;
	}
	return true;
}

static bool scan(struct cairn_image_live *live, struct cairn_image *image, uint64_t start, uint64_t end)
{
	while (start < end && !cairn_image_is_late(image)) {
		struct scan_region regions[regions_most];
		struct scan request = {
			.size = sizeof request, .start = start, .end = end, .vec = (uintptr_t)regions, .vec_len = regions_most,
			.category_inverted = is_zero_page, .category_mask = is_zero_page, .category_anyof_mask = is_present | is_swapped,
			.return_mask = is_present | is_swapped | is_huge,
		};
		int count = ioctl(live->pagemap, scan_request, &request);
		if (count < 0 || count > regions_most || request.walk_end <= start)
			return false;
		for (int i = 0; i < count; i++)
			if (!read_words(live, image, regions[i].start, regions[i].end,
					regions[i].categories & is_huge ? CAIRN_PAGE_HUGE : 0))
				return false;
		start = request.walk_end;
	}
	return true;
}

static bool find_pages(void *context, struct cairn_image *image, uint64_t start, uint64_t end)
{
	struct cairn_image_live *live = context;
	if (live->can_scan)
		return scan(live, image, start, end);
	if ((end - start) / live->page_size > live->words_left)
		return true; /* what is there of it stays unknown */
	live->words_left -= (end - start) / live->page_size;
	return read_words(live, image, start, end, 0);
}

/* Of the file that is mapped, even if it was deleted or replaced since, which takes root; of what the process sees at its path
 * otherwise. */
static bool open_module(void *context, const struct cairn_image_module *module, struct cairn_file *file)
{
	const struct cairn_image_live *live = context;
	struct cairn_buffer path = cairn_buffer(1 << 16);
	cairn_buffer_format(&path, "/proc/%d/map_files/%llx-%llx%c", live->pid, (unsigned long long)module->start,
			    (unsigned long long)module->first_end, 0);
	bool good = cairn_file_map(file, path.data, NULL);
	path.length = 0;
	cairn_buffer_format(&path, "/proc/%d/root%s%c", live->pid, module->path, 0);
	good = good || (module->path[0] == '/' && !path.failed && cairn_file_map(file, path.data, NULL));
	cairn_buffer_free(&path);
	return good;
}

static void read_file(int pid, const char *name, struct cairn_buffer *out)
{
	char path[CAIRN_PROC_PATH];
	int descriptor = open(cairn_proc_path(path, pid, name), O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return;
	cairn_buffer_read(out, descriptor);
	close(descriptor);
}

/* Field 47 of stat; the second, in parentheses, may contain anything. */
static uint64_t start_break_of(int pid)
{
	struct cairn_buffer text = cairn_buffer(8192);
	uint64_t value = 0;
	read_file(pid, "stat", &text);
	const char *end = text.length ? memrchr(text.data, ')', text.length) : NULL;
	struct cairn_bytes rest = cairn_bytes_skip(cairn_buffer_bytes(&text), end ? (size_t)(end - text.data) + 1 : text.length);
	cairn_text_skip_blanks(&rest);
	for (int field = 3; field < 47; field++)
		cairn_text_word(&rest);
	if (!cairn_text_decimal(&rest, &value))
		value = 0;
	cairn_buffer_free(&text);
	return value;
}

static bool is_32_bit(int pid)
{
	char path[CAIRN_PROC_PATH];
	unsigned char head[EI_NIDENT] = {0};
	int descriptor = open(cairn_proc_path(path, pid, "exe"), O_RDONLY | O_CLOEXEC);
	bool known = descriptor >= 0 && read(descriptor, head, sizeof head) == sizeof head && memcmp(head, ELFMAG, SELFMAG) == 0;
	if (descriptor >= 0)
		close(descriptor);
	return known && head[EI_CLASS] == ELFCLASS32;
}

static bool fail_to_open(int pid, int code, struct cairn_error *error)
{
	errno = code;
	return code == EACCES || code == EPERM
		       ? cairn_fail(error,
				    "only root, and the user of process %d where the system lets users trace their processes, may read its "
				    "memory (sudo)", pid)
	       : code == ENOENT || code == ESRCH ? cairn_fail(error, "there is no process %d", pid)
						 : cairn_fail_errno(error, "cannot read the memory of process %d", pid);
}

/* Whether the memory can be read, by whichever way: process_vm_readv may be forbidden to us where /proc/PID/mem is not. */
static bool can_read(struct cairn_image_live *live, struct cairn_image *image, struct cairn_error *error)
{
	char path[CAIRN_PROC_PATH], byte;
	const struct cairn_image_run *run = cairn_image_run(image, 0);
	if (!run)
		return cairn_fail(error, "process %d has no memory: it has ended, or is a kernel thread", live->pid);
	if (read_memory(live, run->start, &byte, 1) == 1)
		return true;
	live->memory = open(cairn_proc_path(path, live->pid, "mem"), O_RDONLY | O_CLOEXEC);
	if (live->memory < 0)
		return fail_to_open(live->pid, errno, error);
	errno = 0;
	return read_memory(live, run->start, &byte, 1) == 1 || fail_to_open(live->pid, errno, error);
}

bool cairn_image_open(struct cairn_image *image, int pid, const struct cairn_image_limits *limits, struct cairn_error *error)
{
	char path[CAIRN_PROC_PATH];
	*image = (struct cairn_image){0};
	struct cairn_buffer maps = cairn_buffer(maps_most), auxv = cairn_buffer(1 << 16);
	struct cairn_image_live *live = cairn_array_zero(1, sizeof *live);
	*live = (struct cairn_image_live){.pid = pid, .memory = -1, .pagemap = -1, .words_left = words_limit,
					  .page_size = (uint64_t)sysconf(_SC_PAGESIZE)};
	live->pagemap = open(cairn_proc_path(path, pid, "pagemap"), O_RDONLY | O_CLOEXEC);
	if (live->pagemap < 0 || is_32_bit(pid)) {
		int code = errno;
		bool opened = live->pagemap >= 0;
		if (opened)
			close(live->pagemap);
		free(live);
		return opened ? cairn_fail(error, "process %d is a 32-bit program, whose heap cannot be read", pid)
			      : fail_to_open(pid, code, error);
	}
	struct scan nothing = {.size = sizeof nothing, .category_mask = is_present, .return_mask = is_present};
	live->can_scan = ioctl(live->pagemap, scan_request, &nothing) == 0;
	read_file(pid, "maps", &maps);
	read_file(pid, "auxv", &auxv);
	struct cairn_image_source source = {
		.context = live,
		.maps = cairn_buffer_bytes(&maps),
		.auxv = cairn_buffer_bytes(&auxv),
		.start_break = start_break_of(pid),
		.page_size = live->page_size,
		.read = read_memory,
		.find_pages = find_pages,
		.open_module = open_module,
	};
	bool good = cairn_image_open_source(image, &source, limits, error);
	image->live = live;
	cairn_buffer_free(&maps);
	cairn_buffer_free(&auxv);
	return good && can_read(live, image, error);
}

void cairn_image_close(struct cairn_image *image)
{
	if (image->live) {
		close(image->live->pagemap);
		if (image->live->memory >= 0)
			close(image->live->memory);
		free(image->live);
	}
	for (size_t i = 0; i < image->block_count; i++)
		free(image->blocks[i]);
	free(image->blocks);
	free(image->runs);
	free(image->modules);
	free(image->regions);
	cairn_arena_free(&image->arena);
	*image = (struct cairn_image){0};
}
