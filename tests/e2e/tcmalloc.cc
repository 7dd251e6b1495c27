// tcmalloc.cc - allocates, burns time, and writes tcmalloc's sampled heap and growth profiles to the files named.
// SPDX-License-Identifier: Apache-2.0
#include <gperftools/malloc_extension.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

static void *kept[6000];
static volatile double sink;

__attribute__((noinline)) static void *take(size_t size)
{
	void *memory = malloc(size);
	memset(memory, 1, size);
	return memory;
}

__attribute__((noinline)) static void churn()
{
	for (int i = 0; i < 20000; i++)
		free(take(100 + i % 300));
}

__attribute__((noinline)) static void fill()
{
	for (int i = 0; i < 6000; i++)
		kept[i] = take(i % 3 ? 1000 + i : 40);
	for (int i = 0; i < 500; i++)
		free(kept[i]);
}

__attribute__((noinline)) static void add(int count)
{
	for (int i = 0; i < count; i++)
		sink = sink + i * 0.5;
}

__attribute__((noinline)) static void divide(int count)
{
	for (int i = 0; i < count; i++)
		sink = sink / 1.0001;
}

int main(int argc, char **argv)
{
	fill();
	churn();
	add(60000000);
	divide(30000000);
	std::string heap, growth;
	if (argc == 3) {
		MallocExtension::instance()->GetHeapSample(&heap);
		MallocExtension::instance()->GetHeapGrowthStacks(&growth);
		std::ofstream(argv[1]) << heap;
		std::ofstream(argv[2]) << growth;
	}
	return 0;
}
