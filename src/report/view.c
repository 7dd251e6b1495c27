/* view.c - chooses the value, and names what is shown.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/view.h"

#include "base/array.h"
#include "base/path.h"
#include "base/text.h"
#include "base/utf8.h"
#include "profile/kind.h"
#include "profile/spread.h"
#include "symbol/allocator.h"
#include "symbol/shorten.h"

#include <assert.h>
#include <stdlib.h>

bool cairn_view_choose(const struct cairn_profile *profile, const struct cairn_view_options *options, uint32_t *value,
		       struct cairn_error *error)
{
	*value = profile->default_value;
	static const char *const metrics[] = {NULL, "inuse_space", "inuse_objects", "alloc_space", "alloc_objects"};
	const char *wanted = options->value ? options->value : metrics[options->metric];
	if (!wanted && options->alloc)
		wanted = options->objects ? "alloc_objects" : "alloc_space";
	if (!wanted && options->objects)
		wanted = "inuse_objects";
	if (!wanted)
		return true;
	*value = cairn_profile_find_value(profile, wanted);
	if (*value != CAIRN_NONE)
		return true;
	bool allocated = cairn_value_is_allocated(cairn_value_kind(cairn_bytes_of(wanted)));
	if (allocated && profile->allocated == CAIRN_ALLOCATED_ACCUM)
		return cairn_fail(error, "the profile has no %s: jemalloc counts what was freed only with prof_accum:true in MALLOC_CONF",
				  wanted);
	if (allocated && profile->allocated == CAIRN_ALLOCATED_BY_PATH)
		return cairn_fail_usage(error,
					"Cairn's engine knows %s by call path only: neither --thread, --older, --younger nor an option that "
					"shows another value, such as --peak, goes with it",
					wanted);
	struct cairn_buffer known = cairn_buffer(200);
	for (uint32_t i = 0; i < profile->value_count; i++)
		cairn_buffer_format(&known, "%s%s", i ? ", " : "", cairn_profile_string(profile, profile->value_types[i].type));
	cairn_fail_usage(error, "the profile has no %s; it has %.*s", wanted, (int)known.length, known.data);
	cairn_buffer_free(&known);
	return false;
}

/* Names come from untrusted input and go to terminals: unprintable characters become question marks. Other bytes that are not UTF-8 stay,
 * and each format writes them as it must. */
static void clean(struct cairn_buffer *name)
{
	for (size_t i = 0, length; i < name->length; i += length) {
		length = 1;
		if (name->data[i] >= ' ' && name->data[i] < 0x7f)
			continue;
		struct cairn_bytes rest = cairn_bytes_skip(cairn_buffer_bytes(name), i);
		size_t whole = cairn_utf8_length(rest);
		if (cairn_utf8_printable(rest))
			length = whole;
		else if (whole > 0)
			memset(name->data + i, '?', length = whole);
		else if ((unsigned char)name->data[i] < 0xa0)
			name->data[i] = '?';
	}
}

static uint32_t add_entry(struct cairn_view *view, struct cairn_buffer *name, uint32_t function, uint32_t line, uint32_t location)
{
	clean(name);
	uint32_t id = cairn_strings_add(&view->names, cairn_buffer_bytes(name));
	uint64_t hash = cairn_hash_mix(id);
	size_t position = 0;
	uint32_t entry;
	while ((entry = cairn_index_next(&view->entry_index, hash, &position)) != CAIRN_NONE)
		if (view->entries[entry].name == id)
			return entry;
	cairn_array_room(view->entries, view->entry_count, view->entry_capacity);
	entry = (uint32_t)view->entry_count++;
	view->entries[entry] = (struct cairn_entry){id, function, line, location};
	cairn_index_add(&view->entry_index, hash, entry);
	return entry;
}

void cairn_view_place(const struct cairn_view *view, const struct cairn_location *location, struct cairn_buffer *out)
{
	const struct cairn_profile *profile = view->profile;
	const struct cairn_module *module = cairn_profile_module(profile, location);
	if (module && module->path && view->options.granularity == CAIRN_BY_FILE)
		cairn_buffer_text(out, cairn_base_name(cairn_profile_string(profile, module->path)));
	else
		cairn_profile_place(profile, location, out);
}

static void file_and_line(const struct cairn_profile *profile, uint32_t file, uint32_t line, struct cairn_buffer *out)
{
	cairn_buffer_text(out, file ? cairn_profile_string(profile, file) : "??");
	if (line) {
		cairn_buffer_byte(out, ':');
		cairn_buffer_number(out, line);
	}
}

/* The short form of a demangled name, made once for each function. Other names are shown as they are. */
const char *cairn_view_function(struct cairn_view *view, uint32_t id)
{
	const struct cairn_profile *profile = view->profile;
	const struct cairn_function *function = &profile->functions[id];
	const char *name = cairn_profile_string(profile, function->name);
	if (view->options.full_names || !function->system_name || function->system_name == function->name)
		return name;
	if (!view->short_names)
		view->short_names = cairn_arena_zero(&view->arena, profile->function_count, sizeof *view->short_names);
	if (!view->short_names[id])
		view->short_names[id] = cairn_name_shorten(&view->arena, name);
	return view->short_names[id];
}

static uint32_t name_frame(struct cairn_view *view, uint32_t location_id, uint32_t frame_id, struct cairn_buffer *out)
{
	const struct cairn_profile *profile = view->profile;
	const struct cairn_location *location = &profile->locations[location_id];
	out->length = 0;
	if (view->options.name) {
		view->options.name(view, location_id, frame_id, out);
		const struct cairn_frame named =
			frame_id == CAIRN_NONE ? (struct cairn_frame){.function = CAIRN_NONE} : profile->frames[frame_id];
		return add_entry(view, out, named.function, named.line, location_id);
	}
	if (view->options.granularity == CAIRN_BY_ADDRESS && location->mapping != CAIRN_NONE) {
		cairn_buffer_format(out, "0x%016llx ", (unsigned long long)(location->address + location->is_call));
	}
	if (frame_id == CAIRN_NONE) {
		cairn_view_place(view, location, out);
		return add_entry(view, out, CAIRN_NONE, 0, location_id);
	}
	const struct cairn_frame *frame = &profile->frames[frame_id];
	const struct cairn_function *function = &profile->functions[frame->function];
	if (view->options.granularity == CAIRN_BY_FILE) {
		cairn_buffer_text(out, function->file ? cairn_profile_string(profile, function->file) : "??");
	} else {
		cairn_buffer_text(out, cairn_view_function(view, frame->function));
		if (view->options.granularity == CAIRN_BY_LINE || (view->options.granularity == CAIRN_BY_ADDRESS && function->file)) {
			cairn_buffer_byte(out, ' ');
			file_and_line(profile, function->file, frame->line, out);
		}
	}
	return add_entry(view, out, frame->function, frame->line, location_id);
}

/* NAME without its parameters, as pprof compares it. */
static struct cairn_bytes bare_name(struct cairn_bytes name)
{
	static const char *const parts[] = {"(anonymous namespace)", "operator()"};
	cairn_text_take(&name, "."); /* of 64-bit PowerPC */
	for (size_t at = 0; at < name.length; at++) {
		struct cairn_bytes rest = cairn_bytes_skip(name, at);
		for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
			if (cairn_text_take(&rest, parts[i]))
				break;
		if (rest.length < name.length - at)
			at = name.length - rest.length - 1;
		else if (name.data[at] == '(')
			return (struct cairn_bytes){name.data, at};
	}
	return name;
}

/* An expression for names that TEXT matches as a whole; NULL if it is empty or no expression, which pprof ignores, too. */
static struct cairn_pattern *compile_whole(const struct cairn_profile *profile, uint32_t text)
{
	struct cairn_error error;
	struct cairn_buffer whole = cairn_buffer(SIZE_MAX);
	if (!text)
		return NULL;
	cairn_buffer_format(&whole, "^(%s)\\z", cairn_profile_string(profile, text));
	cairn_buffer_byte(&whole, '\0');
	struct cairn_pattern *pattern = cairn_pattern_compile(whole.data, &error);
	cairn_buffer_free(&whole);
	return pattern;
}

/* The functions that the profile's drop_frames name and its keep_frames do not. The caller frees them; NULL if it has no drop_frames. */
static bool *list_dropped(const struct cairn_profile *profile)
{
	struct cairn_pattern *drop = compile_whole(profile, profile->drop_frames);
	if (!drop)
		return NULL;
	struct cairn_pattern *keep = compile_whole(profile, profile->keep_frames);
	bool *dropped = cairn_array_zero(profile->function_count, sizeof *dropped);
	bool gave_up = false; /* on an expression that was made to take long */
	for (size_t i = 0; i < profile->function_count && !gave_up; i++) {
		struct cairn_bytes name = bare_name(cairn_strings_bytes(&profile->strings, profile->functions[i].name));
		dropped[i] = name.length && cairn_pattern_match_foreign(drop, name, &gave_up) &&
			     !(keep && cairn_pattern_match_foreign(keep, name, &gave_up));
	}
	cairn_pattern_free(drop);
	cairn_pattern_free(keep);
	return dropped;
}

/* The state while names are assigned. */
struct naming {
	struct cairn_view *view;
	struct cairn_allocator allocator; /* all zero if no frame belongs to the allocator */
	bool *dropped; /* by function; NULL if none is */
	struct cairn_buffer out;
};

/* The first frame of LOCATION that is not dropped with those inlined into it: beyond the last one if all are. */
static uint32_t skip_dropped(const struct naming *naming, const struct cairn_location *location)
{
	const struct cairn_profile *profile = naming->view->profile;
	uint32_t end = location->first_frame + location->frame_count;
	while (naming->dropped && end > location->first_frame && !naming->dropped[profile->frames[end - 1].function])
		end--;
	return naming->dropped ? end : location->first_frame;
}

static uint8_t allocator_kind(const struct naming *naming, uint32_t location, uint32_t frame)
{
	return (uint8_t)(naming->allocator.profile ? cairn_allocator_frame(&naming->allocator, location, frame) : CAIRN_ALLOCATOR_NOT);
}

static void add_slot(struct naming *naming, uint32_t location, uint32_t frame, bool inlined)
{
	struct cairn_view *view = naming->view;
	cairn_array_room(view->slots, view->slot_count, view->slot_capacity);
	view->slots[view->slot_count++] = (struct cairn_slot){
		.entry = name_frame(view, location, frame, &naming->out),
		.frame = frame,
		.inlined = inlined,
		.allocator = allocator_kind(naming, location, frame),
	};
}

static void add_slots(struct naming *naming, uint32_t id)
{
	const struct cairn_location *location = &naming->view->profile->locations[id];
	uint32_t first = skip_dropped(naming, location), last = location->first_frame + location->frame_count - 1;
	if (first > location->first_frame)
		naming->view->dropped[id] = first > last ? CAIRN_DROPPED_ALL : CAIRN_DROPPED_INNER;
	if (first > last)
		first = location->first_frame; /* shown in stacks that have nothing else */
	if (location->frame_count == 0) {
		add_slot(naming, id, CAIRN_NONE, false);
	} else if (naming->view->options.granularity == CAIRN_BY_ADDRESS) {
		/* One row for each address, named by the innermost function that is not the allocator's. */
		while (first < last && allocator_kind(naming, id, first) >= CAIRN_ALLOCATOR_WRAPPER)
			first++;
		add_slot(naming, id, naming->view->options.no_inlines ? last : first, false);
	} else {
		for (uint32_t frame = naming->view->options.no_inlines ? last : first; frame <= last; frame++)
			add_slot(naming, id, frame, frame < last);
	}
}

static void name_locations(struct cairn_view *view)
{
	const struct cairn_profile *profile = view->profile;
	struct naming naming = {.view = view, .out = cairn_buffer(1 << 20)};
	if (!view->options.all_frames && (profile->kind == CAIRN_PROFILE_HEAP || profile->kind == CAIRN_PROFILE_GROWTH))
		cairn_allocator_learn(&naming.allocator, profile);
	const struct cairn_view_options *options = &view->options;
	if (naming.allocator.profile && (options->fold_wrappers || options->wrappers) && !options->keep_wrappers)
		cairn_allocator_fold(&naming.allocator, options->wrappers);
	if (!options->all_frames && (naming.dropped = list_dropped(profile)))
		view->dropped = cairn_array_zero(profile->location_count, sizeof *view->dropped);
	view->first = cairn_array_new(profile->location_count + 1, sizeof *view->first);
	for (size_t i = 0; i < profile->location_count; i++) {
		view->first[i] = (uint32_t)view->slot_count;
		add_slots(&naming, (uint32_t)i);
	}
	view->first[profile->location_count] = (uint32_t)view->slot_count;
	free(naming.dropped);
	cairn_buffer_free(&naming.out);
	if (naming.allocator.profile)
		cairn_allocator_free(&naming.allocator);
}

static size_t deepest_stack(const struct cairn_view *view)
{
	const struct cairn_profile *profile = view->profile;
	size_t deepest = 1;
	for (size_t i = 0; i < view->sample_count; i++) {
		const struct cairn_sample *sample = &profile->samples[view->samples[i]];
		size_t depth = 0;
		for (uint32_t d = 0; d < sample->depth; d++) {
			uint32_t location = profile->stacks[sample->stack + d];
			depth += view->first[location + 1] - view->first[location];
		}
		if (depth > deepest)
			deepest = depth;
	}
	return deepest;
}

struct cairn_spread cairn_view_spread(const struct cairn_view *view, size_t sample)
{
	return cairn_profile_spread(view->profile, view->samples[sample], view->value, view->partner, view->turnover);
}

struct cairn_interval cairn_view_interval(const struct cairn_view *view, double value, struct cairn_spread spread)
{
	return view->profile->base ? cairn_spread_change(value, spread) : cairn_spread_interval(value, spread);
}

/* As in pprof, the percentages of a difference that it saved are of the base, whose samples are marked. */
static void add_up(struct cairn_view *view, double *total, double *whole)
{
	const struct cairn_profile *profile = view->profile;
	bool marks = cairn_strings_find(&profile->strings, cairn_bytes_of("pprof::base")) != CAIRN_NONE;
	double base = 0;
	*total = *whole = 0;
	for (size_t i = 0; i < view->sample_count; i++) {
		*total += cairn_view_value(view, i);
		*whole += fabs(cairn_view_value(view, i));
		if (marks && cairn_profile_is_diff_base(profile, profile->samples[view->samples[i]].labels))
			base += fabs(cairn_view_value(view, i));
	}
	if (base > 0)
		*whole = base;
}

static void take_samples(struct cairn_view *view)
{
	const struct cairn_profile *profile = view->profile;
	view->samples = cairn_array_new(profile->sample_count + 1, sizeof *view->samples);
	for (size_t i = 0; i < profile->sample_count; i++)
		if (!view->options.drop_negative || cairn_profile_values(profile, i)[view->value] >= 0)
			view->samples[view->sample_count++] = (uint32_t)i;
}

bool cairn_view_make(struct cairn_view *view, const struct cairn_profile *profile, const struct cairn_view_options *options,
		     struct cairn_error *error)
{
	*view = (struct cairn_view){.profile = profile, .options = *options};
	if (!cairn_view_choose(profile, options, &view->value, error))
		return false;
	view->partner = cairn_profile_partner(profile, view->value);
	view->objects = cairn_view_in_bytes(view) ? view->partner : CAIRN_NONE;
	view->knows_errors = cairn_profile_knows_errors(profile, view->value);
	view->by_path = profile->allocated == CAIRN_ALLOCATED_BY_PATH &&
			cairn_value_is_allocated(cairn_profile_value_kind(profile, view->value));
	view->turnover = cairn_profile_turnover(profile, view->value);
	name_locations(view);
	take_samples(view);
	add_up(view, &view->total, &view->whole);
	size_t deepest = deepest_stack(view);
	view->stack = cairn_array_new(deepest, sizeof *view->stack);
	view->inlined = cairn_array_new(deepest, sizeof *view->inlined);
	view->locations = cairn_array_new(deepest, sizeof *view->locations);
	if (!cairn_filter_view(view, error))
		return false;
	double whole;
	add_up(view, &view->shown, &whole);
	if (options->relative_percentages) {
		view->total = view->shown;
		view->whole = whole;
	}
	return true;
}

void cairn_view_free(struct cairn_view *view)
{
	cairn_strings_free(&view->names);
	cairn_arena_free(&view->arena);
	cairn_index_free(&view->entry_index);
	free(view->entries);
	free(view->first);
	free(view->dropped);
	free(view->slots);
	free(view->inlined);
	free(view->locations);
	free(view->samples);
	free(view->stack);
	*view = (struct cairn_view){0};
}

/* As in pprof, frames at the root do not count until one comes that is not dropped: something has to be left. */
uint32_t cairn_view_start(const struct cairn_view *view, const struct cairn_sample *sample)
{
	bool is_left = false;
	for (uint32_t d = view->dropped ? sample->depth : 0; d-- > 0;) {
		uint8_t dropped = view->dropped[view->profile->stacks[sample->stack + d]];
		if (is_left && dropped != CAIRN_DROPPED_NOT)
			return dropped == CAIRN_DROPPED_ALL ? d + 1 : d;
		is_left |= dropped == CAIRN_DROPPED_NOT;
	}
	return 0;
}

const uint32_t *cairn_view_stack(struct cairn_view *view, size_t sample, size_t *depth)
{
	assert(sample < view->sample_count);
	const struct cairn_profile *profile = view->profile;
	const struct cairn_sample *at = &profile->samples[view->samples[sample]];
	const struct cairn_slot *cut = NULL;
	uint32_t cut_location = CAIRN_NONE;
	struct cairn_allocator_walk walk = {0};
	size_t count = 0, root = 0;
	for (uint32_t d = cairn_view_start(view, at); d < at->depth; d++) {
		uint32_t location = profile->stacks[at->stack + d];
		for (uint32_t s = view->first[location]; s < view->first[location + 1]; s++) {
			const struct cairn_slot *slot = &view->slots[s];
			enum cairn_allocator_cut cuts = cairn_allocator_step(&walk, slot->allocator);
			if (cuts != CAIRN_CUT_NOTHING)
				count = root = 0;
			if (cuts == CAIRN_CUT_THROUGH) {
				cut = slot;
				cut_location = location;
				continue;
			}
			view->inlined[count] = slot->inlined;
			view->locations[count] = location;
			view->stack[count++] = slot->entry;
			if (slot->root)
				root = count;
		}
	}
	view->folded = cut && count > 0 && cut->allocator == CAIRN_ALLOCATOR_WRAPPER ? cut->entry : CAIRN_NONE;
	if (count == 0 && cut && !view->drops) {
		view->inlined[0] = false;
		view->locations[0] = cut_location;
		view->stack[count++] = cut->entry;
	}
	*depth = view->cuts_roots ? root : count;
	return view->stack;
}

void cairn_view_drop(struct cairn_view *view, const bool *dropped)
{
	uint32_t to = 0;
	for (size_t location = 0; location < view->profile->location_count; location++) {
		uint32_t from = view->first[location], end = view->first[location + 1];
		view->first[location] = to;
		for (; from < end && !dropped[location]; from++)
			view->slots[to++] = view->slots[from];
	}
	view->first[view->profile->location_count] = to;
	view->slot_count = to;
	view->drops = true;
	size_t kept = 0, depth;
	for (size_t i = 0; i < view->sample_count; i++)
		if (cairn_view_stack(view, i, &depth), depth > 0)
			view->samples[kept++] = view->samples[i];
	view->sample_count = kept;
}

bool cairn_view_match(struct cairn_view *view, uint32_t function, const struct cairn_pattern *pattern)
{
	const struct cairn_profile *profile = view->profile;
	return function != CAIRN_NONE &&
	       (cairn_pattern_match(pattern, cairn_bytes_of(cairn_view_function(view, function))) ||
		cairn_pattern_match(pattern, cairn_strings_bytes(&profile->strings, profile->functions[function].name)));
}

static bool is_unit(const struct cairn_view *view, const char *unit)
{
	return strcmp(cairn_profile_string(view->profile, view->profile->value_types[view->value].unit), unit) == 0;
}

bool cairn_view_in_bytes(const struct cairn_view *view)
{
	return is_unit(view, "bytes");
}

bool cairn_view_in_time(const struct cairn_view *view)
{
	return is_unit(view, "nanoseconds");
}

double cairn_view_unnamed(struct cairn_view *view)
{
	double unnamed = 0;
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		if (depth == 0 || view->entries[stack[0]].function == CAIRN_NONE)
			unnamed += cairn_view_value(view, i);
	}
	return unnamed;
}
