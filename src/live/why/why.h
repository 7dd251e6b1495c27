/* why.h - collects what is known about the memory of a process, and finds the cause (series/cause.h).
 *
 * Of a process that runs here: the agent's snapshot if it has one, a walk of its heaps, its mappings and its control group. Of a folder:
 * its newest dump, with what `cairn dump` or `cairn watch` added from a walk, and the course of all dumps.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_WHY_WHY_H
#define CAIRN_LIVE_WHY_WHY_H

#include "live/rss/account.h"
#include "series/cause.h"

enum { CAIRN_WHY_NOTES = 6, CAIRN_WHY_PINS = 20 };

/* All zeroes to start with. */
struct cairn_why {
	struct cairn_account *account; /* owned */
	struct cairn_walk walk;
	struct cairn_huge huge;
	struct cairn_arena arena; /* for all texts */
	struct cairn_cause_pin pins[CAIRN_WHY_PINS];
	struct cairn_cause_facts facts;
	struct cairn_causes causes;
	struct cairn_error notes[CAIRN_WHY_NOTES];
	size_t note_count;
	bool has_agent;
};

/* Of the running process that NAME stands for. TOKEN may be NULL. */
bool cairn_why_target(struct cairn_why *why, const char *name, const char *token, struct cairn_error *error);

/* Of a dump, or a folder of dumps of one service. */
bool cairn_why_file(struct cairn_why *why, char *name, struct cairn_error *error);

void cairn_why_free(struct cairn_why *why);

/* Settles ACCOUNT, which was taken from DUMP, and says there why its memory is so much, in the words of `cairn why`: by the walk and the
 * facts beside it that the dump has. NAME is for messages. */
void cairn_why_account(struct cairn_account *account, struct cairn_bytes dump, const char *name);

/* Of cairn_why: fills the pins from TEXT, a dump with the shares of pinned memory; nothing if it has none. */
void cairn_why_pins(struct cairn_why *why, struct cairn_bytes text, const char *name);

#endif
