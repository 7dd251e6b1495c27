/* facts.c - reading /proc about this process, as the calling thread: /proc/self is empty once the first thread has ended.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/facts.h"

#include "base/descriptor.h"
#include "base/pages.h"
#include "base/peek.h"
#include "process/clock.h"
#include "process/proc.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/auxv.h>
#include <unistd.h>

bool cairn_facts_read(const char *path, struct cairn_buffer *out)
{
	int descriptor = cairn_descriptor_adopt(cairn_peek_open(path));
	if (descriptor < 0)
		return false;
	cairn_buffer_read(out, descriptor);
	cairn_descriptor_close(descriptor);
	return true;
}

/* When the program of this process was loaded, as it was noted. */
static struct {
	_Atomic pid_t pid;
	_Atomic int64_t at_ns;
} loaded;

void cairn_facts_program_loaded(void)
{
	loaded.at_ns = cairn_clock_wall_ns();
	loaded.pid = getpid();
}

/* A process that was a shell script for a while, and then became the service by exec, has started with the service. Where the two times
 * are close, the kernel's is the better one. */
static int64_t start_of_program(const struct cairn_life *life)
{
	int64_t start = cairn_life_start_ns(life);
	bool is_later = loaded.pid == life->pid && start > 0 && loaded.at_ns > start + CAIRN_SECOND_NS;
	return is_later ? loaded.at_ns : start;
}

/* The start tells one process from the next of the same number, so it is worked out once: later the wall clock may have moved. A
 * forked child works out its own. */
static int64_t known_start_ns(const struct cairn_life *life)
{
	static _Atomic pid_t known;
	static _Atomic int64_t start;
	if (known != life->pid) {
		start = start_of_program(life);
		known = life->pid;
	}
	return start;
}

void cairn_facts_get(struct cairn_facts *facts)
{
	char path[CAIRN_PROC_PATH];
	*facts = (struct cairn_facts){.pid = cairn_proc_own()};
	cairn_life_of(facts->pid, &facts->life);
	facts->start_ns = known_start_ns(&facts->life);
	gethostname(facts->host, sizeof facts->host - 1);
	ssize_t length = readlink(cairn_proc_path(path, 0, "exe"), facts->executable, sizeof facts->executable - 1);
	facts->executable[length > 0 ? length : 0] = 0;
	if (length <= 0) { /* no /proc here: as it was started, if that was by its path */
		const char *started = (const char *)getauxval(AT_EXECFN);
		size_t room = started && started[0] == '/' ? strnlen(started, sizeof facts->executable - 1) : 0;
		memcpy(facts->executable, started ? started : "", room);
		facts->executable[room] = 0;
	}
	struct cairn_buffer command = cairn_pages(4096);
	cairn_facts_read(cairn_proc_path(path, 0, "cmdline"), &command);
	size_t kept = command.length < sizeof facts->command ? command.length : sizeof facts->command - 1;
	for (size_t i = 0; i < kept; i++)
		facts->command[i] = (unsigned char)command.data[i] < ' ' ? ' ' : command.data[i];
	while (kept > 0 && facts->command[kept - 1] == ' ')
		facts->command[--kept] = 0;
	cairn_buffer_free(&command);
}
