/* diagnosis.h - what `cairn doctor` examines: a running process, a program or library, or a dump, with everything that can be found out
 * from outside, and from its agent if it has one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_DOCTOR_DIAGNOSIS_H
#define CAIRN_LIVE_DOCTOR_DIAGNOSIS_H

#include "dump/trailer.h"
#include "live/malloc_conf.h"
#include "live/target.h"
#include "profile/profile.h"
#include "protocol/attached.h"
#include "symbol/jemalloc.h"

#include <sys/types.h>

enum cairn_diagnosis_kind { CAIRN_DIAGNOSIS_PROCESS = 1, CAIRN_DIAGNOSIS_BINARY = 2, CAIRN_DIAGNOSIS_DUMP = 4 };

/* A file of code: the program, or a library it has loaded. */
struct cairn_diagnosis_module {
	const char *path;      /* as the process sees it, or as it was named */
	const char *reachable; /* the path for opening it; NULL if we cannot */
	bool deleted;          /* removed or replaced on disk since it was loaded */
	uint64_t start, offset; /* where its code is loaded, and where in the file that is; 0 for a file */
	struct cairn_elf *elf; /* NULL when it could not be read */
	bool has_jemalloc;
	struct cairn_elf_jemalloc jemalloc;
	bool exports_malloc;
};

struct cairn_diagnosis {
	enum cairn_diagnosis_kind kind;
	const char *name;
	struct cairn_arena arena;

	/* A process, or a binary. The first module is the program. */
	struct cairn_diagnosis_module *modules;
	size_t module_count, module_capacity;
	const char *unread; /* one of them that could not be read; NULL when all could */
	const struct cairn_diagnosis_module *allocator; /* the jemalloc in use, if known; NULL for none */
	size_t jemalloc_count;
	struct cairn_malloc_conf conf; /* compiled in, by symbolic link and by environment, in that order */
	const char *variable;          /* that its jemalloc reads; NULL if unknown */

	/* A process. */
	int pid;
	char state; /* its letter as in proc(5) */
	uid_t user; /* effective, as is the group */
	gid_t group;
	struct cairn_bytes environment, limits; /* of /proc; empty when they cannot be read */
	const char *groups; /* the numbers of its other groups */
	bool has_environment, has_maps;
	bool is_secure; /* started with the privileges of another user (set-user-ID): the environment is not trusted */
	const char *root; /* before its paths: "/proc/PID/root" */
	const char *folder; /* its working directory, as it sees it; NULL if unknown */
	uint64_t resident;
	bool has_agent;
	struct cairn_target target;
	struct cairn_error agent_problem; /* why no agent answers */
	struct cairn_buffer agent;        /* its status as JSON */
	bool can_attach;                  /* `cairn attach` would work, though there is no need where an agent answers */
	bool counts_nothing;              /* it would refuse, since it finds no allocator that it can count */
	struct cairn_error attach_problem; /* why it would not */

	/* A dump. */
	struct cairn_buffer dump;
	bool has_trailer;
	struct cairn_trailer trailer;
	struct cairn_profile profile;
};

/* Collects the facts about NAME: a PID, the socket or URL of an agent, a program or library, or a dump. Fails with a message if it cannot
 * be examined. The caller frees DIAGNOSIS in either case. */
bool cairn_diagnosis_see(struct cairn_diagnosis *diagnosis, const char *name, const char *token, struct cairn_error *error);
void cairn_diagnosis_free(struct cairn_diagnosis *diagnosis);

/* Whether the program has no loader: nothing can be preloaded into it, and its jemalloc aborts in libgcc's unwinder once prof:true
 * is set. */
bool cairn_diagnosis_is_static(const struct cairn_diagnosis *diagnosis);

/* The module whose path contains NAME, or NULL. Borrowed. */
const struct cairn_diagnosis_module *cairn_diagnosis_find_module(const struct cairn_diagnosis *diagnosis, const char *name);

/* The library of the agent that the process has loaded, whether or not the agent runs; NULL for none. Borrowed. */
const struct cairn_diagnosis_module *cairn_diagnosis_library(const struct cairn_diagnosis *diagnosis);

/* Reads what that library says of itself. Returns false if that fails. */
bool cairn_diagnosis_attach_state(const struct cairn_diagnosis *diagnosis, struct cairn_attach *out);

/* Whether Cairn's own engine, which needs nothing of jemalloc, profiles the process or wrote the dump. */
bool cairn_diagnosis_is_own_engine(const struct cairn_diagnosis *diagnosis);

/* Whether the process has the rights of GROUP. */
bool cairn_diagnosis_has_group(const struct cairn_diagnosis *diagnosis, gid_t group);

/* The value of a variable in the environment that the process was started with, or NULL. Borrowed. */
const char *cairn_diagnosis_variable(const struct cairn_diagnosis *diagnosis, const char *name);

/* The value at PATH in the JSON of the agent's status, copied to OUT. */
void cairn_diagnosis_field(const struct cairn_diagnosis *diagnosis, const char *path, char *out, size_t size);

/* Reads SIZE bytes of the process's memory at the address of NAME in its jemalloc. Returns false if that fails. */
bool cairn_diagnosis_peek(const struct cairn_diagnosis *diagnosis, const char *name, void *out, size_t size);

/* Whether the root of the process differs from ours. */
bool cairn_diagnosis_has_own_root(struct cairn_diagnosis *diagnosis);

/* Whether `cairn attach` would find no allocator that it can count in a program that has to be counted from outside: then it refuses. */
bool cairn_diagnosis_counts_nothing(const struct cairn_diagnosis *diagnosis);

#endif
