/* entries.h - the names in a folder, read without allocating: inside a host, opendir would use the host's malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_ENTRIES_H
#define CAIRN_BASE_ENTRIES_H

#include <dirent.h>

struct cairn_entries {
	int folder;
	long at, length; /* in the room: the next entry, and the end of those read */
	_Alignas(struct dirent64) char room[4096];
};

/* Starts with the first name in FOLDER, which the caller has opened and closes. If it is -1, there are no names. Two readers of one
 * descriptor would share its position. */
void cairn_entries_start(struct cairn_entries *entries, int folder);

/* The next entry, hidden ones, "." and ".." included; it is valid until the next call, and the caller may remove its file. Returns NULL at
 * the end, or if the folder cannot be read. */
const struct dirent64 *cairn_entries_next(struct cairn_entries *entries);

#endif
