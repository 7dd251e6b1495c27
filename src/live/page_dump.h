/* page_dump.h - a dump that a `cairn serve` takes of a process which it follows.
 *
 * A command that judges a process says the same sentence as its page if both judge the same dump. So each `cairn serve` listens on an
 * abstract name, too, where commands of its user and root find it: it takes a snapshot, shows it, and answers with it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_PAGE_DUMP_H
#define CAIRN_LIVE_PAGE_DUMP_H

#include "base/buffer.h"

enum { CAIRN_PAGE_DUMP_NAME = 40 };

/* The name on which the `cairn serve` that is process SERVER listens, with a leading @. */
char *cairn_page_dump_name(int server, char out[CAIRN_PAGE_DUMP_NAME]);

/* Has a page that follows process PID take a dump, and appends it to DUMP. Returns false if there is none, or it cannot: then nothing is
 * appended. */
bool cairn_page_dump(int pid, struct cairn_buffer *dump);

#endif
