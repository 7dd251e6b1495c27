/* note.h - notes for the person who runs the program, from parts of it that do not print.
 *
 * Such a part says what is worth knowing, and the program decides whether and how to show it (cmd/say.c). Without a taker, as in tests,
 * notes are dropped.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_NOTE_H
#define CAIRN_BASE_NOTE_H

#include <stddef.h>

/* Set before any thread is started. Any thread may call them. */
struct cairn_note_taker {
	void (*note)(const char *text); /* one sentence, without a full stop; NULL to drop it */
	/* DONE of TOTAL are done, the next is WHAT; DONE is TOTAL at the end. NULL if nobody looks. */
	void (*progress)(void *context, size_t done, size_t total, const char *what);
};
extern struct cairn_note_taker cairn_note_taker;

/* Hands a note on. Any thread. */
void cairn_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
