/* jeprof.h - the command line of `cairn jeprof`, and the parts its work is split into.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_JEPROF_JEPROF_H
#define CAIRN_CMD_JEPROF_JEPROF_H

#include "cmd/option.h"
#include "profile/profile.h"
#include "report/jeprof.h"

enum cairn_jeprof_mode {
	CAIRN_JEPROF_TEXT,
	CAIRN_JEPROF_CALLGRIND,
	CAIRN_JEPROF_LIST,
	CAIRN_JEPROF_DISASM,
	CAIRN_JEPROF_SYMBOLS,
	CAIRN_JEPROF_RAW,
	CAIRN_JEPROF_COLLAPSED,
	CAIRN_JEPROF_INTERACTIVE,
	CAIRN_JEPROF_PICTURE, /* which one is in `picture` */
};

/* Profiles by name, of which there may be any number. */
struct cairn_jeprof_profiles {
	char **items;
	size_t count;
};

struct cairn_jeprof_options {
	bool help, version, cum, interactive, functions, lines, addresses, files;
	bool text, callgrind, symbols, gv, evince, web, dot, ps, pdf, svg, gif, raw, collapsed;
	bool inuse_space, inuse_objects, alloc_space, alloc_objects, show_bytes, drop_negative;
	bool total_delay, contentions, mean_delay, heapcheck, test, debug, debug_syms_by_id;
	const char *base, *add_lib, *lib_prefix, *list, *disasm, *focus, *thread, *ignore, *retain, *exclude, *tools;
	uint64_t seconds, node_count, max_degree, scale, test_stride, memory;
	double node_fraction, edge_fraction;
	/* Not options: made of the above and of the operands. */
	enum cairn_jeprof_mode mode;
	const char *picture;    /* "svg", "dot", …; NULL in other modes */
	const char *program;    /* NULL when there is none */
	const char *service;    /* the first remote profile where there is no program, else NULL: its pages name the addresses */
	struct cairn_jeprof_profiles profiles; /* files, or URLs until they are fetched; borrowed from the command line */
};

/* Fills OPTIONS from the command line and checks that they go together. */
bool cairn_jeprof_parse(struct cairn_jeprof_options *options, int argc, char **argv, struct cairn_error *error);

/* What the options say about the view. */
struct cairn_view_options cairn_jeprof_view_options(const struct cairn_jeprof_options *options);

extern const struct cairn_option_group cairn_jeprof_groups[];

/* Whether NAME is a place to fetch from, rather than a file: it is no file, and reads like a URL or host:port. */
bool cairn_jeprof_is_remote(const char *name);

/* Fetches the remote ones of `profiles` into the folder for them, all at once, and puts their file names in the place; names
 * live in ARENA. */
bool cairn_jeprof_fetch(struct cairn_jeprof_options *options, struct cairn_arena *arena, struct cairn_error *error);

/* Names the locations of PROFILE by asking the `service`. False, with a sentence, where that names nothing. */
bool cairn_jeprof_ask_names(const struct cairn_jeprof_options *options, struct cairn_profile *profile, struct cairn_error *error);

/* The call graph as the `picture` asks for: appended to OUT, or written to a file and shown by a viewer. */
bool cairn_jeprof_picture(const struct cairn_jeprof_options *options, struct cairn_jeprof *jeprof, struct cairn_buffer *out,
			  struct cairn_error *error);

/* --symbols: a memory map and addresses on standard input, the name of each address on standard output. Addresses that the map does not
 * cover are taken as those that the binaries of FIND were linked at; MEMORY as for --memory. Returns the exit code. */
int cairn_jeprof_symbols(const struct cairn_find_options *find, uint64_t memory);

#endif
