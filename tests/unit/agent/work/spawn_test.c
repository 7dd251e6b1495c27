/* spawn_test.c - running a command without the host noticing: output, failure, limits, descriptors, signals.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/work/spawn.h"
#include "base/descriptor.h"
#include "base/pages.h"
#include "tap.h"
#include "without_first_thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static char variable[] = "WORD=hello";
static char *environment[] = {variable, NULL};
static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static enum cairn_spawn_result last_result;

/* Runs SCRIPT in a shell with INPUT and BASE; the output in TEXT, terminated. */
static bool run(const char *script, int input, int base, unsigned seconds, char *text, size_t size, struct cairn_error *error)
{
	struct cairn_buffer out = cairn_pages(1 << 20);
	struct cairn_spawn spawn = {"/bin/sh", {"sh", "-c", script}, environment, input, base, seconds, (uint64_t)1 << 30, NULL, NULL};
	last_result = cairn_spawn_run(&spawn, &out, error);
	snprintf(text, size, "%.*s", (int)out.length, out.length ? out.data : "");
	cairn_buffer_free(&out);
	return last_result == CAIRN_SPAWN_DONE;
}

/* Two commands that read one file must not share a position in it. */
static bool keeps_position(void)
{
	struct cairn_error error;
	char text[256];
	int file = cairn_descriptor_adopt(memfd_create("input", 0));
	bool good = write(file, "content", 7) == 7 && lseek(file, 3, SEEK_SET) == 3 &&
		    run("cat", file, -1, 10, text, sizeof text, &error) && strcmp(text, "content") == 0 && lseek(file, 0, SEEK_CUR) == 3;
	cairn_descriptor_close(file);
	return good;
}

/* A daemon closes its first descriptors and then opens others: ours are not to be among those even where few are allowed. */
static bool stays_away(void)
{
	struct rlimit few = {256, 256}, fewer = {60, 60};
	setrlimit(RLIMIT_NOFILE, &few);
	int first = cairn_descriptor_adopt(memfd_create("first", 0));
	setrlimit(RLIMIT_NOFILE, &fewer);
	int second = cairn_descriptor_adopt(memfd_create("second", 0));
	return first >= 200 && second >= 50 && second < 60;
}

static bool in_child(bool (*check)(void))
{
	int status = -1;
	pid_t child = tap_fork();
	if (child == 0)
		_exit(!check());
	return waitpid(child, &status, 0) == child && status == 0;
}

static atomic_bool reaping;

static void *reap_everything(void *context)
{
	while (atomic_load(&reaping))
		waitpid(-1, NULL, __WALL);
	return context;
}

/* A host that waits for whatever there is takes the end of what waits for our command: the command's own is still told. */
static void test_greedy_host(void)
{
	struct cairn_error error = {0};
	char text[256];
	int failed = 0, told = 0, good = 0;
	pthread_t thread;
	atomic_store(&reaping, true);
	pthread_create(&thread, NULL, reap_everything, NULL);
	for (int i = 0; i < 20; i++) {
		failed += !run("echo half; exit 3", -1, -1, 10, text, sizeof text, &error);
		told += strstr(error.text, "code 3") != NULL;
		good += run("echo whole", -1, -1, 10, text, sizeof text, &error) && strcmp(text, "whole\n") == 0;
	}
	atomic_store(&reaping, false);
	pthread_join(thread, NULL);
	is_int(failed, 20, "in a host that waits with __WALL a command that fails has failed");
	is_int(told, 20, "with its code");
	is_int(good, 20, "and one that does not has not");
}

static atomic_bool stopped;

/* Closes all that it finds once the command runs, as a host may that becomes a daemon, and then asks for the end. */
static void *close_and_stop(void *context)
{
	const char *sign = context;
	while (access(sign, F_OK) != 0)
		usleep(1000);
	for (int descriptor = 3; descriptor < 65536; descriptor++)
		close(descriptor);
	usleep(500000); /* so that the command's pipes are found closed first */
	atomic_store(&stopped, true);
	return NULL;
}

/* Commands whose pipes end long before they do. */
static void test_without_pipes(void)
{
	struct cairn_error error = {0};
	char text[256], sign[64], script[128];
	pthread_t thread;
	ok(!run("exec >&- 2>&-; exec sleep 30", -1, -1, 1, text, sizeof text, &error) && last_result == CAIRN_SPAWN_TOO_LONG,
	   "a command that closes its output and then takes too long: %s", error.text);
	ok(run("exec >&- 2>&-; sleep 0.3", -1, -1, 10, text, sizeof text, &error), "one that closes it and ends: %s", error.text);
	ok(!run("exec >&- 2>&-; sleep 0.3; exit 3", -1, -1, 10, text, sizeof text, &error) && strstr(error.text, "code 3"),
	   "one that closes it and fails: %s", error.text);
	snprintf(sign, sizeof sign, "/tmp/spawn_test.%d", (int)getpid());
	snprintf(script, sizeof script, "echo > %s; exec sleep 30", sign);
	struct cairn_buffer out = cairn_pages(1 << 20);
	struct cairn_spawn spawn = {"/bin/sh", {"sh", "-c", script}, environment, -1, -1, 60, (uint64_t)1 << 30, NULL, &stopped};
	pthread_create(&thread, NULL, close_and_stop, sign);
	is_int(cairn_spawn_run(&spawn, &out, &error), CAIRN_SPAWN_STOPPED, "a host that closes all descriptors can still stop: %s",
	       error.text);
	pthread_join(thread, NULL);
	unlink(sign);
	cairn_buffer_free(&out);
}

int main(void)
{
	if (TAP_THREAD_SANITIZER) {
		/* The shepherd shares this process's memory without being one of its threads, which that sanitizer cannot follow. */
		tap_skip("running commands", "not under ThreadSanitizer");
		return tap_done();
	}
	struct cairn_error error = {0};
	char text[256];
	ok(keeps_position(), "a command reads by a position of its own");
	ok(holds_without_first_thread(keeps_position), "also in a process whose first thread has ended");
	ok(in_child(stays_away), "descriptors are as high as the limit allows");
	signal(SIGCHLD, count_signal);
	int file = cairn_descriptor_adopt(memfd_create("input", 0));
	if (write(file, "content", 7) != 7)
		return 1;
	ok(run("echo $WORD; cat; cat <&3; ulimit -v", file, file, 10, text, sizeof text, &error), "a command: %s", error.text);
	is_text(text, "hello\ncontentcontent1048576\n", "its environment, both inputs from their start, its limit");
	ok(run("ls /proc/self/fd | wc -l", file, -1, 10, text, sizeof text, &error) && atoi(text) == 4, "no other descriptor is passed on");
	/* 32 and 33 are the C library's own: make passes them on ignored, and nobody can reset them by sigaction. */
	ok(run("grep -c 'SigBlk:\\s*0*$' /proc/self/status; grep -cE 'SigIgn:\\s*0*(180000000)?$' /proc/self/status", file, -1, 10, text,
	       sizeof text, &error), "it runs");
	is_text(text, "1\n1\n", "and no signal is blocked or ignored in it");
	ok(!run("echo half; echo because >&2; exit 3", -1, -1, 10, text, sizeof text, &error), "a failure");
	like_text(error.text, "code 3: because", "with its code and its words");
	ok(!run("kill -SEGV $$", -1, -1, 10, text, sizeof text, &error) && strstr(error.text, "signal 11"), "a crash: %s", error.text);
	ok(!run("sleep 30", -1, -1, 1, text, sizeof text, &error) && last_result == CAIRN_SPAWN_TOO_LONG, "one that takes too long: %s",
	   error.text);
	struct cairn_buffer out = cairn_pages(4096);
	struct cairn_spawn spawn = {"/nonexistent/cairn", {"cairn", "x"}, environment, -1, -1, 5, 1 << 30, NULL, NULL};
	ok(cairn_spawn_run(&spawn, &out, &error) == CAIRN_SPAWN_FAILED && strstr(error.text, "No such file"), "one that is not there: %s",
	   error.text);
	spawn.path = "/bin/cat";
	atomic_bool gone = true;
	spawn.gone = &gone;
	int zero = cairn_descriptor_adopt(memfd_create("zero", 0));
	spawn.input = zero;
	spawn.arguments[1] = "/dev/zero";
	ok(cairn_spawn_run(&spawn, &out, &error) == CAIRN_SPAWN_STOPPED, "one nobody waits for any more, or that writes without end: %s",
	   error.text);
	cairn_buffer_free(&out);
	cairn_descriptor_close(zero);
	cairn_descriptor_close(file);
	test_greedy_host();
	test_without_pipes();
	is_int(cairn_descriptors_count(), 0, "nothing stays open");
	is_int(signals, 0, "and there was no SIGCHLD");
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "nor a child to wait for");
	return tap_done();
}
