/* object.h - the ELF objects loaded in this process: their symbols and build-ids, read in place.
 *
 * Nothing allocates. A module is borrowed from the loader during a cairn_objects_visit callback, in which it cannot be unloaded.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_UNWIND_OBJECT_H
#define CAIRN_AGENT_UNWIND_OBJECT_H

#include "base/bytes.h"

#include <link.h>

struct cairn_object {
	const char *path; /* /proc/self/exe for the program itself, "" or a bare name for an object without a file (the vdso) */
	bool program;     /* the executable, not a library */
	uintptr_t bias;   /* added to a link-time address */
	const ElfW(Phdr) *headers;
	size_t headers_count;
};

/* dl_iterate_phdr, which holds a lock of the loader that libc does not release in a forked child: a child forked meanwhile could never
 * load a library again. So a fork and a visit wait for each other, but neither for ever: what one waits for may itself wait for the
 * thread that waits. A fork waits as long as a visit takes, at most a tenth of a second, and a visit for forks of other threads, at most
 * two seconds. A fork handler of the host that visits does not wait for its own fork. */
int cairn_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context);

/* The same for a thread of the host that has not asked for it: it does not wait at all. Returns false if another thread forks; nothing is
 * visited then. */
bool cairn_loader_try_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context);

/* Around other calls that take a lock which libc does not release in a forked child: dlsym, localtime_r. They count as a visit. */
void cairn_loader_enter(void);
void cairn_loader_leave(void);

/* The fork handlers. */
void cairn_loader_before_fork(void);
void cairn_loader_after_fork(void);
void cairn_loader_in_child(void);

/* The object that the loader describes by INFO; the FIRST of its list is the program. */
struct cairn_object cairn_object_of(const struct dl_phdr_info *info, bool first);

/* Calls VISIT for each module until it returns true; returns whether one did. */
bool cairn_objects_visit(bool (*visit)(void *context, const struct cairn_object *module), void *context);

/* Calls SEE for each function of MODULE whose name ends in SUFFIX until it returns true. `exported` searches the dynamic symbols in
 * memory, `local` searches .symtab in the file, which must be exactly the loaded file, and ends when somebody changes it meanwhile; it
 * passes over names of more than 2,048 bytes. */
typedef bool cairn_symbol_visitor(void *context, const struct cairn_object *module, const char *name, uintptr_t address);
bool cairn_object_exported(const struct cairn_object *module, const char *suffix, cairn_symbol_visitor *see, void *context);
bool cairn_object_local(const struct cairn_object *module, const char *suffix, cairn_symbol_visitor *see, void *context);

/* The GNU build-id note; empty if there is none. */
struct cairn_bytes cairn_object_build_id(const struct cairn_object *module);

/* Whether ADDRESS is in executable memory of MODULE. */
bool cairn_object_executes(const struct cairn_object *module, uintptr_t address);

#endif
