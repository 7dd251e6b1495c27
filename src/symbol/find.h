/* find.h - finds the files that can name the code of a profile's module.
 *
 * There are two steps. The *binary* is the file that was loaded, identified by its build-id if the profile has one; finding it reads only
 * headers. The *debug files* are all files that describe it: itself, a separate debug file, dwz's shared file, a package of split DWARF,
 * a mini symbol table. A file of another build is never used: a wrong name is worse than none.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_FIND_H
#define CAIRN_SYMBOL_FIND_H

#include "profile/profile.h"
#include "symbol/identity.h"
#include "symbol/lookup.h"

/* The places that the user named. Borrowed: they live as long as the finder. */
struct cairn_find_options {
	const char *const *binaries; /* used for the module with their build-id, else with their name, else for the program itself */
	size_t binary_count;
	const char *const *symbols; /* folders: DIR/name, DIR/path, DIR/.build-id/xx/yyyy.debug, DIR/xx/yyyy.debug */
	size_t symbols_count;
	const char *sysroot; /* NULL, or the root of the profiled machine's file system */
	const char *process_root; /* NULL, or /proc/PID/root of the profiled process, if its root is not ours */
	bool debuginfod;     /* ask the servers of DEBUGINFOD_URLS */
};

/* The search of one job; fill `options`, leave the rest zero. For one thread at a time. */
struct cairn_finder {
	const struct cairn_find_options *options;
	struct cairn_arena arena; /* all results live here */
	struct cairn_named_file *binaries; /* the files of `options`, each read once */
};

void cairn_finder_free(struct cairn_finder *finder);

/* The file of a module. */
struct cairn_binary {
	const char *path; /* NULL if there is none that can be used */
	struct cairn_identity identity;
	bool fits;           /* its code is as long as the mapping (fit.h); for files without a build-id */
	bool is_debug_file;  /* the binary is gone, but its debug file is here */
	const char *reason;  /* why there is none; continues a sentence that begins with the module's name */
	const char *warning; /* a complete sentence about doubts; NULL if there are none */
};

/* Whether a module of that path has a file at all: not [vdso], //anon, /memfd:… and the like. */
bool cairn_module_has_file(const char *path);

/* Finds the file of PROFILE's module. BINARY->path is NULL, with a reason, when there is none. */
void cairn_find_binary(struct cairn_finder *finder, const struct cairn_profile *profile, const struct cairn_module *module,
		       struct cairn_binary *binary);

/* Gives every module of PROFILE without a build-id that of its file, so that profiles of different runs can be compared. Doubts become
 * warnings of the profile. */
void cairn_modules_identify(struct cairn_profile *profile, const struct cairn_find_options *options);

/* Maps the programs that the user named where they were linked, for the locations of PROFILE that no mapping covers: profiles without a
 * memory map have addresses all the same. Only those that are always loaded there (ET_EXEC), unless the addresses are known to be
 * AS_LINKED; a file that cannot be read is then a warning of the profile. */
void cairn_modules_map(struct cairn_profile *profile, const struct cairn_find_options *options, bool as_linked);

/* A path that was examined, and what was there: if all are unchanged, another search would find the same. */
struct cairn_probe {
	const char *path;
	uint64_t size, inode; /* 0 when there was nothing */
	int64_t modified_ns;
};

struct cairn_probe cairn_probe_now(const char *path);

/* The files that describe one binary, open. */
struct cairn_debug {
	struct cairn_symbols_files files; /* `binary` is NULL when it could not be opened */
	const char *debug_path;
	const char *note; /* why names or lines will be missing, as the end of a sentence; NULL if there is complete DWARF */
	bool damaged;     /* the note is about incomplete DWARF */
	struct cairn_probe *probes; /* of everything that could have led to a better answer */
	size_t probe_count, probe_capacity;
	char *mini_bytes;
};

void cairn_find_debug(struct cairn_finder *finder, const struct cairn_binary *binary, struct cairn_debug *debug);
void cairn_debug_close(struct cairn_debug *debug);

#endif
