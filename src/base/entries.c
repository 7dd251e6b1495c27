/* entries.c - getdents64 by its number: glibc has a function for it only since 2.30.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/entries.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

void cairn_entries_start(struct cairn_entries *entries, int folder)
{
	entries->folder = folder;
	entries->at = entries->length = 0;
	if (folder >= 0)
		lseek(folder, 0, SEEK_SET);
}

const struct dirent64 *cairn_entries_next(struct cairn_entries *entries)
{
	if (entries->at >= entries->length) {
		entries->at = 0;
		entries->length = entries->folder >= 0 ? syscall(SYS_getdents64, entries->folder, entries->room, sizeof entries->room) : 0;
		if (entries->length <= 0)
			return NULL;
	}
	const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries->room + entries->at);
	entries->at += entry->d_reclen;
	return entry;
}
