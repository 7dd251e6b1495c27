/* descriptor.c - the table of a guest's descriptors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

enum { most = 192 };

/* Number plus one, so that zero is a free slot. In static memory, because a forked child must be able to read it. */
static atomic_int slots[most];

int cairn_descriptor_adopt(int descriptor)
{
	if (descriptor < 0)
		return -1;
	static const int high[] = {700, 200, 50, 10}; /* as high as the limit on descriptors allows */
	int moved = -1;
	for (size_t i = 0; moved < 0 && i < sizeof high / sizeof *high; i++)
		moved = fcntl(descriptor, F_DUPFD_CLOEXEC, high[i]);
	if (moved >= 0)
		close(descriptor);
	else
		moved = descriptor;
	for (int i = 0; i < most; i++) {
		int empty = 0;
		if (atomic_compare_exchange_strong(&slots[i], &empty, moved + 1))
			return moved;
	}
	close(moved);
	errno = EMFILE;
	return -1;
}

void cairn_descriptor_close(int descriptor)
{
	if (descriptor < 0)
		return;
	for (int i = 0; i < most; i++) {
		int kept = descriptor + 1;
		if (atomic_compare_exchange_strong(&slots[i], &kept, 0)) {
			close(descriptor);
			return;
		}
	}
}

void cairn_descriptors_abandon(void)
{
	for (int i = 0; i < most; i++) {
		int kept = atomic_exchange(&slots[i], 0);
		if (kept)
			close(kept - 1);
	}
}

int cairn_descriptors_count(void)
{
	int count = 0;
	for (int i = 0; i < most; i++)
		count += atomic_load(&slots[i]) != 0;
	return count;
}
