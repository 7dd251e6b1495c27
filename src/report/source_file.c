/* source_file.c - finds source files, and divides them into lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/source_file.h"

#include "base/array.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static bool is_file(const char *path)
{
	struct stat status;
	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* PATH, or the longest end of it, that exists below FOLDER. The caller frees it; NULL if there is none. */
static char *find_below(struct cairn_bytes folder, const char *path)
{
	while (*path == '/')
		path++;
	while (*path) {
		char *candidate;
		if (asprintf(&candidate, "%.*s/%s", (int)folder.length, folder.data, path) < 0)
			cairn_out_of_memory(folder.length);
		if (is_file(candidate))
			return candidate;
		free(candidate);
		path += strcspn(path, "/");
		path += strspn(path, "/");
	}
	return NULL;
}

static char *find_code(const char *path, const char *search)
{
	for (const char *at = search ? search : ".";;) {
		size_t length = strcspn(at, ":");
		char *found = length ? find_below((struct cairn_bytes){at, length}, path) : NULL;
		if (found)
			return found;
		if (!at[length])
			break;
		at += length + 1;
	}
	return is_file(path) ? strdup(path) : NULL;
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

bool cairn_source_file_open(struct cairn_source_file *code, const char *path, const char *search)
{
	*code = (struct cairn_source_file){0};
	if (strlen(path) >= PATH_MAX)
		return false;
	code->path = find_code(path, search);
	if (!code->path || !cairn_file_read(&code->file, code->path, NULL)) {
		free(code->path);
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
