/* room.h - room for large contents: memory up to a limit of the process, unnamed files on disk beyond it.
 *
 * A file has no name from the start (O_TMPFILE) or loses it at once, so nobody else can open it and nothing is left behind, however the
 * process ends. Its blocks are allocated before it is handed out: a full disk is an error here, not a SIGBUS later. Folders that keep
 * their files in memory (tmpfs) are not used, and no file takes more than half of what is free.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_ROOM_H
#define CAIRN_BASE_ROOM_H

#include <stdbool.h>
#include <stddef.h>

enum { CAIRN_ROOM_FOLDERS = 4 };

/* Sets how much memory may be taken from now on, and the folders to put files into (copied), tried in order and made when first needed.
 * Without this call memory has no limit. Call it while no other thread takes room. */
void cairn_room_set(size_t memory, const char *const *folders, size_t folder_count);

/* Takes room for SIZE bytes. *DESCRIPTOR becomes -1 where they fit into memory: that much is then counted as used. Otherwise it is a file
 * of SIZE bytes, all zeroes, that the caller closes. False when there is no room in either. */
bool cairn_room_take(size_t size, int *descriptor);

/* A file without a name in FOLDER, for reading and writing; -1 with errno. */
int cairn_room_unnamed(const char *folder);

/* Gives back memory that was taken. */
void cairn_room_give(size_t size);

/* How much memory may still be taken; only tests call it. */
size_t cairn_room_left(void);

#endif
