// embed.cc - a C++ service that starts the agent and takes a snapshot at the end.
//
//     c++ -O2 embed.cc -o embed $(pkg-config --cflags --libs cairn) -ljemalloc
//     MALLOC_CONF=prof:true,lg_prof_sample:14 ./embed words.heap && cairn top words.heap
//
// Without jemalloc, leave out -ljemalloc and MALLOC_CONF: Cairn's own engine samples.
// SPDX-License-Identifier: Apache-2.0
#include <cairn.h>
#include <iostream>
#include <map>
#include <string>

int main(int argc, char **argv)
{
	cairn_options options{};
	options.size = sizeof options;
	options.heap_profiling = 1;
	char error[256] = "";
	if (!cairn_start(&options, error, sizeof error))
		std::cerr << "no heap profiling: " << error << '\n';
	std::map<std::string, int> words;
	for (int i = 0; i < 100000; i++)
		words["word number " + std::to_string(i) + " of a long list"]++;
	std::cout << words.size() << " words\n";
	if (!cairn_snapshot_file(argc > 1 ? argv[1] : "words.heap", error, sizeof error)) {
		std::cerr << "no snapshot: " << error << '\n';
		return 1;
	}
	cairn_stop();
	return 0;
}
