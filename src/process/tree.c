/* tree.c - parents from /proc/PID/stat.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/tree.h"

#include "base/pages.h"
#include "process/proc.h"
#include "process/proc_list.h"

#include <stdlib.h>

int cairn_tree_parent(int pid)
{
	struct cairn_proc_stat stat;
	return cairn_proc_stat_read(pid, &stat) ? stat.parent : 0;
}

bool cairn_tree_has(int root, int pid)
{
	enum { depth_most = 1000 }; /* a process that gets another parent meanwhile could lead in a circle */
	for (int i = 0; i < depth_most && pid > 0; i++) {
		if (pid == root)
			return true;
		pid = cairn_tree_parent(pid);
	}
	return false;
}

struct pair {
	int pid, parent;
};

/* Those of all processes, without their parents. */
static void read_numbers(struct cairn_buffer *out)
{
	struct cairn_proc_list list;
	cairn_proc_list_processes(&list);
	for (int pid; (pid = cairn_proc_list_next(&list));)
		cairn_buffer_append(out, &(struct pair){.pid = pid}, sizeof(struct pair));
}

static struct pair *pairs_of(const struct cairn_buffer *buffer, size_t *count)
{
	*count = buffer->length / sizeof(struct pair);
	return (struct pair *)(void *)buffer->data;
}

/* By number. Linux lists them so, and then there is nothing to do; other kernels may not. */
static void sort_pairs(struct cairn_buffer *buffer)
{
	size_t count;
	struct pair *pairs = pairs_of(buffer, &count);
	for (size_t i = 1; i < count; i++)
		for (size_t at = i; at > 0 && pairs[at - 1].pid > pairs[at].pid; at--) {
			struct pair later = pairs[at - 1];
			pairs[at - 1] = pairs[at];
			pairs[at] = later;
		}
}

static int by_pid(const void *a, const void *b)
{
	const struct pair *one = a, *other = b;
	return one->pid < other->pid ? -1 : one->pid > other->pid;
}

static struct pair *find_pair(const struct cairn_buffer *buffer, int pid)
{
	size_t count;
	struct pair *pairs = pairs_of(buffer, &count);
	return count ? bsearch(&(struct pair){.pid = pid}, pairs, count, sizeof *pairs, by_pid) : NULL;
}

/* A parent that was known and still lives is the parent still. */
static void find_parents(struct cairn_buffer *now, const struct cairn_buffer *known)
{
	size_t count;
	struct pair *pairs = pairs_of(now, &count);
	for (size_t i = 0; i < count; i++) {
		const struct pair *before = find_pair(known, pairs[i].pid);
		bool same = before && before->parent > 0 && find_pair(now, before->parent);
		pairs[i].parent = same ? before->parent : cairn_tree_parent(pairs[i].pid);
	}
}

size_t cairn_tree_list(int root, struct cairn_buffer *known, int *pids, size_t most)
{
	struct cairn_buffer now = cairn_pages(64 << 20), none = {0};
	size_t count = 0, total;
	read_numbers(&now);
	sort_pairs(&now);
	find_parents(&now, known ? known : &none);
	const struct pair *all = pairs_of(&now, &total);
	if (most > 0 && find_pair(&now, root))
		pids[count++] = root;
	for (size_t at = 0; at < count; at++)
		for (size_t i = 0; i < total && count < most; i++)
			if (all[i].parent == pids[at])
				pids[count++] = all[i].pid;
	if (known) {
		cairn_buffer_free(known);
		*known = now;
	} else {
		cairn_buffer_free(&now);
	}
	return count;
}
