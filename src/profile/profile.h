/* profile.h - the central struct of the program: the contents of a dump, in the form that all later stages read.
 *
 * A profile has *value types* (what is counted: live bytes, allocated objects, CPU time), *samples* (a stack and one value of each type),
 * *locations* (the addresses in stacks), *mappings* (where modules were in memory) and *modules* (the files themselves). Once named, a
 * location has *frames*: the function at that address and those it is inlined into, innermost first.
 *
 * Values are estimates, already un-sampled line by line; `sampled` holds the number of samples behind them. All references are indices.
 * Locations of two profiles are the same if their modules are the same file (by build-id, else by path), their offsets in the file are
 * equal, and their frames do not differ, so dumps of different runs can be added and compared although each run has other addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_PROFILE_H
#define CAIRN_PROFILE_PROFILE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/strings.h"
#include "dump/shown.h"
#include "profile/live.h"
#include "profile/unsample.h"

enum { CAIRN_VALUES_MAX = 16 };

enum cairn_profile_kind {
	CAIRN_PROFILE_HEAP,   /* live allocations, and perhaps all allocations */
	CAIRN_PROFILE_GROWTH, /* memory obtained from the system; never returned */
	CAIRN_PROFILE_CPU,
	CAIRN_PROFILE_CONTENTION, /* waiting for locks */
	CAIRN_PROFILE_OTHER, /* folded text, or a pprof of something else */
};

/* What a heap profile tells of everything that was allocated, freed or not. */
enum cairn_allocated {
	CAIRN_ALLOCATED_ANY,     /* what its values say */
	CAIRN_ALLOCATED_ACCUM,   /* jemalloc's profiler: nothing without prof_accum:true */
	CAIRN_ALLOCATED_BY_PATH, /* Cairn's engine: call paths only; samples with a thread or an age have none of it */
};

/* Both are strings, as pprof names them: "inuse_space" in "bytes". */
struct cairn_value_type {
	uint32_t type;
	uint32_t unit;
};

/* A file that code was loaded from, or a pseudo file such as [vdso]. */
struct cairn_module {
	uint32_t path;     /* as in the dump, without " (deleted)"; 0 if the memory had no file */
	uint32_t build_id; /* lower-case hex; 0 when not known */
	bool deleted;      /* the dump said that the file had been removed or replaced */
};

/* A range of memory where a module was mapped. file offset = address - start + offset. */
struct cairn_mapping {
	uint64_t start;
	uint64_t limit;
	uint64_t offset;
	uint32_t module;
	uint64_t link_bias; /* link-time address = file offset + this; 0 for most files, and until the file has been read */
	/* What a pprof file declared as already resolved; kept so that reading and writing lose nothing. */
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
	uint64_t address;     /* inside the instruction: for a call, the return address minus one; 0 if it has only names */
	uint32_t mapping;     /* CAIRN_NONE if nothing was mapped there, or if the profile has no addresses */
	uint32_t first_frame; /* in frames, innermost first */
	uint32_t frame_count; /* 0 until named */
	bool is_call;         /* the address in the dump was ADDRESS + 1 */
	bool is_folded;       /* pprof: several functions at this address were folded into one */
};

/* LABELS is an index into label_sets; set 0 is empty. Stacks are leaf first. */
struct cairn_sample {
	uint32_t stack; /* first of DEPTH location indices in `stacks`, which other samples may share */
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

/* What a dump says of its process beside the samples. Texts are strings of the profile. All numbers are 0 when not known. */
struct cairn_dump_facts {
	int64_t time_ns; /* when it was taken, since 1970 */
	int64_t duration_ns;
	uint32_t process; /* command or program path */
	uint64_t process_id;
	bool foreign;      /* another user than its reader, or root, may have made it up, with the names of files in it */
	int64_t start_ns;  /* when the process started */
	uint32_t life;     /* text that identifies this process among all that ever ran */
	int64_t uptime_ns; /* monotonic time since the machine booted, when the profile was taken */
	uint32_t ended;    /* how the process ended, if the profile was taken from what it left behind */
	uint32_t trailer;  /* the text of the dump's trailer (dump/trailer.h); of a sum or a difference there is none */

	double resident_bytes, limit_bytes; /* resident memory of the process, and its limit */
	bool limit_of_group;                /* the limit is that of a control group; otherwise it is the machine's memory */
	double available_bytes;             /* what the machine could still give to all its processes */
	double group_bytes;                 /* memory charged to the control group that has the limit, without page cache as far as known */
	double anonymous_bytes, swap_bytes; /* memory of its own, resident and swapped out */
	double allocated_bytes;             /* live bytes as counted by the allocator itself, sampled or not */
	int64_t since_ns;                   /* when sampling began, or when all samples were last discarded */
	double before_bytes;                /* anonymous memory that the process had when sampling was switched on, its parent's included;
					     * 0 when that was at its start */

	unsigned shows;               /* a bit for each enum cairn_shown that the dump can show instead of what is live */
	bool has_ages;                /* the dump records the age of each live sample; if so: */
	double slack_bytes;           /* usable bytes of all live objects beyond those requested */
	double age_bytes[CAIRN_AGES]; /* live bytes by age class, youngest first */
	double freed_bytes;           /* estimate of the bytes that were allocated and freed again */
	double mapped_bytes;          /* resident part of the private memory that the service mapped itself; all of it if that part is unknown */
	double break_bytes;           /* the same for memory obtained with brk */
	int64_t peak_ns;              /* when live memory peaked, since 1970 */
	double peak_bytes;            /* live bytes at the peak */
};

struct cairn_profile {
	struct cairn_strings strings;
	enum cairn_profile_kind kind;
	const char *format; /* the format that was read, for messages only: "jemalloc heap_v2"; a literal */
	enum cairn_allocated allocated;

	struct cairn_value_type value_types[CAIRN_VALUES_MAX];
	uint32_t value_count;
	uint32_t default_value; /* the value that reports show by default */

	struct cairn_value_type period_type;
	double period;      /* mean distance between samples in its unit; 0 when not known, 1 when everything was recorded */
	enum cairn_unsampling unsampling; /* how the values were estimated; UNKNOWN means that no errors can be shown */
	bool size_classes;  /* objects are counted with the sizes of jemalloc's classes, as its own profiler does */
	bool cut;           /* the dump was truncated: what it does not show may have been there */
	bool base_within;   /* the subtracted base is an earlier dump of the same process, and was not scaled */
	bool mixed_periods; /* parts with different periods were added, each un-sampled with its own */
	enum cairn_shown shown;      /* what the live values are */
	struct cairn_dump_facts facts;

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

	uint32_t *stacks; /* location indices of the samples' stacks, one stack after another */
	size_t stack_count, stack_capacity;
	struct cairn_sample *samples;
	double *values;  /* value_count for each sample */
	double *sampled; /* number of samples behind the default value of each sample; NULL if the format does not have it */
	/* By sample: the spread of its number of live objects, from its samples one by one; the variance is NAN where only some of them are
	 * known. NULL if the format does not have them. */
	struct cairn_spread *counted;
	struct cairn_freed *freed; /* by sample: what was freed from its stack; NULL unless requested and known */
	size_t freed_count;
	struct cairn_aged *aged; /* the live samples one by one; filled together with `freed` */
	size_t aged_count, aged_capacity;
	struct cairn_history_row *history; /* memory over time of a process that has ended, oldest first */
	size_t history_count, history_capacity;
	double *base;    /* what was subtracted from `values`, with the same layout; NULL if nothing was */
	size_t sample_count, sample_capacity, value_capacity, sampled_capacity, counted_capacity, base_count, base_capacity;

	struct cairn_label *labels;
	size_t label_count, label_capacity;
	struct cairn_label_set *label_sets;
	size_t label_set_count, label_set_capacity;
	struct cairn_thread *threads;
	size_t thread_count, thread_capacity;

	uint32_t *comments;
	size_t comment_count, comment_capacity;
	uint32_t drop_frames, keep_frames, doc_url; /* pprof's own; 0 when absent */

	/* Sentences about missing or odd input. A best-effort result has at least one. */
	uint32_t *warnings;
	size_t warning_count, warning_capacity;

	/* For building: equal modules, functions, label sets and locations are stored once. */
	struct cairn_index module_index, function_index, label_index, location_index;
};

void cairn_profile_init(struct cairn_profile *profile);
void cairn_profile_free(struct cairn_profile *profile);

/* Adds a sentence for the user. Equal sentences are kept once, and at most a hundred in total. */
void cairn_profile_warn(struct cairn_profile *profile, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Building. Each function returns an index; where noted, equal arguments give equal indices. */

uint32_t cairn_profile_text(struct cairn_profile *profile, const char *text);
void cairn_profile_add_value_type(struct cairn_profile *profile, const char *type, const char *unit);
/* Modules are unique by path and build-id. */
uint32_t cairn_profile_add_module(struct cairn_profile *profile, uint32_t path, uint32_t build_id);
uint32_t cairn_profile_add_mapping(struct cairn_profile *profile, const struct cairn_mapping *mapping);
/* Functions are unique by all their members. */
uint32_t cairn_profile_add_function(struct cairn_profile *profile, const struct cairn_function *function);
/* A location without frames, unique by address, mapping and is_call. */
uint32_t cairn_profile_add_location(struct cairn_profile *profile, uint64_t address, uint32_t mapping, bool is_call);
/* A new location, never shared: for formats that number their locations themselves. */
uint32_t cairn_profile_new_location(struct cairn_profile *profile, const struct cairn_location *location);
/* Makes room for COUNT frames of LOCATION, which the caller fills. Borrowed until the next call. */
struct cairn_frame *cairn_profile_frame_room(struct cairn_profile *profile, uint32_t location, size_t count);
/* Sets the frames of LOCATION, which are copied. */
void cairn_profile_set_frames(struct cairn_profile *profile, uint32_t location, const struct cairn_frame *frames, size_t count);
/* Label sets are unique by their labels in order. */
uint32_t cairn_profile_add_labels(struct cairn_profile *profile, const struct cairn_label *labels, size_t count);
/* Adds a label to every sample: KEY and TEXT, such as "process" and "node 4242". */
void cairn_profile_label_all(struct cairn_profile *profile, const char *key, const char *text);

/* Room for DEPTH more locations at the end of `stacks`; the caller fills them and then adds the sample. Borrowed until the
 * next call. */
uint32_t *cairn_profile_stack_room(struct cairn_profile *profile, size_t depth);
/* Adds a sample with the last DEPTH locations stored in that room as its stack. VALUES has value_count entries. Returns the sample's index.
 * Samples with all values 0 are kept. */
size_t cairn_profile_add_sample(struct cairn_profile *profile, size_t depth, uint32_t labels, const double *values);
/* Adds a sample with the stack of sample LIKE, which they share. */
size_t cairn_profile_add_sample_like(struct cairn_profile *profile, size_t like, uint32_t labels, const double *values);
/* Sets the number of samples behind the sample just added; the default is 0. */
void cairn_profile_set_sampled(struct cairn_profile *profile, size_t sample, double count);

/* The entry of `counted` for SAMPLE, made if necessary. */
struct cairn_spread *cairn_profile_counted(struct cairn_profile *profile, size_t sample);

/* Subtracts AMOUNT from VALUE of SAMPLE, and records it as the sample's base. */
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

/* The amount subtracted from VALUE of SAMPLE. */
static inline double cairn_profile_base(const struct cairn_profile *profile, size_t sample, uint32_t value)
{
	size_t at = sample * profile->value_count + value;
	return at < profile->base_count ? profile->base[at] : 0;
}

/* Whether samples with that label set are the base of a difference that pprof saved, by its label pprof::base. */
bool cairn_profile_is_diff_base(const struct cairn_profile *profile, uint32_t labels);

/* The module of a location, or NULL. */
const struct cairn_module *cairn_profile_module(const struct cairn_profile *profile, const struct cairn_location *location);

/* The offset of LOCATION in its module's file; its address if it has no mapping. */
uint64_t cairn_profile_file_offset(const struct cairn_profile *profile, const struct cairn_location *location);

/* Writes what a LOCATION without a name is called: its module and link-time address, as addr2line takes it; outside modules, its address as
 * in the dump. */
void cairn_profile_place(const struct cairn_profile *profile, const struct cairn_location *location, struct cairn_buffer *out);

/* The index of the value type called NAME ("inuse_space"), or CAIRN_NONE. */
uint32_t cairn_profile_find_value(const struct cairn_profile *profile, const char *name);

/* Whether VALUE counts bytes, by its unit. */
bool cairn_profile_in_bytes(const struct cairn_profile *profile, uint32_t value);

/* The counterpart of VALUE: the objects for bytes, or the bytes for objects; CAIRN_NONE if there is none. */
uint32_t cairn_profile_partner(const struct cairn_profile *profile, uint32_t value);

/* Whether the sampling error of VALUE is known. */
bool cairn_profile_knows_errors(const struct cairn_profile *profile, uint32_t value);

/* The weight of one sample (unsample.h) in a line with AMOUNT of VALUE and PARTNER of its counterpart. */
double cairn_profile_weight(const struct cairn_profile *profile, uint32_t value, double amount, double partner);

/* The amount of VALUE that one sample stands for: the smallest change when a sampled object is allocated or freed. */
double cairn_profile_unit(const struct cairn_profile *profile, uint32_t value, double amount, double partner);

/* The sum of value VALUE over all samples. */
double cairn_profile_total(const struct cairn_profile *profile, uint32_t value);

/* Removes the value type at index VALUE from every sample. */
void cairn_profile_drop_value(struct cairn_profile *profile, uint32_t value);
/* Adds a value type after the others, 0 in every sample. Returns false if there are already CAIRN_VALUES_MAX. */
bool cairn_profile_append_value(struct cairn_profile *profile, const char *type, const char *unit);
/* Adds the values that a heap profile may have and this one lacks, those of all views (shown.h) included: for each, the objects, then the
 * bytes. Returns false if there is no room. */
bool cairn_profile_complete(struct cairn_profile *profile);

/* Keeps the samples for which keep[sample] is true, in order. */
void cairn_profile_keep_samples(struct cairn_profile *profile, const bool *keep);

#endif
