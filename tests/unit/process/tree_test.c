/* tree_test.c - which processes descend from which, on a small tree of our own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/tree.h"
#include "tap.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Starts a child that starts another, and waits until both are there. The name of the child is one that misleads a careless reader. */
static pid_t start(pid_t *grandchild, int *held)
{
	int up[2], stay[2];
	if (pipe(up) != 0 || pipe(stay) != 0)
		return -1;
	pid_t child = tap_fork();
	if (child == 0) {
		char byte;
		close(stay[1]);
		prctl(PR_SET_NAME, ") R 1 (");
		pid_t inner = tap_fork();
		if (inner > 0)
			(void)!write(up[1], &inner, sizeof inner);
		(void)!read(stay[0], &byte, 1);
		_exit(0);
	}
	close(stay[0]);
	*held = stay[1];
	return read(up[0], grandchild, sizeof *grandchild) == sizeof *grandchild ? child : -1;
}

int main(void)
{
	enum { most = 100 };
	int pids[most], held = -1;
	pid_t inner = 0, child = start(&inner, &held);
	ok(child > 0, "a child and its child");
	is_int(cairn_tree_parent(getpid()), getppid(), "our parent");
	is_int(cairn_tree_parent(child), getpid(), "the child's, whatever its name is");
	is_int(cairn_tree_parent(inner), child, "the grandchild's");
	is_int(cairn_tree_parent(0x7ffffff0), 0, "nobody's");
	ok(cairn_tree_has(getpid(), inner) && cairn_tree_has(child, inner) && cairn_tree_has(inner, inner),
	   "a tree has what is below its root");
	ok(!cairn_tree_has(inner, child) && !cairn_tree_has(child, getppid()) && !cairn_tree_has(child, 0) && !cairn_tree_has(child, -1),
	   "and nothing else");
	is_int(cairn_tree_list(getpid(), NULL, pids, most), 3, "all of a tree");
	ok(pids[0] == getpid() && pids[1] == child && pids[2] == inner, "parents before their children");
	is_int(cairn_tree_list(getpid(), NULL, pids, 2), 2, "no more than there is room for");
	is_int(cairn_tree_list(inner, NULL, pids, most), 1, "one that is alone");
	is_int(cairn_tree_list(0x7ffffff0, NULL, pids, most), 0, "one that is not there");

	/* From one call to the next: a process that is new, one that has ended, and one that has lost its parent. */
	struct cairn_buffer known = {0};
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	is_int(cairn_tree_list(getpid(), &known, pids, most), 3, "a tree at first");
	is_int(cairn_tree_list(getpid(), &known, pids, most), 3, "the same again");
	ok(pids[0] == getpid() && pids[1] == child && pids[2] == inner, "in the same order");
	pid_t second = tap_fork();
	if (second == 0)
		pause();
	is_int(cairn_tree_list(getpid(), &known, pids, most), 4, "with a new process");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	is_int(cairn_tree_list(getpid(), &known, pids, most), 3, "without one that has ended");
	ok(pids[0] == getpid() && pids[1] + pids[2] == inner + second, "whose child is below us then");
	kill(second, SIGKILL);
	waitpid(second, NULL, 0);
	is_int(cairn_tree_list(getpid(), &known, pids, most), 2, "and without the new one");
	cairn_buffer_free(&known);
	close(held);
	waitpid(inner, NULL, 0);
	return tap_done();
}
