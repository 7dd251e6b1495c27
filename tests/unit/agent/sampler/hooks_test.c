/* hooks_test.c - what the hooks replace is what the one list of allocator functions names, and the reverse.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/hooks.h"

#include "protocol/allocating.h"
#include "symbol/allocator.h"
#include "symbol/family_row.h"
#include "tap.h"

static bool is_hooked(const char *name)
{
	for (size_t i = 0; i < cairn_hook_entry_count; i++)
		if (strcmp(cairn_hook_entries[i].name, name) == 0)
			return true;
	return false;
}

int main(void)
{
	static const struct {
		const char *name;
		enum cairn_family_group group;
	} list[] = {
#define ROW(name, group, ...) {#name, CAIRN_GROUP_##group},
		CAIRN_ALLOCATING(ROW)
	};
	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		const char *name = list[i].name;
		ok(i == 0 || strcmp(list[i - 1].name, name) < 0, "%s comes after the name before it", name);
		ok(cairn_allocator_is_common(name), "%s is found among the sorted names", name);
		/* No library on Linux has reallocf. */
		bool hooked = list[i].group != CAIRN_GROUP_OTHER && strcmp(name, "reallocf") != 0;
		ok(is_hooked(name) == hooked, "%s has %s hook", name, hooked ? "a" : "no");
	}
	for (size_t i = 0; i < cairn_hook_entry_count; i++) {
		const struct cairn_hook_entry *entry = &cairn_hook_entries[i];
		if (!entry->of_loader && !entry->of_mappings)
			ok(cairn_family_row(entry->name, strlen(entry->name), CAIRN_GROUP_C, CAIRN_GROUP_RUST) != NULL,
			   "%s, which has a hook, is also counted inside programs", entry->name);
	}
	return tap_done();
}
