/* account.h - the resident memory of one process, now or in a dump, split until it adds up (series/bill.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_RSS_ACCOUNT_H
#define CAIRN_LIVE_RSS_ACCOUNT_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/table.h"
#include "heap/walk.h"
#include "live/target.h"
#include "series/bill.h"

enum { CAIRN_ACCOUNT_NOTES = 8,
       CAIRN_ACCOUNT_NAME = 300 };

/* What one call path mapped itself. */
struct cairn_account_mapped {
	double resident;
	char *stack; /* names, each with a line end, the caller of mmap first */
};

/* Everything known about the process that was named; all zeroes to start with. */
struct cairn_account {
	struct cairn_bill_facts facts;
	struct cairn_bill bill;
	char process[CAIRN_ACCOUNT_NAME];
	int pid;
	int64_t time_ns;
	char huge_pages[16];
	uint64_t limit; /* that the process may have, of its control group or the machine; 0 when unknown */
	bool limit_of_group;
	uint64_t available; /* what the machine could still give to all processes; 0 when unknown */
	struct cairn_error notes[CAIRN_ACCOUNT_NOTES];
	size_t note_count;
	char cause[24], sentence[600]; /* why it is so much (live/why/why.h); "" unless somebody asked */
	bool is_outside;               /* the cause is not what the heap profile shows */
	struct cairn_account_mapped *mapped; /* the largest first; none unless cairn_account_name_mapped was called */
	size_t mapped_count;
};

/* From the text that the agent, or a dump, has. NAME is for messages. PID is its number on this machine, 0 for a
 * dump. If the process has no /proc (a bare container), ours is read. */
bool cairn_account_text(struct cairn_account *account, struct cairn_bytes text, const char *name, int pid, struct cairn_error *error);

/* From a dump that was read already, with its trailer. */
bool cairn_account_profile(struct cairn_account *account, const struct cairn_profile *profile, struct cairn_error *error);

/* What the bill has to know of other allocators than jemalloc comes from a walk of their heaps: all of it or, where glibc was asked, only what
 * threads keep of freed objects. Where the process has other allocators than glibc and jemalloc was not asked, all its heaps are taken
 * together. The walk of the dump, if it has one, is taken with its text. Returns false if an allocator that has to be known was not read. */
bool cairn_account_take_walk(struct cairn_account *account, const struct cairn_walk *walk);

/* Lists the call paths that mapped memory directly, with names, from the same TEXT; none if the dump has none. What code in the file
 * ALLOCATOR has mapped is left out ("": nothing). Takes as long as naming. */
void cairn_account_name_mapped(struct cairn_account *account, struct cairn_bytes text, const char *name, const char *allocator);

/* Frees ACCOUNT, which the caller has allocated, and what it owns. */
void cairn_account_free(struct cairn_account *account);

/* From the live process that NAME stands for, with or without an agent. TOKEN may be NULL. */
bool cairn_account_target(struct cairn_account *account, const char *name, const char *token, struct cairn_error *error);

/* Asks the agent of TARGET for the figures of an allocator other than jemalloc. They come only when asked for: the agent may have to make
 * threads of the host wait. */
void cairn_account_ask_malloc(struct cairn_account *account, struct cairn_target *target);

/* From a dump, or the newest dump of a folder. */
bool cairn_account_file(struct cairn_account *account, char *name, struct cairn_error *error);

/* Makes the bill of what was taken, and adds notes about what a reader should know. */
void cairn_account_settle(struct cairn_account *account);

/* Whether the profile knows of clearly less than what lives. */
bool cairn_account_has_gaps(const struct cairn_bill_facts *facts);

/* Whether it is not known which pages were touched, so that the bill guesses from which lines to subtract untouched
 * memory. */
bool cairn_account_is_guess(const struct cairn_account *account);

/* Writes the lines of the bill, "lines"; in text, those that are not 0. */
void cairn_account_lines(const struct cairn_account *account, struct cairn_table *table);

/* Appends one JSON object, as `cairn rss --json` prints it. */
void cairn_account_json(const struct cairn_account *account, struct cairn_buffer *out);

#endif
