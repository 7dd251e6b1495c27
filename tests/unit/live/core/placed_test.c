/* placed_test.c - the core in a process of our own: put there while it waits and while it computes, found again, visited, and harmless.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/core/placed.h"
#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	_Atomic uint64_t rounds, wrong;
	_Atomic bool ends;
} *shared;

/* Any register or flag that is lost makes a sum wrong, or an error of a call that was interrupted. */
static void compute(bool waits)
{
	while (!shared->ends) {
		uint64_t sum = 0, carry = 0;
		for (uint64_t i = 1; i < 1000; i++)
			carry += __builtin_add_overflow(sum, i * UINT64_C(0x9e3779b97f4a7c15), &sum);
		if (sum != UINT64_C(0x9e3779b97f4a7c15) * 499500 || carry < 400 || carry > 800)
			shared->wrong++;
		if (waits && usleep(300) != 0)
			shared->wrong++;
		shared->rounds++;
	}
	_exit(0);
}

static void await_rounds(uint64_t more)
{
	for (uint64_t until = shared->rounds + more; shared->rounds < until;)
		usleep(100);
}

static bool text_is_whole(const struct cairn_subject *subject)
{
	char original[512], there[512];
	uint64_t slot = cairn_subject_room_in_code(subject, 0, sizeof original, original);
	return slot && cairn_subject_read(subject, slot, there, sizeof there) == sizeof there && memcmp(there, original, sizeof there) == 0;
}

static void test_process(const char *name, bool waits)
{
	struct cairn_subject subject;
	struct cairn_placed placed, again;
	struct cairn_core core;
	struct cairn_error error = {{0}};
	enum { bytes = 1 << 20 };
	shared->rounds = shared->wrong = shared->ends = 0;
	pid_t child = fork();
	if (child == 0)
		compute(waits);
	await_rounds(2);
	ok(cairn_subject_open(&subject, child, &error) && cairn_placed_open(&placed, &subject, &error), "%s: it can be looked at %s", name, error.text);
	is_int((long)placed.base, 0, "%s: and has no core", name);
	core = (struct cairn_core){.ledger_bytes = bytes};
	ok(cairn_placed_visit(&placed, &core, 0, &error), "%s: the core is put there %s", name, error.text);
	ok(core.ledger && core.state == CAIRN_CORE_DONE, "%s: it has memory for a ledger", name);
	await_rounds(10);
	ok(cairn_placed_tidy(&placed, &error), "%s: nothing stays on the way there %s", name, error.text);
	char path[64], link[64];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", child, (int)core.descriptor);
	ssize_t length = readlink(path, link, sizeof link);
	ok(length > 0 && strncmp(link, "/memfd:cairn-ledger", 19) == 0 && core.descriptor > 100, "%s: in a memfd of a high number", name);
	ok(text_is_whole(&subject), "%s: its code is as it was", name);
	ok(cairn_placed_open(&again, &subject, &error) && again.base == placed.base, "%s: another command finds it %s", name, error.text);
	bool good = true;
	for (int i = 0; i < 20; i++) {
		core.call_count = 2;
		core.calls[0] = (struct cairn_core_call){.number = SYS_getpid};
		core.calls[1] = (struct cairn_core_call){.number = SYS_close, .arguments = {12345}};
		good = good && cairn_placed_visit(&again, &core, 0, &error) && core.calls[0].result == child && core.calls[1].result == -EBADF;
	}
	ok(good, "%s: and has it make system calls %s", name, error.text);
	ok(cairn_placed_tidy(&again, &error), "%s: nothing stays on the way there %s", name, error.text);
	await_rounds(10);
	ok(text_is_whole(&subject), "%s: its code is as it was", name);
	is_int((long)shared->wrong, 0, "%s: it notices nothing", name);
	shared->ends = true;
	int status;
	waitpid(child, &status, 0);
	is_int(status, 0, "%s: and ends as it would", name);
	ok(!cairn_placed_visit(&again, &core, 0, &error) && strstr(error.text, "process"),
	   "%s: one that has ended is not visited: %s", name, error.text);
	cairn_placed_close(&again);
	cairn_placed_close(&placed);
	cairn_subject_close(&subject);
}

/* A process that may map nothing more. */
static void test_refusal(void)
{
	struct cairn_subject subject;
	struct cairn_placed placed;
	struct cairn_error error = {{0}};
	shared->rounds = shared->wrong = shared->ends = 0;
	pid_t child = fork();
	if (child == 0) {
		struct rlimit none = {1 << 20, 1 << 20};
		setrlimit(RLIMIT_AS, &none);
		compute(true);
	}
	await_rounds(2);
	bool opened = cairn_subject_open(&subject, child, &error) && cairn_placed_open(&placed, &subject, &error);
	struct cairn_core core = {.ledger_bytes = 1 << 20};
	ok(opened && !cairn_placed_visit(&placed, &core, 0, &error) && strstr(error.text, "cannot map memory"),
	   "a process that may not map memory is left alone: %s", error.text);
	await_rounds(10);
	ok(cairn_placed_tidy(&placed, &error), "nothing stays on the way there %s", error.text);
	ok(text_is_whole(&subject) && shared->wrong == 0, "as it was");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cairn_placed_close(&placed);
	cairn_subject_close(&subject);
}

int main(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	test_process("waiting", true);
	test_process("computing", false);
	test_refusal();
	return tap_done();
}
