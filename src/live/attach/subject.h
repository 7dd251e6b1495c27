/* subject.h - a process that is to be attached to, seen from outside: its modules, their symbols and unwind tables, and its memory.
 *
 * Nothing here stops or changes the process. Modules are read from the files they were loaded from, through the process's own root.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_ATTACH_SUBJECT_H
#define CAIRN_LIVE_ATTACH_SUBJECT_H

#include "frame/eh_frame.h"
#include "symbol/elf.h"

enum cairn_subject_kind {
	CAIRN_SUBJECT_OTHER,
	CAIRN_SUBJECT_PROGRAM,
	CAIRN_SUBJECT_LIBC,
	CAIRN_SUBJECT_LOADER,
	CAIRN_SUBJECT_ALLOCATOR, /* a library that replaces malloc */
	CAIRN_SUBJECT_AGENT,     /* libcairn */
};

struct cairn_subject_module {
	char *path;
	enum cairn_subject_kind kind;
	uint64_t start, end; /* all of its mappings */
	uint64_t bias;
	struct cairn_elf *elf;    /* NULL where the file cannot be read */
	struct cairn_image image; /* for its unwind tables; no bytes where it has none */
	uint64_t unwind_header;   /* address of .eh_frame_hdr */
};

struct cairn_subject {
	int pid;
	int memory; /* /proc/PID/mem */
	struct cairn_subject_module *modules;
	size_t count;
	bool allocator_inside; /* malloc is code of the program itself */
	bool nameless;         /* no agent can be inside, who would count calls by the names of what is called: a static program, or musl */
};

/* Reads what process PID has mapped. Close it in either case. */
bool cairn_subject_open(struct cairn_subject *subject, int pid, struct cairn_error *error);
void cairn_subject_close(struct cairn_subject *subject);

/* The module that ADDRESS is in, and the first of a kind; NULL for none. */
const struct cairn_subject_module *cairn_subject_at(const struct cairn_subject *subject, uint64_t address);
const struct cairn_subject_module *cairn_subject_find(const struct cairn_subject *subject, enum cairn_subject_kind kind);

/* The address of the dynamic symbol NAME of MODULE in the process; 0 for none. */
uint64_t cairn_subject_symbol(const struct cairn_subject_module *module, const char *name);

/* The name of the dynamic symbol that covers ADDRESS; NULL for none. */
const char *cairn_subject_name(const struct cairn_subject_module *module, uint64_t address);

/* Copies memory of the process; how much there was. Writing also changes private pages that are read-only. */
size_t cairn_subject_read(const struct cairn_subject *subject, uint64_t address, void *out, size_t size);
bool cairn_subject_write(const struct cairn_subject *subject, uint64_t address, const void *bytes, size_t size);

/* SIZE bytes at the end of the last page of some module's code or of its data, that no module uses. The address; 0 for none. Of data, *MORE
 * becomes how many bytes are free behind them. */
uint64_t cairn_subject_room_in_data(const struct cairn_subject *subject, size_t size, size_t *more);
/* Of code, the Nth that there is; ORIGINAL becomes what its file has there, which is what the process had before anything was written. */
uint64_t cairn_subject_room_in_code(const struct cairn_subject *subject, size_t n, size_t size, void *original);

/* How system calls are filtered: each thread may have a filter of its own. Of one thread, and the strictest of all. */
enum cairn_subject_seccomp { CAIRN_SECCOMP_NONE, CAIRN_SECCOMP_FILTER, CAIRN_SECCOMP_STRICT };
enum cairn_subject_seccomp cairn_subject_thread_seccomp(int pid, int tid);
enum cairn_subject_seccomp cairn_subject_seccomp(int pid);

#endif
