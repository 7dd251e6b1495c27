/* program_test.c - programs, scripts, and scripts that name what is none.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/program.h"

#include "tap.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/program.XXXXXX";

/* Writes the script NAME of FOLDER, whose interpreter is INTERPRETER, and returns its path, until the next call. */
static const char *script(const char *name, const char *interpreter)
{
	static char path[PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "we");
	if (file) {
		fprintf(file, "#!%s -x\nexit\n", interpreter);
		fclose(file);
	}
	return path;
}

/* A chain of LENGTH scripts, the last of which names /proc/self/exe. */
static struct cairn_program study_chain(int length)
{
	char interpreter[PATH_MAX] = "", name[20];
	ssize_t size = readlink("/proc/self/exe", interpreter, sizeof interpreter - 1);
	interpreter[size > 0 ? size : 0] = '\0';
	for (int i = 0; i < length; i++) {
		snprintf(name, sizeof name, "chain%d", i);
		strcpy(interpreter, script(name, interpreter));
	}
	return cairn_program_study(interpreter);
}

int main(void)
{
	char pipe_path[PATH_MAX], other[PATH_MAX];
	if (!mkdtemp(folder))
		return 1;
	struct cairn_program program = study_chain(0);
	ok(program.jemalloc != CAIRN_JEMALLOC_UNKNOWN && !program.is_script, "a program");
	program = study_chain(1);
	ok(program.jemalloc != CAIRN_JEMALLOC_UNKNOWN && program.is_script, "of a script, the interpreter");
	program = study_chain(5);
	ok(program.jemalloc != CAIRN_JEMALLOC_UNKNOWN && program.is_script, "as deep as the kernel follows");
	ok(study_chain(6).jemalloc == CAIRN_JEMALLOC_UNKNOWN, "and no deeper");
	program = cairn_program_study(script("zero", "/dev/zero"));
	ok(program.jemalloc == CAIRN_JEMALLOC_UNKNOWN && program.is_script, "an interpreter without an end is not read");
	snprintf(pipe_path, sizeof pipe_path, "%s/p", folder);
	ok(mkfifo(pipe_path, 0600) == 0 && cairn_program_study(script("waits", pipe_path)).jemalloc == CAIRN_JEMALLOC_UNKNOWN,
	   "a pipe is not waited for");
	snprintf(other, sizeof other, "%s/b", folder);
	script("b", script("a", other));
	ok(cairn_program_study(other).jemalloc == CAIRN_JEMALLOC_UNKNOWN, "two scripts that name each other");
	char command[100];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command) == 0 ? tap_done() : 1;
}
