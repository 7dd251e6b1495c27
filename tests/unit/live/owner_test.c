/* owner_test.c - whose a process is: ours, somebody else's, or not to be seen because it has ended.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/owner.h"

#include "tap.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that has called BECOME and waits, or 0 where that failed. */
static pid_t start(bool (*become)(void))
{
	int ready[2];
	char byte = 0;
	if (pipe2(ready, O_CLOEXEC) != 0)
		return 0;
	pid_t child = tap_fork();
	if (child == 0) {
		if (become() && write(ready[1], "+", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	bool good = child > 0 && read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	return good ? child : 0;
}

static void end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static bool stay(void)
{
	return true;
}

static bool change_user(void)
{
	return setuid(65534) == 0;
}

static bool change_root(void)
{
	return chroot("/proc") == 0;
}

static void test_owner(void)
{
	is_int(cairn_serve_owner_of(getpid()), CAIRN_OWNER_OWN, "this process is ours");
	pid_t child = start(stay);
	ok(child > 0, "a child");
	is_int(cairn_serve_owner_of(child), CAIRN_OWNER_OWN, "so is a child");
	kill(child, SIGKILL);
	siginfo_t info;
	ok(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0, "it has ended, and nobody has asked how");
	is_int(cairn_serve_owner_of(child), CAIRN_OWNER_UNKNOWN, "then nobody can say where its root is");
	waitpid(child, NULL, 0);
	is_int(cairn_serve_owner_of(child), CAIRN_OWNER_UNKNOWN, "nor of one that is gone");
	if (geteuid() != 0) {
		tap_skip("processes of others", "not root");
		return;
	}
	child = start(change_user);
	ok(child > 0, "a child of another user");
	is_int(cairn_serve_owner_of(child), CAIRN_OWNER_FOREIGN, "is foreign");
	end(child);
	child = start(change_root);
	ok(child > 0, "a child with another root directory");
	is_int(cairn_serve_owner_of(child), CAIRN_OWNER_FOREIGN, "is foreign");
	end(child);
}

static void test_runs(void)
{
	enum cairn_serve_owner owner = cairn_serve_owner_add(CAIRN_OWNER_UNKNOWN, CAIRN_OWNER_OWN);
	is_int(owner, CAIRN_OWNER_OWN, "a run of ours");
	owner = cairn_serve_owner_add(owner, CAIRN_OWNER_UNKNOWN);
	is_int(owner, CAIRN_OWNER_UNKNOWN, "one that ended too soon to be seen");
	owner = cairn_serve_owner_add(owner, CAIRN_OWNER_OWN);
	is_int(owner, CAIRN_OWNER_OWN, "counts for that run only");
	owner = cairn_serve_owner_add(owner, CAIRN_OWNER_FOREIGN);
	owner = cairn_serve_owner_add(owner, CAIRN_OWNER_OWN);
	is_int(owner, CAIRN_OWNER_FOREIGN, "but a foreign run counts for good: its dumps are kept");
}

int main(void)
{
	test_owner();
	test_runs();
	return tap_done();
}
