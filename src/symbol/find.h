/* find.h - from a module of a profile to the files that can name its code.
 *
 * Two steps. The *binary* is the file that was loaded, known by its build-id where the profile has one; finding it reads
 * headers only. The *debug files* are all that describe it: itself, a separate debug file, the file dwz shared parts into,
 * a package of split DWARF, a mini symbol table. A file of another build is never taken: a wrong name is worse than none.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_FIND_H
#define CAIRN_SYMBOL_FIND_H

#include "profile/profile.h"
#include "symbol/identity.h"
#include "symbol/lookup.h"

/* Where a person pointed. Borrowed: lives as long as the finder. */
struct cairn_find_options {
	const char *const *binaries; /* taken for the module of their build-id, else of their name, else the program itself */
	size_t binary_count;
	const char *const *symbols; /* folders: DIR/name, DIR/path, DIR/.build-id/xx/yyyy.debug, DIR/xx/yyyy.debug */
	size_t symbols_count;
	const char *sysroot; /* NULL, or where the file system of the profiled machine is */
	const char *process_root; /* NULL, or /proc/PID/root of the profiled process, where that is another than ours */
	bool debuginfod;     /* ask the servers of DEBUGINFOD_URLS */
};

/* One job's searching; fill `options`, leave the rest zero. Used by one thread at a time. */
struct cairn_finder {
	const struct cairn_find_options *options;
	struct cairn_arena arena; /* all results live here */
	struct cairn_named_file *binaries; /* the files of `options`, each read once */
};

void cairn_finder_free(struct cairn_finder *finder);

/* The file of a module. */
struct cairn_binary {
	const char *path; /* NULL when there is none to take */
	struct cairn_identity identity;
	bool fits;           /* its code is as long as what was mapped (fit.h): said of files that no build-id identifies */
	bool is_debug_file;  /* the binary is gone, but its debug file is here */
	const char *reason;  /* why there is none: the end of a sentence that begins with the module's name */
	const char *warning; /* a whole sentence about doubts; NULL for none */
};

/* Whether a module of that path has a file at all: not [vdso], //anon, /memfd:… and the like. */
bool cairn_module_has_file(const char *path);

/* Finds the file of PROFILE's module. BINARY->path is NULL, with a reason, when there is none. */
void cairn_find_binary(struct cairn_finder *finder, const struct cairn_profile *profile, const struct cairn_module *module,
		       struct cairn_binary *binary);

/* Gives every module of PROFILE that has no build-id the one of its file, so that profiles of different runs can be
 * compared. Doubts become warnings of the profile. */
void cairn_modules_identify(struct cairn_profile *profile, const struct cairn_find_options *options);

/* A path that was looked at, and what was there: when all are as they were, looking again would find the same. */
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
	const char *note; /* why names or lines will be missing: the end of a sentence; NULL when there is DWARF, whole */
	bool damaged;     /* the note is about DWARF that is there but not whole */
	struct cairn_probe *probes; /* of everything that could have been better */
	size_t probe_count, probe_capacity;
	char *mini_bytes;
};

void cairn_find_debug(struct cairn_finder *finder, const struct cairn_binary *binary, struct cairn_debug *debug);
void cairn_debug_close(struct cairn_debug *debug);

#endif
