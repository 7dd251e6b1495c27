/* guard_test.c - files that lose their end while they are mapped.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/guard.h"

#include "tap.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { page = 4096, pages = 64 };

static int make_file(size_t size)
{
	int descriptor = memfd_create("guard", MFD_CLOEXEC);
	char bytes[page];
	memset(bytes, 'x', sizeof bytes);
	for (size_t at = 0; at < size; at += sizeof bytes)
		if (pwrite(descriptor, bytes, size - at < sizeof bytes ? size - at : sizeof bytes, (off_t)at) < 0)
			return -1;
	return descriptor;
}

/* Reads it as a parser does; a volatile access is not left out. */
static size_t count_marks(struct cairn_bytes bytes)
{
	size_t count = 0;
	for (size_t i = 0; i < bytes.length; i++)
		count += ((const volatile char *)bytes.data)[i] == 'x';
	return count;
}

static void test_cut(void)
{
	int descriptor = make_file(pages * page);
	struct cairn_guard *guard = cairn_guard_map(descriptor, pages * page), *other = cairn_guard_map(descriptor, page);
	struct cairn_bytes bytes = cairn_guard_bytes(guard);
	is_int((long)count_marks(bytes), pages * page, "all of a file");
	is_int(((const volatile char *)bytes.data)[bytes.length], 0, "a zero follows it");
	ok(!cairn_guard_is_cut(guard), "which does not mean that it was cut");
	ok(ftruncate(descriptor, 10 * page) == 0, "it is cut short");
	is_int((long)count_marks(bytes), 10 * page, "what is gone are zeroes");
	ok(cairn_guard_is_cut(guard) && !cairn_guard_is_cut(other), "this is known, of this mapping alone");
	ok(madvise((void *)(uintptr_t)bytes.data, pages * page, MADV_DONTNEED) == 0 && count_marks(bytes) == 10 * page, "it stays so");
	cairn_guard_unmap(guard);
	ok(ftruncate(descriptor, 0) == 0 && count_marks(cairn_guard_bytes(other)) == 0, "another mapping, all of it gone");
	ok(cairn_guard_is_cut(other), "is known, too");
	cairn_guard_unmap(other);
	close(descriptor);
	ok(!cairn_guard_map(-1, page) && errno == EBADF, "what cannot be mapped");
	descriptor = make_file(1);
	ok(!cairn_guard_map(descriptor, SIZE_MAX) && errno != 0, "nor can what is too large");
	close(descriptor);
}

/* Of a hole that is read, nothing is in memory afterwards, not even in that of the file. */
static void test_holes(void)
{
	enum { size = 64 << 20, place = 20 << 20 };
	struct stat status;
	int descriptor = memfd_create("guard", MFD_CLOEXEC);
	ok(ftruncate(descriptor, size) == 0 && pwrite(descriptor, "x", 1, 0) == 1 && pwrite(descriptor, "xx", 2, place - 1) == 2,
	   "a file with two holes");
	struct cairn_guard *guard = cairn_guard_map(descriptor, size);
	is_int((long)count_marks(cairn_guard_bytes(guard)), 3, "what is in it is read");
	ok(cairn_guard_bytes(guard).data[place] == 'x' && !cairn_guard_is_cut(guard), "where it is");
	ok(fstat(descriptor, &status) == 0 && status.st_blocks * 512 <= size / 2, "and no page was made of the holes");
	cairn_guard_unmap(guard);
	close(descriptor);
}

static atomic_bool stop;

static void *cut_and_mend(void *context)
{
	int descriptor = *(int *)context;
	while (!atomic_load(&stop))
		if (ftruncate(descriptor, page) != 0 || ftruncate(descriptor, pages * page) != 0)
			break;
	return NULL;
}

static void *read_often(void *context)
{
	int descriptor = *(int *)context;
	for (int i = 0; i < 200; i++) {
		struct cairn_guard *guard = cairn_guard_map(descriptor, pages * page);
		count_marks(cairn_guard_bytes(guard));
		cairn_guard_unmap(guard);
	}
	return NULL;
}

static void test_threads(void)
{
	int descriptor = make_file(pages * page);
	pthread_t cutter, readers[4];
	pthread_create(&cutter, NULL, cut_and_mend, &descriptor);
	for (int i = 0; i < 4; i++)
		pthread_create(&readers[i], NULL, read_often, &descriptor);
	for (int i = 0; i < 4; i++)
		pthread_join(readers[i], NULL);
	atomic_store(&stop, true);
	pthread_join(cutter, NULL);
	ok(true, "four threads read a file that is cut all the time");
	close(descriptor);
}

/* How a child ends that does ACT. */
static int end_of(void (*act)(void))
{
	int status = 0;
	pid_t child = tap_fork();
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		freopen("/dev/null", "w", stderr);
		act();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

static void read_unguarded(void)
{
	int descriptor = make_file(2 * page);
	char *data = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE, descriptor, 0);
	if (ftruncate(descriptor, 0) == 0)
		count_marks((struct cairn_bytes){data, 2 * page});
}

static void send_signal(void)
{
	raise(SIGBUS);
}

int main(void)
{
	test_cut();
	test_holes();
	test_threads();
	int status = end_of(read_unguarded);
	ok(TAP_ADDRESS_SANITIZER ? status != 0 : WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "another mapping: SIGBUS ends the process");
	status = end_of(send_signal);
	ok(TAP_ADDRESS_SANITIZER ? status != 0 : WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "so it does when it is sent");
	return tap_done();
}
