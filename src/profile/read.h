/* read.h - from bytes to a profile, whatever format the bytes are in.
 *
 * Formats are recognized by content, never by file name, and may be compressed with gzip, zstd or xz. One reader per format;
 * each is in the file of its name and is reached only from here.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_READ_H
#define CAIRN_PROFILE_READ_H

#include "profile/profile.h"

enum cairn_format {
	CAIRN_FORMAT_UNKNOWN,
	CAIRN_FORMAT_EMPTY,
	CAIRN_FORMAT_PACKED,     /* gzip, zstd or xz; what is inside is not known yet */
	CAIRN_FORMAT_HEAP,       /* jemalloc's heap_v2 */
	CAIRN_FORMAT_FLAT,       /* "heap profile:", growth */
	CAIRN_FORMAT_SYMBOLIZED, /* "--- symbol" */
	CAIRN_FORMAT_SECTION,    /* a "--- heap" line, then another format */
	CAIRN_FORMAT_CONTENTION, /* "--- contention", "--- Stacks:" */
	CAIRN_FORMAT_CPU,        /* gperftools' binary */
	CAIRN_FORMAT_PPROF,
	CAIRN_FORMAT_FOLDED,
	CAIRN_FORMAT_LEDGER,     /* of Cairn's own sampler, as its process left it or as it is now */
};

/* What INPUT looks like; its first few kilobytes are enough. */
enum cairn_format cairn_profile_sniff(struct cairn_bytes input);

struct cairn_read_options {
	/* Make one sample for each thread of a stack, labelled `thread` and `thread_id`, instead of one for the whole stack. Their sum
	 * is the same. */
	bool split_threads;
	/* Of a dump that has times of birth: make samples of each age class apart, labelled `age`. */
	bool split_ages;
	/* The same with sizes, in classes up to a power of two, labelled `bytes`. */
	bool split_sizes;
	/* And make values of what it says beyond what lives, behind the usual ones: peak_objects and peak_space, what lived at the highest
	 * point, and slack_space, what is usable beyond what was requested. */
	bool peak_and_slack;
	/* Of a dump that knows it: count what lived at the highest point instead of what lives now. Threads and ages are not told apart,
	 * and what was allocated so far has no value. */
	bool at_peak;
	/* Of a dump that knows it: count what is usable beyond what was requested, in place of the live bytes. Objects stay as they are. */
	bool as_slack;
	/* Of a dump that knows it: count what is free in the slabs of live objects, shared among those, in place of the live bytes. */
	bool as_fragmentation;
	/* Of a dump that knows it: count what the service mapped itself, in place of its heap. A bit for each enum cairn_mapped_kind. */
	unsigned mapped_kinds;
	bool mapped_resident; /* only the resident part of it, where that is known */
	/* Keep what was freed of each stack, and how old each live sample is. */
	bool with_freed;
	/* And make values of it, behind the usual ones: freed_objects, freed_space and freed_lifetime (the sum over objects, in
	 * nanoseconds), and of what lives, inuse_usable. */
	bool all_values;
	/* Count only what is at least and at most so old, in microseconds; 0 is no limit. What was allocated so far then has no value. */
	uint64_t older_us, younger_us;
	/* The numbers that jeprof shows: each thread's part of a stack is un-sampled by itself, and counts are as the dump has them. */
	bool as_jeprof;
	bool mapped; /* the input is a mapped file: a reader may let go of what it has read (cairn_file_release) */
};

/* Reads INPUT into PROFILE, which the caller has initialised and frees in either case. NAME says in messages where the
 * bytes came from. Damaged input gives what could be read and a warning in the profile; nothing usable is a failure. */
bool cairn_profile_read(struct cairn_profile *profile, struct cairn_bytes input, const char *name,
			const struct cairn_read_options *options, struct cairn_error *error);

/* What every reader is given. TEXT borrows; readers copy what they keep. */
struct cairn_reader {
	struct cairn_profile *profile;
	const char *name;
	struct cairn_read_options options;
	unsigned nesting; /* of formats that hold another */
};

/* The readers. Each takes the whole text of its format, header included, and leaves `format` set. */
bool cairn_heap_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error);
bool cairn_flat_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error);
bool cairn_symbolized_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error);
bool cairn_cpu_read(struct cairn_reader *reader, struct cairn_bytes data, struct cairn_error *error);
bool cairn_contention_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error);
bool cairn_folded_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error);
bool cairn_pprof_read(struct cairn_reader *reader, struct cairn_bytes data, struct cairn_error *error);

/* TEXT is return addresses with blanks between them, leaf first, to the end of a line: they become the last DEPTH locations in the
 * stack room of PROFILE, for a sample to be added. False where one of them is no number. */
bool cairn_stack_read(struct cairn_profile *profile, struct cairn_bytes text, size_t *depth);

/* Gives the locations of PROFILE that have no name the ones in TEXT: lines of "0xaddress name--inlined", as in the symbol section
 * of a symbolized profile or from a server. Returns how many got one. */
size_t cairn_symbolized_attach(struct cairn_profile *profile, struct cairn_bytes text);

/* INPUT is not packed any more: sniffs it and calls the reader. For the symbolized reader, which holds another profile. */
bool cairn_profile_read_plain(struct cairn_reader *reader, struct cairn_bytes input, struct cairn_error *error);

#endif
