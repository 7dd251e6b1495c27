/* read.h - turns bytes of any known format into a profile.
 *
 * Formats are recognized by content, never by file name, and may be compressed with gzip, zstd or xz. Each format has one reader, in the
 * file of its name, which is called only from here.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_READ_H
#define CAIRN_PROFILE_READ_H

#include "profile/profile.h"

enum cairn_format {
	CAIRN_FORMAT_UNKNOWN,
	CAIRN_FORMAT_EMPTY,
	CAIRN_FORMAT_PACKED,     /* gzip, zstd or xz; the format inside is not known yet */
	CAIRN_FORMAT_HEAP,       /* jemalloc's heap_v2 */
	CAIRN_FORMAT_FLAT,       /* "heap profile:", growth */
	CAIRN_FORMAT_SYMBOLIZED, /* "--- symbol" */
	CAIRN_FORMAT_SECTION,    /* a "--- heap" line, then another format */
	CAIRN_FORMAT_CONTENTION, /* "--- contention", "--- Stacks:" */
	CAIRN_FORMAT_CPU,        /* gperftools' binary format */
	CAIRN_FORMAT_PPROF,
	CAIRN_FORMAT_FOLDED,
	CAIRN_FORMAT_LEDGER,     /* a ledger of Cairn's own sampler, of a live or ended process */
};

/* The format of INPUT, which its first few kilobytes reveal. */
enum { CAIRN_FORMAT_HEAD = 4096 };
enum cairn_format cairn_profile_sniff(struct cairn_bytes input);

/* The same for the head of INPUT, decompressed if necessary. */
enum cairn_format cairn_profile_sniff_inside(struct cairn_bytes input);

/* Whether FORMAT is certain enough to take an unnamed file for a profile. Folded text is not: too much else looks like it. */
static inline bool cairn_format_is_certain(enum cairn_format format)
{
	return format != CAIRN_FORMAT_UNKNOWN && format != CAIRN_FORMAT_EMPTY && format != CAIRN_FORMAT_FOLDED;
}

struct cairn_read_options {
	/* Make one sample for each thread of a stack, labelled `thread` and `thread_id`, instead of one for the whole stack. Their sum
	 * is the same. */
	bool split_threads;
	/* If the dump has birth times: make separate samples for each age class, labelled `age`. */
	bool split_ages;
	/* The same for sizes, in classes up to a power of two, labelled `bytes`. */
	bool split_sizes;
	/* Add the values of all views of live memory (shown.h) after the usual ones; of mappings, all but reservations. */
	bool every_kind;
	/* If the dump has it: count this instead of what is live now. There are then no values for what was allocated in total. */
	enum cairn_shown shown;
	unsigned mapped_kinds; /* of CAIRN_SHOWN_MAPPED: a bit for each enum cairn_mapped_kind that is counted */
	bool mapped_resident; /* only its resident part, if known */
	/* Keep what was freed from each stack, and the age of each live sample. */
	bool with_freed;
	/* Add values for these after the usual ones: freed_objects, freed_space and freed_lifetime (the sum over objects, in nanoseconds),
	 * and for live objects inuse_usable. */
	bool all_values;
	/* Count only objects of at least and at most this age, in microseconds; 0 is no limit. There are then no values for what was
	 * allocated in total. */
	uint64_t older_us, younger_us;
	/* Show jeprof's numbers: each thread's part of a stack is un-sampled separately, and counts are as in the dump. */
	bool as_jeprof;
	bool mapped; /* the input is a mapped file: a reader may release what it has read (cairn_file_release) */
};

/* Reads INPUT into PROFILE, which the caller has initialized and frees in either case. NAME is the origin of the bytes in messages. Damaged
 * input gives what could be read, and a warning in the profile; it is a failure only if nothing is usable. */
bool cairn_profile_read(struct cairn_profile *profile, struct cairn_bytes input, const char *name,
			const struct cairn_read_options *options, struct cairn_error *error);

/* The arguments of every reader. TEXT is borrowed; readers copy what they keep. */
struct cairn_reader {
	struct cairn_profile *profile;
	const char *name;
	struct cairn_read_options options;
	unsigned nesting; /* of formats that contain another */
};

/* The readers. Each takes the whole text of its format, including the header, and sets `format`. */
bool cairn_heap_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error);
bool cairn_flat_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error);
bool cairn_symbolized_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error);
bool cairn_cpu_read(struct cairn_reader *reader, struct cairn_bytes data, struct cairn_error *error);
bool cairn_contention_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error);
bool cairn_folded_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error);
bool cairn_pprof_read(struct cairn_reader *reader, struct cairn_bytes data, struct cairn_error *error);

/* When the pprof profile DATA was taken and the path of its program, without reading the rest; 0 and empty if it does not say. PROGRAM
 * borrows from DATA. */
void cairn_pprof_origin(struct cairn_bytes data, int64_t *time_ns, struct cairn_bytes *program);

/* Reads TEXT, return addresses separated by spaces, leaf first, up to the end of a line. They become the last DEPTH locations in the stack
 * room of PROFILE, for a sample to be added. Returns false if one of them is not a number. */
bool cairn_stack_parse(struct cairn_profile *profile, struct cairn_bytes text, size_t *depth);

/* Names the unnamed locations of PROFILE by the lines "0xaddress name--inlined" in TEXT, as in the symbol section of a symbolized profile
 * or from a server. Returns how many were named. */
size_t cairn_symbolized_attach(struct cairn_profile *profile, struct cairn_bytes text);

/* Recognizes INPUT, which is not compressed, and calls its reader. For the symbolized reader, whose format contains another profile. */
bool cairn_profile_read_plain(struct cairn_reader *reader, struct cairn_bytes input, struct cairn_error *error);

#endif
