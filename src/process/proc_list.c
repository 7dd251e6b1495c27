/* proc_list.c - the names in /proc and /proc/PID/task that are numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/proc_list.h"

#include "base/text.h"
#include "process/proc.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

static bool begin(struct cairn_proc_list *list, const char *path)
{
	cairn_entries_start(&list->entries, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	return list->entries.folder >= 0;
}

bool cairn_proc_list_processes(struct cairn_proc_list *list)
{
	return begin(list, "/proc");
}

bool cairn_proc_list_threads(struct cairn_proc_list *list, int pid)
{
	char path[CAIRN_PROC_PATH];
	return begin(list, pid ? cairn_proc_path(path, pid, "task") : "/proc/self/task");
}

int cairn_proc_list_next(struct cairn_proc_list *list)
{
	for (const struct dirent64 *entry; (entry = cairn_entries_next(&list->entries));) {
		struct cairn_bytes name = cairn_bytes_of(entry->d_name);
		uint64_t number;
		if (cairn_text_decimal(&name, &number) && name.length == 0 && number > 0 && number <= INT_MAX)
			return (int)number;
	}
	cairn_proc_list_close(list);
	return 0;
}

void cairn_proc_list_close(struct cairn_proc_list *list)
{
	if (list->entries.folder >= 0)
		close(list->entries.folder);
	cairn_entries_start(&list->entries, -1);
}
