// templates.cpp - deep templates, exceptions on their way through them, closures, regular expressions and threads: stacks of a
// C++ program built with -O2 and without frame pointers.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using Table = std::map<std::string, std::vector<std::string>>;

template <int N> struct Level {
	static std::string visit(Table &table, int x)
	{
		table[std::to_string(N)].push_back(std::string(static_cast<size_t>(40 + x % 7), 'x'));
		try {
			if (x % 13 == N % 13)
				throw std::runtime_error("thrown at " + std::string(50, 'y'));
			return Level<N - 1>::visit(table, x + 1) + std::to_string(N);
		} catch (const std::runtime_error &error) {
			std::ostringstream out;
			out << error.what() << N;
			return out.str();
		}
	}
};

template <> struct Level<0> {
	static std::string visit(Table &, int x) { return std::string(64, static_cast<char>('a' + x % 20)); }
};

static void work(int rounds)
{
	Table table;
	for (int i = 0; i < rounds; i++) {
		std::function<std::string(int)> visit = [&](int x) { return Level<24>::visit(table, x); };
		visit(i);
		std::sort(table["3"].begin(), table["3"].end(), [](const std::string &a, const std::string &b) { return a + "z" < b + "z"; });
		if (i % 10 == 0) {
			std::smatch match;
			const std::string text = "aab1";
			std::regex_match(text, match, std::regex("(a|b)+c*[0-9]"));
		}
	}
}

int main(int count, char **arguments)
{
	const int rounds = count > 1 ? std::atoi(arguments[1]) : 60;
	std::vector<std::thread> threads;
	for (int i = 0; i < 3; i++)
		threads.emplace_back(work, rounds);
	for (auto &thread : threads)
		thread.join();
	std::async(std::launch::async, work, rounds).get();
}
