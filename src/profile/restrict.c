/* restrict.c - replaces the modules of a profile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/restrict.h"

#include "base/buffer.h"
#include "base/path.h"
#include "profile/maps.h"
#include "profile/origin.h"

static void read_list(struct cairn_profile *own, struct cairn_bytes list)
{
	struct cairn_trailer trailer;
	cairn_profile_init(own);
	cairn_maps_read(own, list);
	if (cairn_trailer_read(list, &trailer))
		cairn_profile_take_build_ids(own, &trailer);
}

static const struct cairn_module *find(const struct cairn_profile *own, struct cairn_bytes build_id, struct cairn_bytes path)
{
	for (size_t i = 0; i < own->module_count; i++) {
		struct cairn_bytes own_path = cairn_strings_bytes(&own->strings, own->modules[i].path);
		struct cairn_bytes own_id = cairn_strings_bytes(&own->strings, own->modules[i].build_id);
		if (own_path.length > 0 && own_path.data[0] == '/' &&
		    (build_id.length > 0 ? cairn_bytes_equal(own_id, build_id) : cairn_bytes_equal(own_path, path)))
			return &own->modules[i];
	}
	return NULL;
}

/* The name in brackets, like the kernel's names for memory without a file. */
static uint32_t name_without_file(struct cairn_profile *profile, struct cairn_bytes path)
{
	struct cairn_bytes last = cairn_path_base(path);
	struct cairn_buffer name = cairn_buffer(SIZE_MAX);
	bool bracketed = last.length > 0 && last.data[0] == '[';
	cairn_buffer_text(&name, bracketed ? "" : "[");
	cairn_buffer_append(&name, last.data, last.length);
	cairn_buffer_text(&name, bracketed ? "" : "]");
	uint32_t id = cairn_strings_add(&profile->strings, cairn_buffer_bytes(&name));
	cairn_buffer_free(&name);
	return id;
}

void cairn_profile_restrict(struct cairn_profile *profile, struct cairn_bytes list)
{
	struct cairn_profile own;
	read_list(&own, list);
	profile->facts.process_id = 0; /* otherwise, a live process with that PID would be searched for files */
	for (size_t i = 0; i < profile->module_count; i++) {
		struct cairn_module *module = &profile->modules[i];
		struct cairn_bytes path = cairn_strings_bytes(&profile->strings, module->path);
		const struct cairn_module *known = find(&own, cairn_strings_bytes(&profile->strings, module->build_id), path);
		if (known) {
			module->path = cairn_strings_add(&profile->strings, cairn_strings_bytes(&own.strings, known->path));
			module->build_id = cairn_strings_add(&profile->strings, cairn_strings_bytes(&own.strings, known->build_id));
			module->deleted = known->deleted;
		} else {
			module->path = path.length > 0 ? name_without_file(profile, path) : 0;
			module->build_id = 0;
		}
	}
	cairn_profile_free(&own);
}
