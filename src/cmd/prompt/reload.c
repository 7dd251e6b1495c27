/* reload.c - keeps the profiles of recent options.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/prompt/reload.h"

#include "live/target.h"

#include <sys/stat.h>

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_list(const struct cairn_option_list *a, const struct cairn_option_list *b)
{
	bool same = a->count == b->count;
	for (size_t i = 0; same && i < a->count; i++)
		same = same_text(a->items[i], b->items[i]);
	return same;
}

/* Whether A and B produce the same profile; only in folded text are two columns one. */
static bool same_options(const struct cairn_source_options *a, const struct cairn_source_options *b, const struct cairn_profile *profile)
{
	bool has_columns = cairn_profile_find_value(profile, "before") != CAIRN_NONE;
	return a->sum == b->sum && same_list(&a->base, &b->base) && a->normalize == b->normalize && same_text(a->thread, b->thread) &&
	       same_text(a->older, b->older) && same_text(a->younger, b->younger) && a->split_ages == b->split_ages &&
	       a->split_sizes == b->split_sizes && a->every_kind == b->every_kind &&
	       memcmp(a->shows, b->shows, sizeof a->shows) == 0 && same_text(a->mappings, b->mappings) &&
	       a->with_freed == b->with_freed && a->all_values == b->all_values &&
	       a->split_threads == b->split_threads && (!has_columns || a->columns_compare == b->columns_compare) &&
	       same_list(&a->binary, &b->binary) && same_list(&a->symbols, &b->symbols) && same_text(a->sysroot, b->sysroot) &&
	       a->debuginfod == b->debuginfod && a->no_symbols == b->no_symbols;
}

static const char *keep_text(struct cairn_arena *arena, const char *text)
{
	return text ? cairn_arena_text(arena, cairn_bytes_of(text)) : NULL;
}

static void keep_list(struct cairn_arena *arena, struct cairn_option_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		list->items[i] = keep_text(arena, list->items[i]);
}

static void release(struct cairn_reload_slot *slot)
{
	if (slot->used)
		cairn_profile_free(&slot->profile);
	cairn_arena_free(&slot->arena);
	*slot = (struct cairn_reload_slot){0};
}

static bool refuse_once_read(const struct cairn_reload *reload, struct cairn_error *error)
{
	struct stat status;
	for (int i = 0; i < reload->count; i++)
		if (stat(reload->names[i], &status) == 0 ? !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)
							 : strcmp(reload->names[i], "-") == 0 || cairn_target_is(reload->names[i]))
			return cairn_fail(error, "%s cannot be read twice; restart the shell with that option, or open a file",
					  reload->names[i]);
	return reload->count > 0 || cairn_fail(error, "the profile cannot be read again; restart the shell with that option");
}

const struct cairn_profile *cairn_reload_get(struct cairn_reload *reload, const struct cairn_source_options *options,
					     struct cairn_error *error)
{
	if (same_options(options, &reload->first_options, reload->first))
		return reload->first;
	for (unsigned i = 0; i < CAIRN_RELOAD_MOST; i++)
		if (reload->slots[i].used && same_options(options, &reload->slots[i].options, reload->first)) {
			reload->next = (i + 1) % CAIRN_RELOAD_MOST;
			return &reload->slots[i].profile;
		}
	if (!refuse_once_read(reload, error))
		return NULL;
	struct cairn_reload_slot *slot = &reload->slots[reload->next];
	release(slot);
	slot->used = true;
	slot->options = *options;
	slot->options.quiet = true; /* what cannot be named was said the first time */
	keep_list(&slot->arena, &slot->options.base);
	keep_list(&slot->arena, &slot->options.binary);
	keep_list(&slot->arena, &slot->options.symbols);
	slot->options.thread = keep_text(&slot->arena, options->thread);
	slot->options.older = keep_text(&slot->arena, options->older);
	slot->options.younger = keep_text(&slot->arena, options->younger);
	slot->options.mappings = keep_text(&slot->arena, options->mappings);
	slot->options.sysroot = keep_text(&slot->arena, options->sysroot);
	if (!cairn_source_load(&slot->profile, &slot->options, reload->count, reload->names, error)) {
		release(slot);
		return NULL;
	}
	reload->next = (reload->next + 1) % CAIRN_RELOAD_MOST;
	return &slot->profile;
}

void cairn_reload_free(struct cairn_reload *reload)
{
	for (unsigned i = 0; i < CAIRN_RELOAD_MOST; i++)
		release(&reload->slots[i]);
}
