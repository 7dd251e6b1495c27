#!/usr/bin/env bash
# The files of formatted.txt are as clang-format lays them out by .clang-format; the others have tables laid out by hand.
# `clang-format FILE | diff FILE -` shows what is wrong with one.
. tests/e2e/lib.sh
need clang-format
checked=0 odd=
while read -r file; do
	[ -e "$file" ] || { odd+=" $file (gone)"; continue; }
	checked=$((checked + 1))
	clang-format "$file" | cmp -s "$file" - || odd+=" $file"
done <tests/e2e-all/formatted.txt
is "$odd" "" "$checked files are formatted"
[ "$checked" -gt 100 ]
ok $? "and they are many"
done_testing
