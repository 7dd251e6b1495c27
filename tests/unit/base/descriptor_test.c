/* descriptor_test.c - descriptors of ours that the host has closed, and whose numbers it uses now.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptor.h"
#include "tap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_open(int descriptor)
{
	return fcntl(descriptor, F_GETFD) >= 0;
}

static int adopt_pipe(void)
{
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	close(ends[1]);
	return cairn_descriptor_adopt(ends[0]);
}

/* The host closes NUMBER and opens another file that gets the same one. */
static void take_over(int number)
{
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
	dup2(file, number);
	close(file);
}

int main(void)
{
	int number = adopt_pipe(), before = cairn_descriptors_count();
	ok(number >= 10 && is_open(number) && cairn_descriptor_is_ours(number), "adopted");
	ok(fcntl(number, F_GETFD) == FD_CLOEXEC, "closed on exec");
	cairn_descriptor_close(number);
	ok(!is_open(number) && !cairn_descriptor_is_ours(number), "closed");
	is_int(cairn_descriptors_count(), before - 1, "and forgotten");

	number = adopt_pipe();
	close(number);
	ok(!cairn_descriptor_is_ours(number), "one that the host has closed is not ours");
	take_over(number);
	ok(!cairn_descriptor_is_ours(number), "nor is the host's of the same number");
	cairn_descriptor_close(number);
	ok(is_open(number), "which is not closed");
	is_int(cairn_descriptors_count(), before - 1, "and ours is forgotten all the same");
	close(number);

	number = adopt_pipe();
	int other = adopt_pipe();
	take_over(number);
	cairn_descriptors_abandon();
	ok(is_open(number) && !is_open(other), "a forked child closes what is ours and nothing else");
	is_int(cairn_descriptors_count(), 0, "and knows of none");
	close(number);
	is_int(cairn_descriptor_adopt(-1), -1, "nothing in, nothing out");
	return tap_done();
}
