/* path.h - parts of a path.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_PATH_H
#define CAIRN_BASE_PATH_H

#include "base/bytes.h"

/* The part after the last slash of PATH; all of it if that is empty. Borrows. */
static inline const char *cairn_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* The same for a path without a terminator. */
static inline struct cairn_bytes cairn_path_base(struct cairn_bytes path)
{
	const char *slash = path.length ? memrchr(path.data, '/', path.length) : NULL;
	size_t folder = slash ? (size_t)(slash - path.data) + 1 : 0;
	return folder < path.length ? cairn_bytes_skip(path, folder) : path;
}

/* The name of the program in a COMMAND line, up to a blank or colon and without its folder. It may be the name of a link to the program,
 * or one that the process gave itself ("nginx: master process"). Borrows. */
static inline struct cairn_bytes cairn_path_program(struct cairn_bytes command)
{
	size_t length = 0;
	while (length < command.length && command.data[length] != ' ' && command.data[length] != ':')
		length++;
	return cairn_path_base((struct cairn_bytes){command.data, length});
}

/* The length of the folder in PATH with its slash; 0 where there is none. What follows is the last part, which may be empty. */
static inline size_t cairn_path_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Whether PATH leads to the kernel's own files or to devices, if it begins at the root: into /proc, /sys or /dev, however it is spelled.
 * Links are not followed. No file that a program is made of is there, but a path from an untrusted file may say so. */
static inline bool cairn_path_is_special(const char *path)
{
	static const char *const folders[] = {"proc", "sys", "dev"};
	for (size_t depth = 0; *(path += strspn(path, "/"));) {
		size_t length = strcspn(path, "/");
		bool stays = length == 1 && path[0] == '.', leads_up = length == 2 && path[0] == '.' && path[1] == '.';
		for (size_t i = 0; depth == 0 && i < sizeof folders / sizeof *folders; i++)
			if (length == strlen(folders[i]) && memcmp(path, folders[i], length) == 0)
				return true;
		depth = leads_up ? depth - (depth > 0) : depth + !stays;
		path += length;
	}
	return false;
}

/* Takes the " (deleted)" that the kernel puts behind the path of a file that is gone off PATH; whether there was one. */
static inline bool cairn_path_take_deleted(struct cairn_bytes *path)
{
	static const char mark[] = " (deleted)";
	bool deleted = path->length > sizeof mark - 1 && cairn_bytes_end_with(*path, mark);
	if (deleted)
		path->length -= sizeof mark - 1;
	return deleted;
}

#endif
