/* view.c - modules as the companion's library and the core take them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/core/view.h"

#include "base/text.h"
#include "live/core/frames.h"

#include <stdlib.h>

enum { page = 4096 };

static uint64_t down(uint64_t address)
{
	return address & ~(uint64_t)(page - 1);
}

static void set_build_id(struct cairn_beside_module *to, const char *digits)
{
	for (; digits[0] && digits[1] && to->id_length < sizeof to->build_id; digits += 2)
		to->build_id[to->id_length++] = (uint8_t)(cairn_text_hex_digit(digits[0]) << 4 | cairn_text_hex_digit(digits[1]));
}

static void see_module(const struct cairn_core *core, const struct cairn_subject_module *module, cairn_beside_see *see, void *to)
{
	struct cairn_beside_module seen = {.path = module->path, .start = module->start, .end = module->end, .unwind_header = module->unwind_header};
	for (int i = 0; i < CAIRN_CORE_FRAMES && !seen.unwind_header; i++)
		if (core->frames[i].module == module->start)
			seen.unwind_header = core->frames[i].header;
	seen.image_start = seen.unwind_header && seen.unwind_header < seen.start ? seen.unwind_header : seen.start;
	seen.image_end = seen.unwind_header >= seen.end ? seen.unwind_header + cairn_core_frames_size(module) : seen.end;
	set_build_id(&seen, module->elf->build_id);
	for (size_t i = 0; i < module->elf->segment_count && seen.range_count < CAIRN_BESIDE_RANGES; i++) {
		const struct cairn_elf_segment *segment = &module->elf->segments[i];
		if (!segment->executable)
			continue;
		seen.ranges[seen.range_count].start = down(module->bias + segment->address);
		seen.ranges[seen.range_count].end = down(module->bias + segment->address + segment->memory_size + page - 1);
		seen.ranges[seen.range_count++].offset = down(segment->offset);
	}
	see(to, &seen);
}

/* What has no file: only stacks that pass through it need it. */
static void see_nameless(const struct cairn_elf *elf, uint64_t start, uint64_t end, cairn_beside_see *see, void *to)
{
	const struct cairn_elf_section *header = cairn_elf_section(elf, ".eh_frame_hdr");
	if (header)
		see(to, &(struct cairn_beside_module){.path = "",
						      .start = start,
						      .end = end,
						      .image_start = start,
						      .image_end = end,
						      .unwind_header = start + header->address});
}

void cairn_view_list(const struct cairn_placed *placed, cairn_beside_see *see, void *to)
{
	struct cairn_subject now;
	struct cairn_core core;
	if (!cairn_placed_read(placed, &core))
		return;
	if (!cairn_subject_open(&now, placed->subject->pid, NULL)) {
		cairn_subject_close(&now);
		return;
	}
	for (size_t i = 0; i < now.count; i++)
		if (now.modules[i].elf)
			see_module(&core, &now.modules[i], see, to);
	cairn_subject_close(&now);
	see_nameless(placed->image.elf, placed->base, placed->base + placed->image.code_size, see, to);
	size_t size = placed->vdso_end - placed->vdso;
	char *vdso = size ? malloc(size) : NULL;
	struct cairn_elf *elf = vdso && cairn_subject_read(placed->subject, placed->vdso, vdso, size) == size
					? cairn_elf_open_bytes((struct cairn_bytes){vdso, size}, "the vdso", NULL)
					: NULL;
	if (elf)
		see_nameless(elf, placed->vdso, placed->vdso_end, see, to);
	cairn_elf_close(elf);
	free(vdso);
}
