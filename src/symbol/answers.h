/* answers.h - the known names of one module's addresses, as one block of bytes.
 *
 * The cache stores the block on disk and reads it in place: sorted addresses, the frames of each, and functions and strings, each stored
 * once. A *builder* merges new answers with older ones into a new block and demangles names, each once. The block records what it is
 * based on: the *probes* are the files that were examined, and the *note* says what was missing; without a note, there was nothing better
 * to find. It also has the *segments* of the binary, so that a profile's addresses can be found in it when the binary is gone.
 *
 * A block may come from a file that anybody could have written, so it is checked completely before it is used.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_ANSWERS_H
#define CAIRN_SYMBOL_ANSWERS_H

#include "base/buffer.h"
#include "base/strings.h"
#include "symbol/find.h"
#include "symbol/lookup.h"

/* Increased whenever the block's layout, or the symbolizer's answers, change. */
enum { CAIRN_ANSWERS_VERSION = 10 };

/* Strings are numbered; 0 is the empty one. */
struct cairn_answer_function {
	uint32_t name;        /* demangled; 0 when only the line is known */
	uint32_t system_name; /* as in the file */
	uint32_t file;
	uint32_t start_line;
};

struct cairn_answer_frame {
	uint32_t function;
	uint32_t line;
	uint32_t column;
};

/* As in the binary's program headers. */
struct cairn_answer_segment {
	uint64_t offset, address, file_size;
};

struct cairn_answer_probe {
	uint64_t size, inode;
	int64_t modified_ns;
	uint32_t path;
	uint32_t unused;
};

/* A checked block. Borrows its bytes. */
struct cairn_answers {
	const uint64_t *addresses; /* link-time, ascending */
	const uint32_t *first;     /* index in `frames` of each address's first frame; one more at the end */
	const struct cairn_answer_frame *frames; /* innermost first */
	const struct cairn_answer_function *functions;
	const struct cairn_answer_probe *probes;
	const struct cairn_answer_segment *segments;
	const uint32_t *string_ends;
	const char *string_bytes;
	size_t address_count, function_count, string_count, probe_count, segment_count;
	uint32_t key, options, note;
	bool damaged;
};

/* Checks BLOCK. Returns false if it is not a complete block of this version. */
bool cairn_answers_parse(struct cairn_answers *answers, struct cairn_bytes block);

/* The string with number ID, terminated. */
static inline struct cairn_bytes cairn_answers_string(const struct cairn_answers *answers, uint32_t id)
{
	if (id == 0)
		return (struct cairn_bytes){"", 0};
	uint32_t start = id == 1 ? 0 : answers->string_ends[id - 2];
	return (struct cairn_bytes){answers->string_bytes + start, answers->string_ends[id - 1] - start - 1};
}

/* The index of ADDRESS in `addresses`, or CAIRN_NONE. */
uint32_t cairn_answers_find(const struct cairn_answers *answers, uint64_t address);

/* All zeroes is an empty builder. */
struct cairn_answers_builder {
	struct cairn_strings strings;
	struct cairn_map known_texts;  /* address of a string in memory -> its number */
	struct cairn_map demangled;    /* number of a mangled name -> number of the name */
	struct cairn_index function_index;
	struct cairn_answer_function *functions;
	size_t function_count, function_capacity;
	struct cairn_answer_frame *frames;
	size_t frame_count, frame_capacity;
	struct answer_entry {
		uint64_t address;
		uint32_t first;
		uint32_t count;
	} *entries;
	size_t entry_count, entry_capacity;
};

/* Adds SYMBOL's answer for ADDRESS, even if it is empty. Each address is added once. */
void cairn_answers_add(struct cairn_answers_builder *builder, uint64_t address, const struct cairn_symbol *symbol);

/* Adds all of OLDER. */
void cairn_answers_add_all(struct cairn_answers_builder *builder, const struct cairn_answers *older);

/* What a block describes and is based on. */
struct cairn_answers_origin {
	const char *key;     /* which module */
	const char *options; /* the places that the user named */
	const char *note;    /* NULL when nothing was missing */
	bool damaged;        /* the note is about incomplete debug information: always worth mentioning */
	const struct cairn_probe *probes;
	size_t probe_count;
	const struct cairn_elf_segment *segments; /* of the binary; none if only its debug file is known */
	size_t segment_count;
};

/* Writes the block to OUT, which is empty. Returns false if it would exceed the maximum size of a block. */
bool cairn_answers_write(struct cairn_answers_builder *builder, const struct cairn_answers_origin *origin, struct cairn_buffer *out);

void cairn_answers_builder_free(struct cairn_answers_builder *builder);

#endif
