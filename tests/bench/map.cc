// map.cc - `map ROUNDS`: a program that does little but allocate: maps of strings, filled and thrown away.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

int main(int count, char **arguments)
{
	unsigned random = 1;
	size_t total = 0;
	for (int round = 0, rounds = count > 1 ? std::atoi(arguments[1]) : 1; round < rounds; round++) {
		std::map<std::string, std::vector<int>> map;
		for (int i = 0; i < 300000; i++) {
			random = random * 1664525 + 1013904223;
			map[std::to_string(random >> 4) + "-and-some-more-text"].push_back(i);
		}
		total += map.size();
	}
	std::printf("%zu\n", total);
}
