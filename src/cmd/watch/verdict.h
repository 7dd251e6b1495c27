/* verdict.h - what the dumps that `cairn watch` keeps say so far: which call paths keep growing, or that none does.
 *
 * A thread of its own asks `cairn leaks`, a process with a low priority, about the dumps of one target after the other, and prints the
 * answer when it differs from the one before. It costs a twentieth of one processor at most: it asks when there are a tenth more dumps
 * than at the last time, and waits twenty times as long as the last answer took. What is kept of a target is as many dumps as a verdict
 * looks at; when there are more, every other one of the older half is left out.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_WATCH_VERDICT_H
#define CAIRN_CMD_WATCH_VERDICT_H

#include "live/watch/watched.h"

struct cairn_watch_verdicts;

/* For this number of TARGETS, whose dumps are in FOLDER, which is borrowed. NULL if no thread can be started. */
struct cairn_watch_verdicts *cairn_watch_verdicts_open(size_t targets, const char *folder, bool json);

/* FILE in the folder is another dump of the target of that NUMBER. Never waits. */
void cairn_watch_verdicts_add(struct cairn_watch_verdicts *verdicts, size_t number, const struct cairn_watched *watched, const char *file);

/* Says what is still to be said, for a few seconds at most, and ends. VERDICTS may be NULL. */
void cairn_watch_verdicts_close(struct cairn_watch_verdicts *verdicts);

#endif
