/* inside_blocks.c - mapping blocks, and looking into them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/inside_blocks.h"

#include "agent/sampler/inside.h"
#include "agent/unwind/stack.h"
#include "arch/arch.h"
#include "base/descriptor.h"
#include "base/file_limit.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

__attribute__((visibility("default"))) struct cairn_inside cairn_inside = {.version = CAIRN_INSIDE_VERSION};

void cairn_inside_open(void)
{
	cairn_inside.countdown = (uintptr_t)&cairn_local()->countdown - cairn_arch_thread_pointer();
	cairn_inside.filter_words = (uintptr_t)cairn_filter_words;
	cairn_inside.filter_mask = (uintptr_t)&cairn_filter_mask;
	cairn_inside.slow = (uintptr_t)cairn_inside_slow;
}

static bool has_table(const struct cairn_inside_block *block, uint32_t at, uint32_t count, size_t size)
{
	return at % 8 == 0 && at <= block->size && count <= (block->size - at) / size;
}

static bool is_sound(struct cairn_bytes bytes)
{
	struct cairn_inside_block block;
	if (bytes.length < sizeof block || bytes.length > UINT32_MAX)
		return false;
	memcpy(&block, bytes.data, sizeof block);
	return block.magic == cairn_inside_magic && block.version == CAIRN_INSIDE_VERSION && block.size == bytes.length &&
	       has_table(&block, block.functions.at, block.functions.count, sizeof(struct cairn_inside_function)) &&
	       has_table(&block, block.words.at, block.words.count, sizeof(struct cairn_inside_word)) &&
	       has_table(&block, block.ranges.at, block.ranges.count, sizeof(struct cairn_inside_range)) &&
	       memchr(block.text, 0, sizeof block.text);
}

/* A mapping at ADDRESS and nowhere else; NULL for none. Old kernels take the address for a hint. */
static void *map(uint64_t address, size_t size, int protection, int flags, int descriptor)
{
	void *made = mmap((void *)address, size, protection, MAP_PRIVATE | MAP_FIXED_NOREPLACE | flags, descriptor, 0);
	if (made == MAP_FAILED || made == (void *)address)
		return made == MAP_FAILED ? NULL : made;
	munmap(made, size);
	errno = EEXIST;
	return NULL;
}

/* From a file in memory: no page is ever writable and executable, which some systems refuse. */
static void *map_file(uint64_t address, struct cairn_bytes block)
{
	struct cairn_file_limit limit;
	int descriptor = memfd_create("cairn-inside", MFD_CLOEXEC | MFD_EXEC);
	if (descriptor < 0 && errno == EINVAL)
		descriptor = memfd_create("cairn-inside", MFD_CLOEXEC);
	descriptor = cairn_descriptor_adopt(descriptor);
	if (descriptor < 0)
		return NULL;
	struct cairn_bytes rest = block;
	cairn_file_limit_enter(&limit);
	bool written = cairn_descriptor_write_all(descriptor, &rest);
	cairn_file_limit_leave(&limit, !written);
	void *made = written ? map(address, block.length, PROT_READ | PROT_EXEC, 0, descriptor) : NULL;
	int reason = errno;
	cairn_descriptor_close(descriptor);
	errno = reason;
	return made;
}

static void *map_anonymous(uint64_t address, struct cairn_bytes block)
{
	void *made = map(address, block.length, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1);
	if (!made)
		return NULL;
	memcpy(made, block.data, block.length);
	if (mprotect(made, block.length, PROT_READ | PROT_EXEC) == 0)
		return made;
	int reason = errno;
	munmap(made, block.length);
	errno = reason;
	return NULL;
}

bool cairn_inside_take(uint64_t address, struct cairn_bytes block, struct cairn_error *error)
{
	static atomic_flag busy = ATOMIC_FLAG_INIT;
	if (!is_sound(block))
		return cairn_fail(error, "this is no block for an agent of this version");
	if (atomic_flag_test_and_set(&busy))
		return cairn_fail(error, "another block is just being mapped");
	uint32_t count = atomic_load(&cairn_inside.count);
	void *made = NULL;
	if (count < CAIRN_INSIDE_BLOCKS) {
		made = map_file(address, block);
		made = made || errno == EEXIST ? made : map_anonymous(address, block);
	}
	if (made) {
		cairn_inside.blocks[count].address = address;
		atomic_store(&cairn_inside.blocks[count].state, CAIRN_INSIDE_MAPPED);
		atomic_store(&cairn_inside.count, count + 1);
	}
	int reason = errno;
	atomic_flag_clear(&busy);
	errno = reason;
	if (count >= CAIRN_INSIDE_BLOCKS)
		return cairn_fail(error, "there is no place for another block");
	return made || cairn_fail_errno(error, "no code can be mapped at %llx", (unsigned long long)address);
}

/* Whether the code that the block leads from is still there: libraries are unloaded, and loaded again as their files have them. */
static bool is_loaded(const struct cairn_inside_block *block)
{
	const struct cairn_inside_word *word = (const void *)((const char *)block + block->words.at);
	uintptr_t first = block->words.count ? word->address : 0, last = first + sizeof word->after - 1;
	return cairn_stack_is_readable(first) && cairn_stack_is_readable(last) &&
	       memcmp((const void *)first, &word->after, sizeof word->after) == 0;
}

/* The Nth block, if its words may lead to it; NULL otherwise. */
static const struct cairn_inside_block *active(uint32_t n)
{
	const struct cairn_inside_block *block = (const void *)cairn_inside.blocks[n].address;
	uint64_t state = atomic_load(&cairn_inside.blocks[n].state);
	return state == CAIRN_INSIDE_WRITING || (state == CAIRN_INSIDE_ON && is_loaded(block)) ? block : NULL;
}

bool cairn_inside_counts(uintptr_t address)
{
	bool found = false;
	for (uint32_t n = 0, count = atomic_load(&cairn_inside.count); n < count && !found; n++) {
		const struct cairn_inside_block *block = active(n);
		const struct cairn_inside_function *functions = block ? (const void *)((const char *)block + block->functions.at) : NULL;
		for (uint32_t i = 0; functions && i < block->functions.count && !found; i++)
			found = functions[i].function == address;
	}
	return found;
}

bool cairn_inside_has(uintptr_t address)
{
	bool found = false;
	for (uint32_t n = 0, count = atomic_load(&cairn_inside.count); n < count && !found; n++) {
		const struct cairn_inside_block *block = active(n);
		const struct cairn_inside_range *ranges = block ? (const void *)((const char *)block + block->ranges.at) : NULL;
		for (uint32_t i = 0; ranges && i < block->ranges.count && !found; i++)
			found = address >= ranges[i].start && address < ranges[i].end;
	}
	return found;
}

bool cairn_inside_describe(char *out, size_t size)
{
	size_t length = 0;
	out[0] = 0;
	for (uint32_t n = 0, count = atomic_load(&cairn_inside.count); n < count && length < size; n++) {
		const struct cairn_inside_block *block = active(n);
		if (block)
			length += (size_t)snprintf(out + length, size - length, "%s%s", length ? ", " : "", block->text);
	}
	return length > 0;
}
