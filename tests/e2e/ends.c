/* ends.c - a service that ends in many ways, for tests of `cairn run`.
 *
 * ends term MIB: keeps MIB; when told to end it gives all of it back first, as an orderly service does.
 * ends return|exit|_exit MIB: keeps MIB for a moment and ends.
 * ends peak MIB FILE: keeps MIB until FILE is there, gives it back and goes on for a second.
 * ends drop MIB [SECONDS]: keeps MIB, becomes another user in another folder, and returns after a while. Where $CAIRN_SOCKETS
 *   names the folder of the agents' sockets, its own is there before that.
 * ends forks N: starts N children, one after another, that allocate and exit.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *kept[1 << 14];
static volatile sig_atomic_t told;

static void on_signal(int number)
{
	told = number;
}

__attribute__((noinline)) void keep_it(int mebibytes)
{
	for (int i = 0; i < mebibytes * 16 && i < 1 << 14; i++)
		kept[i] = memset(malloc(65536), 1, 65536);
}

static void give_back(void)
{
	for (int i = 0; i < 1 << 14; i++) {
		free(kept[i]);
		kept[i] = NULL;
	}
}

static void wait_for_agent(void)
{
	char path[300];
	const char *folder = getenv("CAIRN_SOCKETS");
	snprintf(path, sizeof path, "%s/%d.sock", folder ? folder : "", getpid());
	for (unsigned round = 0; folder && access(path, F_OK) != 0 && round < 3000; round++)
		usleep(10000);
}

static void start_children(int count)
{
	for (int i = 0; i < count; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			keep_it(2);
			exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

int main(int count, char **arguments)
{
	const char *how = count > 2 ? arguments[1] : "return";
	int number = count > 2 ? atoi(arguments[2]) : 1;
	if (strcmp(how, "forks") == 0) {
		start_children(number);
		return 0;
	}
	keep_it(number);
	if (strcmp(how, "term") == 0) {
		signal(SIGTERM, on_signal);
		signal(SIGINT, on_signal);
		puts("ready");
		fflush(stdout);
		while (!told)
			usleep(10000);
		give_back();
		exit(told == SIGINT ? 3 : 0);
	}
	if (strcmp(how, "peak") == 0) {
		while (count > 3 && access(arguments[3], F_OK) != 0)
			usleep(10000);
		give_back();
		sleep(1);
		return 6;
	}
	if (strcmp(how, "drop") == 0)
		wait_for_agent();
	if (strcmp(how, "drop") == 0 && (chdir("/") != 0 || setgid(65534) != 0 || setuid(65534) != 0))
		return 9;
	if (strcmp(how, "drop") == 0)
		keep_it(number); /* so that jemalloc may want to write once more */
	usleep(300000);
	if (count > 3)
		sleep((unsigned)atoi(arguments[3]));
	if (strcmp(how, "_exit") == 0)
		_exit(4);
	if (strcmp(how, "exit") == 0)
		exit(5);
	return 6;
}
