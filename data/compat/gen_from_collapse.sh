#!/bin/sh
# gen_from_collapse.sh DIRECTORY: draws a flame graph NAME.svg for each NAME.collapse in it, as GreptimeDB's script of that name does.
# SPDX-License-Identifier: Apache-2.0
if [ $# -ne 1 ]; then
	echo "Usage: $0 <collapse_directory>"
	exit 1
fi
if [ ! -d "$1" ]; then
	echo "Error: '$1' is not a valid directory."
	exit 1
fi
cairn=$(command -v cairn) || cairn=$(cd "$(dirname "$0")/../../bin" 2>/dev/null && pwd)/cairn
failed=0
for collapse in "$1"/*.collapse; do
	[ -e "$collapse" ] || continue # the pattern itself: there is no such file
	svg=${collapse%.collapse}.svg
	if "$cairn" flame "$collapse" -o "$svg"; then
		echo "Successfully generated $svg"
	else
		echo "Error generating flame graph for $collapse"
		failed=1
	fi
done
echo "Flame graph generation complete."
exit $failed
