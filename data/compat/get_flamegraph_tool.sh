#!/bin/sh
# get_flamegraph_tool.sh: puts `flamegraph.pl` into the current directory, as GreptimeDB's script of that name does; here it is
# Cairn's, so nothing is downloaded.
# SPDX-License-Identifier: Apache-2.0
cairn=$(command -v cairn) || cairn=$(cd "$(dirname "$0")/../../bin" 2>/dev/null && pwd)/cairn
if [ ! -x "$cairn" ]; then
	echo "the cairn command is missing" >&2
	exit 1
fi
ln -sf "$cairn" flamegraph.pl
