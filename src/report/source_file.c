/* source_file.c - finds source files, and divides them into lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/source_file.h"

#include "base/array.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const off_t size_most = 16 << 20;

/* Files of /proc have no size, and an empty source file has nothing to show. */
static bool is_file(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 && status.st_size <= size_most;
}

static bool leads_up(const char *path)
{
	for (; *path; path += strspn(path, "/")) {
		size_t length = strcspn(path, "/");
		if (length == 2 && path[0] == '.' && path[1] == '.')
			return true;
		path += length;
	}
	return false;
}

/* Whether PATH lies below FOLDER once all links are followed. */
static bool is_below(struct cairn_bytes folder, const char *path)
{
	char *name = strndup(folder.data, folder.length);
	char *top = name ? realpath(name, NULL) : NULL, *real = realpath(path, NULL);
	size_t length = top ? strlen(top) : 0;
	bool below = top && real && strncmp(real, top, length) == 0 && (length == 1 || real[length] == '/');
	free(name);
	free(top);
	free(real);
	return below;
}

/* PATH, or the longest end of it, that exists below FOLDER. The caller frees it; NULL if there is none. */
static char *find_below(struct cairn_bytes folder, const char *path, bool confined)
{
	while (*path == '/')
		path++;
	while (*path) {
		char *candidate;
		if (asprintf(&candidate, "%.*s/%s", (int)folder.length, folder.data, path) < 0)
			cairn_out_of_memory(folder.length);
		if (!leads_up(path) && is_file(candidate) && (!confined || is_below(folder, candidate)))
			return candidate;
		free(candidate);
		path += strcspn(path, "/");
		path += strspn(path, "/");
	}
	return NULL;
}

/* *NAMED tells whether it was found below a folder that the user named. */
static char *find_code(const char *path, const struct cairn_source_search *search, bool *named)
{
	const char *at = search->folders ? search->folders : search->confined ? "" : ".";
	*named = search->folders != NULL;
	for (;;) {
		size_t length = strcspn(at, ":");
		char *found = length ? find_below((struct cairn_bytes){at, length}, path, search->confined || (search->foreign && *named))
				     : NULL;
		if (found)
			return found;
		if (!at[length])
			break;
		at += length + 1;
	}
	*named = false;
	return !search->confined && is_file(path) ? strdup(path) : NULL;
}

/* Whether everybody may read CODE: the file, and so all folders that it is in. Links are followed first. */
static bool all_may_read(const struct cairn_source_file *code)
{
	struct stat status;
	char *real = realpath(code->path, NULL);
	/* It is the one that was opened, whatever has become of a link meanwhile. */
	bool all = real && stat(real, &status) == 0 && status.st_ino == code->file.inode && (status.st_mode & S_IROTH);
	for (char *slash = real; all && (slash = strrchr(real, '/'));) {
		*slash = '\0';
		all = stat(*real ? real : "/", &status) == 0 && (status.st_mode & S_IXOTH);
	}
	free(real);
	return all;
}

struct cairn_source_search cairn_source_search(const struct cairn_profile *profile, const char *folders)
{
	struct stat status;
	bool foreign = profile->facts.foreign;
	for (size_t i = 0; i < profile->module_count && !foreign; i++)
		foreign = stat(cairn_profile_string(profile, profile->modules[i].path), &status) == 0 && status.st_uid != 0 &&
			  status.st_uid != geteuid();
	return (struct cairn_source_search){.folders = folders, .foreign = foreign};
}

static void find_lines(struct cairn_source_file *code)
{
	struct cairn_bytes rest = code->file.bytes, line;
	while (rest.length > 0) {
		cairn_array_room(code->starts, code->count, code->capacity);
		code->starts[code->count++] = (size_t)(rest.data - code->file.bytes.data);
		cairn_text_line(&rest, &line, NULL);
	}
}

bool cairn_source_file_open(struct cairn_source_file *code, const char *path, const struct cairn_source_search *search)
{
	*code = (struct cairn_source_file){0};
	if (strlen(path) >= PATH_MAX)
		return false;
	bool named;
	code->path = find_code(path, search, &named);
	if (!code->path || !cairn_file_map(&code->file, code->path, NULL)) {
		free(code->path);
		return false;
	}
	if (search->foreign && !named && !all_may_read(code)) {
		cairn_source_file_close(code);
		*code = (struct cairn_source_file){.withheld = true};
		return false;
	}
	find_lines(code);
	return true;
}

void cairn_source_file_close(struct cairn_source_file *code)
{
	cairn_file_close(&code->file);
	free(code->path);
	free(code->starts);
}

struct cairn_bytes cairn_source_file_line(const struct cairn_source_file *code, size_t number)
{
	struct cairn_bytes line = {"", 0};
	if (number == 0 || number > code->count)
		return line;
	struct cairn_bytes rest = cairn_bytes_skip(code->file.bytes, code->starts[number - 1]);
	cairn_text_line(&rest, &line, NULL);
	if (line.length > 0 && line.data[line.length - 1] == '\r') /* part of the line end in files from some editors */
		line.length--;
	return line;
}
