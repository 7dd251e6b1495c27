/* fit_test.c - maps of processes against the code of files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/fit.h"

#include "tap.h"

#include <elf.h>

static char why[200];

/* How mappings, OFFSET and LENGTH in pairs up to a zero length, fit a file of MACHINE whose code is LENGTH bytes at OFFSET. */
static enum cairn_fit fit(uint16_t machine, uint64_t offset, uint64_t length, const uint64_t *mapped)
{
	struct cairn_profile profile;
	struct cairn_elf_segment segments[] = {
		{.offset = 0, .address = 0, .file_size = 0x600, .memory_size = 0x600},
		{.offset = offset, .address = offset, .file_size = length, .memory_size = 0x100000, .executable = true},
	};
	struct cairn_identity identity = {.machine = machine, .segments = segments, .segment_count = 2};
	cairn_profile_init(&profile);
	uint32_t module = cairn_profile_add_module(&profile, cairn_profile_text(&profile, "/bin/program"), 0);
	uint32_t other = cairn_profile_add_module(&profile, cairn_profile_text(&profile, "/lib/other.so"), 0);
	cairn_profile_add_mapping(&profile, &(struct cairn_mapping){.start = 0x7000000, .limit = 0x7001000, .offset = 0x99000,
		.module = other});
	for (uint64_t start = 0x400000; mapped[1]; start += mapped[1], mapped += 2)
		cairn_profile_add_mapping(&profile, &(struct cairn_mapping){.start = start, .limit = start + mapped[1],
			.offset = mapped[0], .module = module});
	why[0] = '\0';
	enum cairn_fit result = cairn_fit(&profile, module, &identity, why, sizeof why);
	cairn_profile_free(&profile);
	return result;
}
#define MAPS(...) ((const uint64_t[]){__VA_ARGS__, 0, 0})

int main(void)
{
	is_int(fit(EM_X86_64, 0x1000, 0x2345, MAPS(0x1000, 0x3000)), CAIRN_FIT_GOOD, "as much as the file has, in whole pages");
	is_int(fit(EM_X86_64, 0x1780, 0x2345, MAPS(0x1000, 0x3000)), CAIRN_FIT_GOOD, "from the page it begins in");
	is_int(fit(EM_X86_64, 0x1000, 0x2345, MAPS(0x1000, 0x4000)), CAIRN_FIT_BAD, "a page more than the file has");
	like_text(why, "0x1000 to 0x3345 of the file, the process had 0x1000 to 0x5000", "and that is said");
	is_int(fit(EM_X86_64, 0x1000, 0x2345, MAPS(0x2000, 0x3000)), CAIRN_FIT_BAD, "at another place");
	is_int(fit(EM_X86_64, 0x1000, 0x2345, MAPS(0x1000, 0x2000)), CAIRN_FIT_DOUBT, "a page less: the program may have mapped it anew");
	is_int(fit(EM_X86_64, 0x1000, 0x2345, MAPS(0x1000, 0x1000, 0x2000, 0x2000)), CAIRN_FIT_GOOD, "in two pieces");
	is_int(fit(EM_X86_64, 0x1000, 0x2345, MAPS(0x1000, 0x3000, 0x1000, 0x3000)), CAIRN_FIT_GOOD, "twice");
	is_int(fit(EM_X86_64, 0x1000, 0, MAPS(0x1000, 0x3000)), CAIRN_FIT_UNKNOWN, "a debug file has no code to compare");
	is_int(fit(EM_X86_64, 0x1000, 0x2345, MAPS(0, 0x3000)), CAIRN_FIT_UNKNOWN, "a map without offsets");
	is_int(fit(EM_X86_64, 0x1000, 0x2345, MAPS(0x1000, 0x2345)), CAIRN_FIT_UNKNOWN, "or of no whole pages");
	is_int(fit(EM_X86_64, 0, 0x2345, MAPS(0, 0x3000)), CAIRN_FIT_GOOD, "code that is at the start of the file");
	is_int(fit(EM_AARCH64, 0x10780, 0x2345, MAPS(0x10000, 0x10000)), CAIRN_FIT_GOOD, "pages of 64 KiB");
	is_int(fit(EM_X86_64, 0x10780, 0x2345, MAPS(0x10000, 0x10000)), CAIRN_FIT_BAD, "which some machines do not have");
	is_int(fit(EM_X86_64, UINT64_MAX - 10, 0x2345, MAPS(0x1000, 0x3000)), CAIRN_FIT_UNKNOWN, "a segment past the end of all files");
	return tap_done();
}
