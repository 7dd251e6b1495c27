/* ledger_heap.c - writes live samples, sorted by stack and thread, as lines.
 *
 * jeprof un-samples each line with the header's period and the line's mean size. Samples here have different periods, and sizes that
 * differ within a line, so they are un-sampled one by one and added up, and the sum is converted back for a period of one byte, the
 * smallest there is: jeprof then computes the same sum, to one part in 10^5 even for objects of one byte.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/ledger_heap.h"

#include "base/exponential.h"
#include "base/pages.h"
#include "base/sort.h"

enum { sections_maximum = 256 << 20 };

/* An estimate of objects and bytes, and the number of samples it is based on. */
struct sum {
	double objects, bytes;
	uint64_t samples;
};

/* A thread of the ledger, with the sum of its samples. One whose number in the kernel is unknown has 0. */
struct thread {
	uint32_t id, place;
	int64_t birth_ns;
	struct sum sum;
};

struct writer {
	const struct cairn_ledger *ledger;
	struct cairn_buffer *out;
	struct cairn_buffer *sections;
	struct cairn_ledger_sample *live; /* in the order of their stacks */
	size_t live_count, live_room;
	uint32_t *starts; /* for each stack, the index of its first sample in `live`; one more at the end */
	uint64_t frames_left, overlapping; /* how many frames the stacks may still have, and how many stacks would have had more */
	size_t nameless;  /* samples at the beginning of `live` that have no stack, or none any more */
	struct thread *threads; /* one for each of the ledger; when samples are collected, in the order of their numbers */
	struct cairn_ledger_peak *peaks; /* one for each stack */
	struct cairn_ledger_mapping *mappings; /* in the order of their stacks */
	size_t mapping_count, mapping_at;      /* `mapping_at` is the first mapping of the stacks that are still to be written */
	int64_t now_ns;
	struct cairn_ledger_witness witness;
};

static void add(struct sum *sum, double objects, double bytes)
{
	sum->objects += objects;
	sum->bytes += bytes;
	sum->samples++;
}

static void add_sample(struct sum *sum, const struct cairn_ledger_sample *sample)
{
	double objects = (double)sample->objects / CAIRN_LEDGER_OBJECT;
	add(sum, objects, objects * (double)sample->size);
}

static uint64_t whole(double value)
{
	return value > 0 ? value < 0x1p62 ? (uint64_t)(value + 0.5) : (uint64_t)1 << 62 : 0;
}

/* Writes OBJECTS and BYTES as in a dump with period 1. */
static void write_pair(struct cairn_buffer *out, double objects, double bytes)
{
	double chance = objects > 0 ? cairn_exponential_chance(bytes / objects) : 1;
	uint64_t count = whole(objects * chance), size = whole(bytes * chance);
	cairn_buffer_number(out, (int64_t)(count || !size ? count : 1));
	cairn_buffer_text(out, ": ");
	cairn_buffer_number(out, (int64_t)size);
}

static void write_counts(struct cairn_buffer *out, const struct sum *live, double allocated_objects, double allocated_bytes)
{
	write_pair(out, live->objects, live->bytes);
	cairn_buffer_text(out, " [");
	write_pair(out, allocated_objects, allocated_bytes);
	cairn_buffer_text(out, "]");
}

static void write_thread_name(const struct writer *writer, uint32_t place)
{
	struct cairn_ledger_thread thread;
	char name[17];
	if (!cairn_ledger_get_thread(writer->ledger, place, &thread))
		return;
	cairn_ledger_thread_name(&thread, name);
	if (name[0])
		cairn_buffer_byte(writer->out, ' ');
	for (const char *at = name; *at; at++)
		cairn_buffer_byte(writer->out, (unsigned char)*at < ' ' || *at == 127 ? '?' : *at);
}

static void write_thread(const struct writer *writer, uint32_t id, const struct sum *sum)
{
	cairn_buffer_text(writer->out, "  t");
	cairn_buffer_number(writer->out, id);
	cairn_buffer_text(writer->out, ": ");
	write_counts(writer->out, sum, 0, 0);
}

/* The kernel gives numbers out again: of the threads that had one, the newest gives it its name. */
static void write_threads(struct writer *writer)
{
	uint32_t count = cairn_ledger_count(writer->ledger, CAIRN_LEDGER_THREADS);
	for (uint32_t i = 0, next; i < count; i = next) {
		struct sum sum = {0};
		for (next = i; next < count && writer->threads[next].id == writer->threads[i].id; next++) {
			sum.objects += writer->threads[next].sum.objects;
			sum.bytes += writer->threads[next].sum.bytes;
			sum.samples += writer->threads[next].sum.samples;
		}
		if (!sum.samples)
			continue;
		write_thread(writer, writer->threads[i].id, &sum);
		if (writer->threads[i].id)
			write_thread_name(writer, writer->threads[next - 1].place);
		cairn_buffer_byte(writer->out, '\n');
	}
}

static int compare_threads(const void *a, const void *b)
{
	const struct thread *one = a, *other = b;
	if (one->id != other->id)
		return one->id < other->id ? -1 : 1;
	return one->birth_ns < other->birth_ns ? -1 : one->birth_ns > other->birth_ns;
}

static void read_threads(struct writer *writer)
{
	for (uint32_t i = 0; i < cairn_ledger_count(writer->ledger, CAIRN_LEDGER_THREADS); i++) {
		struct cairn_ledger_thread thread;
		bool known = cairn_ledger_get_thread(writer->ledger, i, &thread);
		writer->threads[i] = (struct thread){.id = known ? thread.id : 0, .place = i, .birth_ns = known ? thread.birth_ns : 0};
	}
}

/* The number that the thread at PLACE has in the kernel. */
static uint32_t id_of(const struct writer *writer, uint32_t place)
{
	return place < cairn_ledger_count(writer->ledger, CAIRN_LEDGER_THREADS) ? writer->threads[place].id : 0;
}

static int compare(const void *a, const void *b)
{
	const struct cairn_ledger_sample *one = a, *other = b;
	if (one->stack != other->stack)
		return one->stack < other->stack ? -1 : 1;
	if (one->thread != other->thread)
		return one->thread < other->thread ? -1 : 1;
	return one->birth_ns < other->birth_ns ? -1 : one->birth_ns > other->birth_ns;
}

static size_t starts_size(const struct writer *writer)
{
	return ((size_t)cairn_ledger_count(writer->ledger, CAIRN_LEDGER_STACKS) + 2) * sizeof *writer->starts;
}

static size_t threads_size(const struct writer *writer)
{
	return ((size_t)cairn_ledger_count(writer->ledger, CAIRN_LEDGER_THREADS) + 1) * sizeof *writer->threads;
}

static size_t peaks_size(const struct writer *writer)
{
	return ((size_t)cairn_ledger_count(writer->ledger, CAIRN_LEDGER_STACKS) + 1) * sizeof *writer->peaks;
}

/* Collects what was live at the peak. If a running process reaches a new peak meanwhile, reads it again, a few times at most. */
static void collect_peaks(struct writer *writer)
{
	enum { tries = 4 };
	uint64_t number = cairn_ledger_peak_number(writer->ledger);
	for (int i = 0; i < tries; i++) {
		for (uint32_t k = 0; k < cairn_ledger_count(writer->ledger, CAIRN_LEDGER_STACKS); k++)
			if (!cairn_ledger_get_peak(writer->ledger, k, number, &writer->peaks[k]))
				writer->peaks[k] = (struct cairn_ledger_peak){0};
		uint64_t later = cairn_ledger_peak_number(writer->ledger);
		if (later == number)
			break;
		number = later;
	}
}

static size_t mappings_size(const struct writer *writer)
{
	return ((size_t)writer->ledger->header.mappings.count + 1) * sizeof *writer->mappings;
}

static int compare_mappings(const void *a, const void *b)
{
	const struct cairn_ledger_mapping *one = a, *other = b;
	if (one->stack != other->stack)
		return one->stack < other->stack ? -1 : 1;
	return one->start < other->start ? -1 : one->start > other->start;
}

static void collect_mappings(struct writer *writer)
{
	for (uint32_t i = 0; i < writer->ledger->header.mappings.count; i++) {
		struct cairn_ledger_mapping *mapping = &writer->mappings[writer->mapping_count];
		struct cairn_ledger_stack stack;
		if (!cairn_ledger_get_mapping(writer->ledger, i, mapping))
			continue;
		if (!cairn_ledger_get_stack(writer->ledger, mapping->stack, &stack) ||
		    !cairn_ledger_is_stack_of(stack.hash, mapping->stack_check))
			mapping->stack = 0;
		mapping->thread = id_of(writer, mapping->thread);
		writer->mapping_count++;
	}
	cairn_sort(writer->mappings, writer->mapping_count, sizeof *writer->mappings, compare_mappings);
}

/* Copies the live samples, then sorts them by stack with a counting sort: two passes, whatever their number. */
static bool collect(struct writer *writer, struct cairn_error *error)
{
	uint32_t slots = cairn_ledger_count(writer->ledger, CAIRN_LEDGER_SAMPLES);
	uint32_t stacks = cairn_ledger_count(writer->ledger, CAIRN_LEDGER_STACKS);
	uint32_t threads = cairn_ledger_count(writer->ledger, CAIRN_LEDGER_THREADS);
	writer->live_room = ((size_t)slots + 1) * sizeof *writer->live;
	struct cairn_ledger_sample *copies = cairn_pages_map(writer->live_room);
	writer->live = cairn_pages_map(writer->live_room);
	writer->starts = cairn_pages_map(starts_size(writer));
	writer->threads = cairn_pages_map(threads_size(writer));
	writer->peaks = cairn_pages_map(peaks_size(writer));
	writer->mappings = cairn_pages_map(mappings_size(writer));
	bool good = copies && writer->live && writer->starts && writer->threads && writer->peaks && writer->mappings;
	if (good)
		read_threads(writer);
	if (good)
		collect_mappings(writer);
	if (good && cairn_ledger_peak_number(writer->ledger) >= CAIRN_LEDGER_FIRST_PEAK)
		collect_peaks(writer);
	for (uint32_t i = 0; good && i < slots; i++) {
		struct cairn_ledger_sample *copy = &copies[writer->live_count];
		if (!cairn_ledger_get_sample(writer->ledger, i, copy))
			continue;
		add_sample(&writer->threads[copy->thread < threads ? copy->thread : 0].sum, copy);
		copy->thread = id_of(writer, copy->thread);
		writer->starts[copy->stack + 2]++;
		writer->live_count++;
	}
	for (uint32_t i = 0; good && i < stacks; i++)
		writer->starts[i + 1] += writer->starts[i];
	for (size_t i = 0; good && i < writer->live_count; i++)
		writer->live[writer->starts[copies[i].stack + 1]++] = copies[i];
	for (uint32_t i = 0; good && i < stacks; i++)
		cairn_sort(writer->live + writer->starts[i], writer->starts[i + 1] - writer->starts[i], sizeof *writer->live, compare);
	if (good)
		cairn_sort(writer->threads, threads, sizeof *writer->threads, compare_threads);
	cairn_pages_unmap(copies, writer->live_room);
	return good || cairn_fail_errno(error, "no memory for a dump of the ledger");
}

static void discard(struct writer *writer)
{
	cairn_pages_unmap(writer->live, writer->live_room);
	cairn_pages_unmap(writer->starts, starts_size(writer));
	cairn_pages_unmap(writer->threads, threads_size(writer));
	cairn_pages_unmap(writer->peaks, peaks_size(writer));
	cairn_pages_unmap(writer->mappings, mappings_size(writer));
}

static void write_head(struct writer *writer, const struct sum *all, double allocated_objects, double allocated_bytes)
{
	cairn_buffer_text(writer->out, "heap_v2/1\n  t*: ");
	write_counts(writer->out, all, allocated_objects, allocated_bytes);
	cairn_buffer_byte(writer->out, '\n');
	write_threads(writer);
}

static void write_word(struct cairn_buffer *out, uint64_t value)
{
	cairn_buffer_byte(out, ' ');
	cairn_buffer_number(out, (int64_t)(value & INT64_MAX));
}

/* `# cairn live STACK SIZE SLACK PERIOD THREAD AGE HEAP [FREE REGIONS BYTES]`: the age is in microseconds; the last three describe the slab
 * that contains the object. */
static void write_live(struct writer *writer, size_t stack, const struct cairn_ledger_sample *sample, const struct cairn_ledger_slab *slab)
{
	struct cairn_buffer *out = writer->sections;
	cairn_buffer_text(out, "# cairn live");
	write_word(out, stack);
	write_word(out, sample->size);
	write_word(out, sample->slack);
	write_word(out, sample->period);
	write_word(out, sample->thread);
	write_word(out, writer->now_ns > sample->birth_ns ? ((uint64_t)writer->now_ns - (uint64_t)sample->birth_ns) / 1000 : 0);
	write_word(out, sample->heap);
	if (slab->regions > 0 && slab->free < slab->regions) {
		write_word(out, slab->free);
		write_word(out, slab->regions);
		write_word(out, slab->bytes);
	}
	cairn_buffer_byte(out, '\n');
}

/* A share of pinned memory as a slab of two regions, one of them free, so that who reads slabs needs no other rule. */
static struct cairn_ledger_slab share_of(const struct cairn_ledger_witness *witness, const struct cairn_ledger_sample *sample)
{
	double bytes;
	if (sample->heap != 0 || !witness->find_share(witness->context, sample->address, sample->size + sample->slack, &bytes))
		return (struct cairn_ledger_slab){0};
	return (struct cairn_ledger_slab){.free = 1, .regions = 2, .bytes = 2 * whole(bytes)};
}

/* Writes samples FIRST to END, which belong to one stack. Asks the allocator about many at a time. */
static void write_lives(struct writer *writer, size_t stack, size_t first, size_t end)
{
	enum { batch = 128 };
	const struct cairn_ledger_witness *witness = &writer->witness;
	if (witness->find_share) {
		for (size_t i = first; i < end; i++) {
			struct cairn_ledger_slab slab = share_of(witness, &writer->live[i]);
			write_live(writer, stack, &writer->live[i], &slab);
		}
		return;
	}
	for (size_t next; first < end; first = next) {
		struct cairn_ledger_slab slabs[batch] = {{0}};
		uint64_t addresses[batch];
		size_t count = 0;
		next = end - first < batch ? end : first + batch;
		for (size_t i = first; i < next; i++)
			if (writer->live[i].heap == 0) /* the ids of a custom heap are not addresses */
				addresses[count++] = writer->live[i].address;
		bool known = count > 0 && witness->find_slabs && witness->find_slabs(witness->context, addresses, count, slabs);
		for (size_t i = first, at = 0; i < next; i++) {
			bool has_slab = known && writer->live[i].heap == 0;
			write_live(writer, stack, &writer->live[i], has_slab ? &slabs[at++] : &(struct cairn_ledger_slab){0});
		}
	}
}

/* `# cairn freed STACK SAMPLES OBJECTS BYTES ELSEWHERE [BUCKET:SAMPLES]…` */
static void write_freed(struct writer *writer, size_t number, const struct cairn_ledger_stack *stack)
{
	struct cairn_buffer *out = writer->sections;
	if (!stack->freed_samples)
		return;
	cairn_buffer_text(out, "# cairn freed");
	write_word(out, number);
	write_word(out, stack->freed_samples);
	write_word(out, stack->freed_objects / CAIRN_LEDGER_OBJECT);
	write_word(out, stack->freed_bytes);
	write_word(out, stack->freed_elsewhere);
	for (int i = 0; i < CAIRN_LEDGER_LIFETIMES; i++)
		if (stack->lifetimes[i]) {
			write_word(out, (uint64_t)i);
			cairn_buffer_byte(out, ':');
			cairn_buffer_number(out, stack->lifetimes[i]);
		}
	cairn_buffer_byte(out, '\n');
}

/* `# cairn peak STACK SAMPLES OBJECTS BYTES` */
static void write_peak(struct writer *writer, size_t number, const struct cairn_ledger_peak *peak)
{
	struct cairn_buffer *out = writer->sections;
	if (!peak->samples)
		return;
	cairn_buffer_text(out, "# cairn peak");
	write_word(out, number);
	write_word(out, peak->samples);
	write_word(out, (peak->objects + CAIRN_LEDGER_OBJECT / 2) / CAIRN_LEDGER_OBJECT);
	write_word(out, peak->bytes);
	cairn_buffer_byte(out, '\n');
}

static bool has_mappings(const struct writer *writer, uint32_t index)
{
	return writer->mapping_at < writer->mapping_count && writer->mappings[writer->mapping_at].stack == index;
}

/* `# cairn mapping STACK BYTES THREAD AGE KIND [RESIDENT]`, for each mapping of the stack INDEX: the age is in microseconds; RESIDENT is
 * the resident part, if known. */
static void write_mappings(struct writer *writer, size_t number, uint32_t index, uint64_t hash)
{
	static const char *const kinds[] = {"anonymous", "shared", "file", "reserved", "brk"};
	static_assert(sizeof kinds / sizeof *kinds == CAIRN_LEDGER_MAPPING_KINDS, "every kind has a name");
	struct cairn_buffer *out = writer->sections;
	for (; has_mappings(writer, index); writer->mapping_at++) {
		const struct cairn_ledger_mapping *mapping = &writer->mappings[writer->mapping_at];
		if (index && !cairn_ledger_is_stack_of(hash, mapping->stack_check))
			continue;
		cairn_buffer_text(out, "# cairn mapping");
		write_word(out, number);
		write_word(out, mapping->length);
		write_word(out, mapping->thread);
		write_word(out, writer->now_ns > mapping->birth_ns ? ((uint64_t)writer->now_ns - (uint64_t)mapping->birth_ns) / 1000 : 0);
		cairn_buffer_byte(out, ' ');
		cairn_buffer_text(out, kinds[mapping->kind]);
		uint64_t bytes;
		if (writer->witness.resident && cairn_resident_range(writer->witness.resident, mapping->start, mapping->length, &bytes))
			write_word(out, bytes < mapping->length ? bytes : mapping->length);
		cairn_buffer_byte(out, '\n');
	}
}

/* Writes the ledger's stack INDEX, with the samples FIRST to END, as stack NUMBER of the dump. Returns false, and writes nothing, if the
 * stack was given up meanwhile. */
static bool write_stack(struct writer *writer, size_t number, uint32_t index, const struct cairn_ledger_stack *stack, size_t first,
			size_t end)
{
	struct cairn_buffer *out = writer->out;
	size_t before = out->length;
	cairn_buffer_byte(out, '@');
	for (uint32_t i = 0; i < stack->depth && !out->failed; i++) {
		cairn_buffer_byte(out, ' ');
		cairn_buffer_hex(out, cairn_ledger_frame(writer->ledger, stack, i));
	}
	if (stack->depth == 0)
		cairn_buffer_text(out, " 0x0");
	if (!cairn_ledger_has_stack(writer->ledger, index, stack->hash)) {
		out->length = before;
		return false;
	}
	struct sum all = {0};
	for (size_t i = first; i < end; i++)
		add_sample(&all, &writer->live[i]);
	cairn_buffer_text(out, "\n  t*: ");
	write_counts(out, &all, (double)stack->allocated_objects / CAIRN_LEDGER_OBJECT, (double)stack->allocated_bytes);
	cairn_buffer_byte(out, '\n');
	for (size_t i = first, next; i < end; i = next) {
		struct sum sum = {0};
		for (next = i; next < end && writer->live[next].thread == writer->live[i].thread; next++)
			add_sample(&sum, &writer->live[next]);
		write_thread(writer, writer->live[i].thread, &sum);
		cairn_buffer_byte(out, '\n');
	}
	write_lives(writer, number, first, end);
	write_freed(writer, number, stack);
	if (writer->peaks[index].hash == stack->hash)
		write_peak(writer, number, &writer->peaks[index]);
	write_mappings(writer, number, index, stack->hash);
	return true;
}

/* Moves the samples FIRST to END, whose stack is not there any more, to those that have none. */
static void set_aside(struct writer *writer, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		writer->live[writer->nameless] = writer->live[i];
		writer->live[writer->nameless++].stack = 0;
	}
}

/* Sorts those of the samples FIRST to END first that are of an earlier stack at the place of the one with HASH. Returns the first of the
 * others. */
static size_t divide(struct writer *writer, size_t first, size_t end, uint64_t hash)
{
	size_t strangers = 0;
	for (size_t i = first; i < end; i++)
		if (!cairn_ledger_is_stack_of(hash, writer->live[i].stack_check)) {
			writer->live[i].stack = 0;
			strangers++;
		}
	if (strangers)
		cairn_sort(writer->live + first, end - first, sizeof *writer->live, compare);
	return first + strangers;
}

/* Whether STACK can be what the sampler wrote: forged stacks may be endless, or all share the same frames. */
static bool take_frames(struct writer *writer, const struct cairn_ledger_stack *stack)
{
	if (stack->depth > CAIRN_LEDGER_DEPTH || stack->depth > writer->frames_left) {
		writer->overlapping++;
		return false;
	}
	writer->frames_left -= stack->depth;
	return true;
}

/* Writes all stacks, the unknown one last: samples belong to it whose stack was given up since they were copied. They were freed
 * meanwhile, but the sums are those of all that was copied. */
static void write_stacks(struct writer *writer)
{
	struct cairn_ledger_stack stack;
	uint32_t stack_count = cairn_ledger_count(writer->ledger, CAIRN_LEDGER_STACKS);
	size_t number = 0;
	writer->nameless = stack_count ? writer->starts[1] : 0;
	while (has_mappings(writer, 0))
		writer->mapping_at++;
	writer->frames_left = 2 * (uint64_t)cairn_ledger_frames(writer->ledger);
	for (uint32_t i = 1; i < stack_count && !writer->out->failed && !writer->sections->failed; i++) {
		size_t first = writer->starts[i], end = writer->starts[i + 1], own = end;
		if (cairn_ledger_get_stack(writer->ledger, i, &stack) && take_frames(writer, &stack)) {
			own = divide(writer, first, end, stack.hash);
			if (own < end || stack.allocated_samples || has_mappings(writer, i)) {
				if (write_stack(writer, number, i, &stack, own, end))
					number++;
				else
					own = end;
			}
		}
		set_aside(writer, first, own);
		while (has_mappings(writer, i)) /* belongs to an incomplete stack */
			writer->mapping_at++;
	}
	writer->mapping_at = 0;
	bool has_unknown = stack_count && cairn_ledger_get_stack(writer->ledger, 0, &stack);
	stack.depth = 0; /* whatever a forged ledger says */
	if (has_unknown &&
	    (writer->nameless || stack.allocated_samples || has_mappings(writer, 0))) {
		cairn_sort(writer->live, writer->nameless, sizeof *writer->live, compare);
		write_stack(writer, number, 0, &stack, 0, writer->nameless);
	}
}

bool cairn_ledger_write_heap(const struct cairn_ledger *ledger, int64_t now_ns, const struct cairn_ledger_witness *witness,
			     struct cairn_buffer *out, struct cairn_ledger_heap *heap, struct cairn_error *error)
{
	*heap = (struct cairn_ledger_heap){.sections = cairn_pages(sections_maximum)};
	struct writer writer = {.ledger = ledger, .out = out, .sections = &heap->sections, .now_ns = now_ns, .witness = *witness};
	if (!collect(&writer, error)) {
		discard(&writer);
		return false;
	}
	struct sum all = {0};
	uint32_t stack_count = cairn_ledger_count(ledger, CAIRN_LEDGER_STACKS);
	for (size_t i = 0; i < writer.live_count; i++)
		add_sample(&all, &writer.live[i]);
	struct cairn_ledger_stack stack;
	double allocated_objects = 0, allocated_bytes = 0;
	for (uint32_t i = 0; i < stack_count; i++)
		if (cairn_ledger_get_stack(ledger, i, &stack)) {
			allocated_objects += (double)stack.allocated_objects / CAIRN_LEDGER_OBJECT;
			allocated_bytes += (double)stack.allocated_bytes;
		}
	write_head(&writer, &all, allocated_objects, allocated_bytes);
	cairn_buffer_text(&heap->sections, CAIRN_LEDGER_SECTION);
	write_stacks(&writer);
	heap->samples = writer.live_count;
	heap->overlapping = writer.overlapping;
	discard(&writer);
	if (!out->failed && !heap->sections.failed)
		return true;
	cairn_buffer_free(&heap->sections);
	return cairn_fail(error, "no memory for a dump of the ledger");
}

bool cairn_ledger_range(const struct cairn_ledger *ledger, uint32_t number, struct cairn_ledger_module *module,
			struct cairn_trailer_range *range)
{
	if (!cairn_ledger_get_module(ledger, number, module) || atomic_load(&module->state) != CAIRN_LEDGER_STATE_COMPLETE)
		return false;
	struct cairn_bytes id = {(const char *)module->build_id, module->id_length};
	*range = (struct cairn_trailer_range){module->start, module->end, module->offset, id, cairn_ledger_path(ledger, module)};
	return true;
}

void cairn_ledger_write_maps(const struct cairn_ledger *ledger, struct cairn_buffer *out)
{
	struct cairn_ledger_module module;
	struct cairn_trailer_range range;
	for (uint32_t i = 0; i < cairn_ledger_count(ledger, CAIRN_LEDGER_MODULES) && !out->failed; i++)
		if (cairn_ledger_range(ledger, i, &module, &range))
			cairn_trailer_write_map(out, &range);
}

void cairn_ledger_write_counts(const struct cairn_ledger *ledger, struct cairn_buffer *out)
{
	const struct cairn_ledger_header *header = &ledger->header;
	const struct {
		const char *key;
		uint64_t value;
	} counts[] = {
		{"period", header->period},
		{"sampler.first_period", header->first_period},
		{"sampler.live", header->live},
		{"sampler.taken", header->taken},
		{"sampler.freed", header->freed},
		{"sampler.replaced", header->replaced},
		{"sampler.dropped", header->dropped},
		{"sampler.dropped_bytes", header->dropped_bytes},
		{"sampler.thinned", header->thinned},
		{"sampler.doublings", header->doublings},
		{"sampler.stacks_lost", header->stacks_lost},
		{"sampler.stacks_recycled", header->stacks_recycled},
		{"sampler.threads_lost", header->threads_lost},
		{"sampler.highest", header->highest_bytes},
		{"sampler.mappings_lost", header->mappings_lost},
		{"sampler.mappings_lost_bytes", header->mappings_lost_bytes},
	};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		cairn_trailer_write_number(out, counts[i].key, counts[i].value);
	if (header->inherited)
		cairn_trailer_write_number(out, "sampler.inherited", 1);
	int64_t peak = header->peak_ns ? cairn_ledger_time(ledger, header->peak_ns) : 0;
	if (peak > 0)
		cairn_trailer_write_time(out, "sampler.peak_at", peak);
	for (int i = 1; i < CAIRN_LEDGER_HEAPS; i++)
		if (header->heaps[i][0])
			cairn_trailer_write_format(out, "heap", "%d %s", i, header->heaps[i]);
}
