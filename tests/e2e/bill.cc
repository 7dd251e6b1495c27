// bill.cc - a C++ service with memory of every kind, for tests of the bill: bill MEGABYTES [THREADS] [what else…], where the words
// are: half (frees every second object), anonymous, hidden (past libc's mmap), file, shared, untouched, brk. Prints "ready" and waits to be
// killed.
// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

static const size_t megabyte = 1 << 20;
static std::atomic<int> filled;
static std::atomic<size_t> held; // bytes of objects, all of them written to

static void fill(size_t bytes, bool half)
{
	static thread_local std::vector<std::string> kept;
	unsigned seed = 1;
	for (size_t sum = 0; sum < bytes;) {
		size_t size = rand_r(&seed) % 100 == 0 ? 1 + rand_r(&seed) % 100000 : 16 + rand_r(&seed) % 600;
		kept.emplace_back(size, 'x');
		sum += size;
	}
	for (size_t i = 0; i < kept.size(); i++)
		held += half && i % 2 == 0 ? 0 : kept[i].capacity() + 1;
	for (size_t i = 0; half && i < kept.size(); i += 2)
		std::string().swap(kept[i]);
	filled++;
	pause();
}

static char *map(size_t bytes, int flags, int descriptor)
{
	void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, descriptor, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return static_cast<char *>(memory);
}

int main(int argc, char **argv)
{
	size_t bytes = strtoul(argc > 1 ? argv[1] : "300", nullptr, 10) * megabyte;
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	bool half = false;
	for (int i = 3; i < argc; i++) {
		std::string word = argv[i];
		half = half || word == "half";
		if (word == "anonymous") {
			memset(map(64 * megabyte, MAP_PRIVATE | MAP_ANONYMOUS, -1), 1, 64 * megabyte);
		} else if (word == "hidden") {
			long address = syscall(SYS_mmap, 0, 64 * megabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			memset(reinterpret_cast<void *>(address), 1, 64 * megabyte);
		} else if (word == "file") {
			char name[] = "/var/tmp/cairn-bill.XXXXXX";
			int descriptor = mkstemp(name);
			unlink(name);
			if (ftruncate(descriptor, 96 * megabyte) != 0)
				return 1;
			memset(map(96 * megabyte, MAP_SHARED, descriptor), 1, 96 * megabyte);
		} else if (word == "shared") {
			memset(map(48 * megabyte, MAP_SHARED | MAP_ANONYMOUS, -1), 1, 48 * megabyte);
		} else if (word == "untouched") {
			char *volatile memory = static_cast<char *>(malloc(200 * megabyte));
			memory[0] = 1;
		} else if (word == "brk") {
			memset(sbrk(24 * megabyte), 1, 24 * megabyte);
		} else if (word != "half") {
			fprintf(stderr, "no word %s\n", argv[i]);
			return 2;
		}
	}
	std::vector<std::thread> workers;
	for (int i = 0; i < threads; i++)
		workers.emplace_back(fill, bytes / threads, half);
	while (filled < threads)
		usleep(10000);
	printf("ready %zu\n", held.load());
	fflush(stdout);
	pause();
}
