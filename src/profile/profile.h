/* profile.h - the one struct of the program: what a dump says, in a form every later stage reads.
 *
 * A profile has *value types* (what is counted: live bytes, allocated objects, CPU time), *samples* (a stack and one
 * value of each type), *locations* (the addresses stacks are made of), *mappings* (where modules lay in memory) and
 * *modules* (the files themselves). Once named, a location has *frames*: the function it is in and those inlined there,
 * innermost first.
 *
 * Numbers are estimates of the truth, already un-sampled line by line; `sampled` keeps beside them how many samples
 * they rest on. Everything refers to everything else by index. A location is the same location in two profiles when
 * its module is the same file (by build-id, else by path) and its offset in that file is the same, so dumps of
 * different runs of one program can be added and compared although each run lies elsewhere in memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_PROFILE_H
#define CAIRN_PROFILE_PROFILE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/strings.h"
#include "profile/live.h"
#include "profile/unsample.h"

enum { CAIRN_VALUES_MAX = 16 };

enum cairn_profile_kind {
	CAIRN_PROFILE_HEAP,   /* live, and perhaps all, allocations */
	CAIRN_PROFILE_GROWTH, /* memory obtained from the system; never given back */
	CAIRN_PROFILE_CPU,
	CAIRN_PROFILE_CONTENTION, /* waiting for locks */
	CAIRN_PROFILE_OTHER, /* folded text, or a pprof of something else */
};

/* Both are strings, as pprof names them: "inuse_space" in "bytes". */
struct cairn_value_type {
	uint32_t type;
	uint32_t unit;
};

/* One file that code came from, or a pseudo file such as [vdso]. */
struct cairn_module {
	uint32_t path;     /* as in the dump, without " (deleted)"; 0 when the memory had no file */
	uint32_t build_id; /* lower-case hex; 0 when not known */
	bool deleted;      /* the dump said that the file had been removed or replaced */
};

/* One stretch of memory that showed a module. file offset = address - start + offset. */
struct cairn_mapping {
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
	uint32_t module;
	uint64_t link_bias; /* link-time address = file offset + this; 0 until the file was seen, and for most files */
	/* What a pprof file said it had already resolved; kept so that reading and writing lose nothing. */
	bool has_functions, has_filenames, has_line_numbers, has_inline_frames;
};

struct cairn_function {
	uint32_t name;        /* demangled, or as found */
	uint32_t system_name; /* as in the symbol table; may equal name */
	uint32_t file;
	uint32_t start_line;
};

struct cairn_frame {
	uint32_t function;
	uint32_t line;   /* 0 when not known */
	uint32_t column; /* 0 when not known */
};

struct cairn_location {
	uint64_t address;     /* an address inside the instruction: of a call, one before the return address */
	uint32_t mapping;     /* CAIRN_NONE where nothing was mapped, or the profile has no addresses */
	uint32_t first_frame; /* in frames, innermost first */
	uint32_t frame_count; /* 0 until named */
	bool is_call;         /* the dump's own number was address + 1 */
	bool is_folded;       /* pprof: several functions at this address were folded into one */
};

/* LABELS is an index into label_sets; set 0 is empty. Stacks are leaf first. */
struct cairn_sample {
	uint32_t stack; /* first of DEPTH location indices in `stacks` */
	uint32_t depth;
	uint32_t labels;
};

/* A text label has TEXT and no number; a numeric one has NUMBER in UNIT. */
struct cairn_label {
	uint32_t key;
	uint32_t text;
	uint32_t unit;
	bool is_number;
	int64_t number;
};

struct cairn_label_set {
	uint32_t first; /* in labels */
	uint32_t count;
};

/* A thread as a jemalloc dump lists it. UID is jemalloc's own number, not the system's. */
struct cairn_thread {
	uint64_t uid;
	uint32_t name;
};

struct cairn_profile {
	struct cairn_strings strings;
	enum cairn_profile_kind kind;
	const char *format; /* what was read, for a person: "jemalloc heap_v2"; a literal */

	struct cairn_value_type value_types[CAIRN_VALUES_MAX];
	uint32_t value_count;
	uint32_t default_value; /* which value a report shows when not told */

	struct cairn_value_type period_type;
	double period;      /* mean distance of samples in its unit; 0 when not known, 1 when everything was recorded */
	enum cairn_unsampling unsampling; /* how the values were made; what is not known has no errors to show */
	bool cut;           /* the dump ended before its end: what it does not show may have been there */
	bool base_within;   /* the base that was subtracted is an earlier dump of the same process, and not scaled */
	bool mixed_periods; /* parts with different periods were added up; each was un-sampled with its own */
	int64_t time_ns;    /* when it was taken, since 1970; 0 when not known */
	int64_t duration_ns;
	uint32_t process; /* command or program path; 0 when not known */
	uint64_t process_id;
	int64_t start_ns; /* when the process started; 0 when not known */
	uint32_t life;     /* of all processes there ever were, which: a text that no other has; 0 when not known */
	int64_t uptime_ns; /* how long the machine had run when it was taken, by a clock that nobody sets; 0 when not known */
	double resident_bytes, limit_bytes; /* what the process weighed and might weigh; 0 when not known */
	double allocated_bytes; /* live bytes by the allocator's own count, sampled or not; 0 when not known */
	int64_t since_ns;       /* when sampling began, or all samples were last discarded; 0 when not known */
	double before_bytes;    /* anonymous memory that the process had when sampling was switched on; 0 when not known */
	bool has_ages;          /* the dump it was read from says how old each live sample is */
	double slack_bytes;     /* where ages are known: what is usable of all live objects beyond what was requested */
	bool as_slack;          /* and the live bytes are that */
	double age_bytes[CAIRN_AGES]; /* where ages are known: live bytes by class of age, the youngest first, */
	double freed_bytes;     /* and an estimate of what was allocated and freed again */
	bool has_slabs;         /* the dump it was read from says how full the slabs of live objects are, */
	bool as_fragmentation;  /* and the live bytes are their part of what is free there */
	double mapped_bytes; /* the resident part of what the service mapped itself as private memory; all of it where that is not known */
	double break_bytes;    /* the same of what it got by brk */
	bool has_mapped;        /* the dump it was read from lists what the service mapped itself, */
	bool as_mapped;         /* and this is it */
	int64_t peak_ns;        /* when the most lived at once, since 1970; 0 when not known */
	double peak_bytes;      /* how much that was */
	bool has_peak;          /* the dump it was read from says what lived then, */
	bool at_peak;           /* and this is what it says */
	uint32_t ended;         /* it was taken from what the process left behind when it ended, which was so; 0 for any other */
	bool limit_of_group; /* the limit is a control group's; else it is all the memory of the machine */

	struct cairn_module *modules;
	size_t module_count, module_capacity;
	struct cairn_mapping *mappings; /* in the order of the dump */
	size_t mapping_count, mapping_capacity;
	struct cairn_function *functions;
	size_t function_count, function_capacity;
	struct cairn_frame *frames;
	size_t frame_count, frame_capacity;
	struct cairn_location *locations;
	size_t location_count, location_capacity;

	uint32_t *stacks; /* location indices of all samples, one stack after the other */
	size_t stack_count, stack_capacity;
	struct cairn_sample *samples;
	double *values;  /* value_count for each sample */
	double *sampled; /* how many samples the default value of each sample rests on; NULL when the format has none */
	struct cairn_freed *freed; /* per sample, what was freed of its stack, where that was asked for and is known; NULL otherwise */
	size_t freed_count;
	struct cairn_aged *aged; /* the live samples one by one, where `freed` was asked for and is known */
	size_t aged_count, aged_capacity;
	struct cairn_history_row *history; /* of a process that has ended: its memory over time, in that order */
	size_t history_count, history_capacity;
	double *base;    /* what was subtracted from the values, laid out as they are; NULL when nothing was */
	size_t sample_count, sample_capacity, value_capacity, sampled_capacity, base_count, base_capacity;

	struct cairn_label *labels;
	size_t label_count, label_capacity;
	struct cairn_label_set *label_sets;
	size_t label_set_count, label_set_capacity;
	struct cairn_thread *threads;
	size_t thread_count, thread_capacity;

	uint32_t *comments;
	size_t comment_count, comment_capacity;
	uint32_t drop_frames, keep_frames, doc_url; /* pprof's own; 0 when absent */

	/* Sentences about what was missing or odd in the input. Best-effort results carry at least one. */
	uint32_t *warnings;
	size_t warning_count, warning_capacity;

	/* For building: equal modules, functions, label sets and locations are kept once. */
	struct cairn_index module_index, function_index, label_index, location_index;
};

void cairn_profile_init(struct cairn_profile *profile);
void cairn_profile_free(struct cairn_profile *profile);

/* Remembers a sentence for the person who asked. The same sentence is kept once, and no more than a hundred. */
void cairn_profile_warn(struct cairn_profile *profile, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Building. Each returns an index; equal arguments give equal indices where that is said. */

uint32_t cairn_profile_text(struct cairn_profile *profile, const char *text);
void cairn_profile_add_value_type(struct cairn_profile *profile, const char *type, const char *unit);
/* Modules are unique by path and build-id. */
uint32_t cairn_profile_add_module(struct cairn_profile *profile, uint32_t path, uint32_t build_id);
uint32_t cairn_profile_add_mapping(struct cairn_profile *profile, const struct cairn_mapping *mapping);
/* Functions are unique by all their members. */
uint32_t cairn_profile_add_function(struct cairn_profile *profile, const struct cairn_function *function);
/* A location without frames, unique by address, mapping and is_call. */
uint32_t cairn_profile_add_location(struct cairn_profile *profile, uint64_t address, uint32_t mapping, bool is_call);
/* A location of its own, never shared: for formats that number their locations themselves. */
uint32_t cairn_profile_new_location(struct cairn_profile *profile, const struct cairn_location *location);
/* Gives LOCATION room for COUNT frames, which the caller fills. Borrowed until the next call. */
struct cairn_frame *cairn_profile_frame_room(struct cairn_profile *profile, uint32_t location, size_t count);
/* Gives LOCATION its frames, which are copied. */
void cairn_profile_set_frames(struct cairn_profile *profile, uint32_t location, const struct cairn_frame *frames, size_t count);
/* Label sets are unique by their labels in order. */
uint32_t cairn_profile_add_labels(struct cairn_profile *profile, const struct cairn_label *labels, size_t count);
/* Adds a label to each sample: KEY and TEXT, as "process" and "node 4242". */
void cairn_profile_label_all(struct cairn_profile *profile, const char *key, const char *text);

/* Room for DEPTH more locations at the end of `stacks`; the caller fills them and then adds the sample. Borrowed until the
 * next call. */
uint32_t *cairn_profile_stack_room(struct cairn_profile *profile, size_t depth);
/* Adds a sample whose stack is the last DEPTH locations put in the room above. VALUES has value_count entries.
 * Returns the sample's index. False values are kept: an all-zero sample is a sample. */
size_t cairn_profile_add_sample(struct cairn_profile *profile, size_t depth, uint32_t labels, const double *values);
/* Says how many samples the sample just added rests on; those it was never said of rest on none. */
void cairn_profile_set_sampled(struct cairn_profile *profile, size_t sample, double count);

/* Takes AMOUNT from VALUE of SAMPLE, and remembers it as that sample's base. */
void cairn_profile_subtract(struct cairn_profile *profile, size_t sample, uint32_t value, double amount);

/* Reading. */

static inline const char *cairn_profile_string(const struct cairn_profile *profile, uint32_t id)
{
	return cairn_strings_text(&profile->strings, id);
}

static inline const double *cairn_profile_values(const struct cairn_profile *profile, size_t sample)
{
	return profile->values + sample * profile->value_count;
}

/* How much was subtracted from VALUE of SAMPLE. */
static inline double cairn_profile_base(const struct cairn_profile *profile, size_t sample, uint32_t value)
{
	size_t at = sample * profile->value_count + value;
	return at < profile->base_count ? profile->base[at] : 0;
}

/* The module of a location, or NULL. */
const struct cairn_module *cairn_profile_module(const struct cairn_profile *profile, const struct cairn_location *location);

/* Where LOCATION lies in its module's file; its address where it has no mapping. */
uint64_t cairn_profile_file_offset(const struct cairn_profile *profile, const struct cairn_location *location);

/* The index of the value type called NAME ("inuse_space"), or CAIRN_NONE. */
uint32_t cairn_profile_find_value(const struct cairn_profile *profile, const char *name);

/* The value that goes with VALUE: the objects of its bytes, or the bytes of its objects; CAIRN_NONE where there is none. */
uint32_t cairn_profile_partner(const struct cairn_profile *profile, uint32_t value);

/* Whether it is known how far VALUE may be off because of sampling. */
bool cairn_profile_knows_errors(const struct cairn_profile *profile, uint32_t value);

/* The weight of one sample (unsample.h) where there is AMOUNT of VALUE, and PARTNER of the value that goes with it. */
double cairn_profile_weight(const struct cairn_profile *profile, uint32_t value, double amount, double partner);

/* What one sample stands for in VALUE: the least by which it changes when an object that is sampled comes or goes. */
double cairn_profile_unit(const struct cairn_profile *profile, uint32_t value, double amount, double partner);

/* The sum of value VALUE over all samples. */
double cairn_profile_total(const struct cairn_profile *profile, uint32_t value);

/* Forgets the value type at VALUE, from every sample. */
void cairn_profile_drop_value(struct cairn_profile *profile, uint32_t value);
/* Adds a value type behind the others, of which every sample has 0. False where there are CAIRN_VALUES_MAX. */
bool cairn_profile_append_value(struct cairn_profile *profile, const char *type, const char *unit);

/* Keeps the samples for which keep[sample] is true, in order. */
void cairn_profile_keep_samples(struct cairn_profile *profile, const bool *keep);

#endif
