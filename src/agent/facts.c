/* facts.c - reading /proc/self.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/facts.h"

#include "base/pages.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

bool cairn_facts_read(const char *path, struct cairn_buffer *out)
{
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return false;
	for (;;) {
		char *room = cairn_buffer_room(out, 4096);
		ssize_t length = room ? read(descriptor, room, out->capacity - out->length) : 0;
		if (length <= 0)
			break;
		out->length += (size_t)length;
	}
	close(descriptor);
	return true;
}

/* Field 22 of /proc/self/stat, in clock ticks since the machine started; the name in field 2 may hold anything. */
static int64_t start_ns(void)
{
	struct cairn_buffer text = cairn_pages(4096);
	cairn_facts_read("/proc/self/stat", &text);
	const char *end = text.length ? memrchr(text.data, ')', text.length) : NULL;
	int64_t result = 0;
	if (end) {
		struct cairn_bytes rest = cairn_bytes_skip(cairn_buffer_bytes(&text), (size_t)(end - text.data) + 1);
		for (int field = 2; field < 22 && rest.length > 0; rest = cairn_bytes_skip(rest, 1))
			field += rest.data[0] == ' ';
		uint64_t ticks;
		struct timespec boot, wall;
		if (cairn_text_decimal(&rest, &ticks) && clock_gettime(CLOCK_BOOTTIME, &boot) == 0) {
			clock_gettime(CLOCK_REALTIME, &wall);
			int64_t booted = ((int64_t)wall.tv_sec - boot.tv_sec) * 1000000000 + wall.tv_nsec - boot.tv_nsec;
			result = booted + (int64_t)(ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK)));
		}
	}
	cairn_buffer_free(&text);
	return result;
}

/* The start tells one process from the next of the same number, so it is worked out once: later the wall clock may have moved. A
 * forked child works out its own. */
static int64_t known_start_ns(void)
{
	static _Atomic pid_t known;
	static _Atomic int64_t start;
	if (known != getpid()) {
		start = start_ns();
		known = getpid();
	}
	return start;
}

void cairn_facts_get(struct cairn_facts *facts)
{
	*facts = (struct cairn_facts){.pid = getpid(), .start_ns = known_start_ns()};
	gethostname(facts->host, sizeof facts->host - 1);
	ssize_t length = readlink("/proc/self/exe", facts->executable, sizeof facts->executable - 1);
	facts->executable[length > 0 ? length : 0] = 0;
	struct cairn_buffer command = cairn_pages(4096);
	cairn_facts_read("/proc/self/cmdline", &command);
	size_t kept = command.length < sizeof facts->command ? command.length : sizeof facts->command - 1;
	for (size_t i = 0; i < kept; i++)
		facts->command[i] = (unsigned char)command.data[i] < ' ' ? ' ' : command.data[i];
	while (kept > 0 && facts->command[kept - 1] == ' ')
		facts->command[--kept] = 0;
	cairn_buffer_free(&command);
}

uint64_t cairn_facts_kilobytes(struct cairn_bytes text, const char *name)
{
	struct cairn_bytes line;
	while (cairn_text_line(&text, &line, NULL)) {
		uint64_t value;
		if (!cairn_text_take(&line, name) || !cairn_text_take(&line, ":"))
			continue;
		line = cairn_text_trim(line);
		return cairn_text_decimal(&line, &value) ? value << 10 : 0;
	}
	return 0;
}
