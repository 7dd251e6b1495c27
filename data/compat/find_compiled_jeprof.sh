#!/bin/sh
# find_compiled_jeprof.sh: puts `jeprof` into the current directory, as GreptimeDB's script of that name does; here it is Cairn's.
# SPDX-License-Identifier: Apache-2.0
cairn=$(command -v cairn) || cairn=$(cd "$(dirname "$0")/../../bin" 2>/dev/null && pwd)/cairn
if [ ! -x "$cairn" ]; then
	echo "jeprof not found"
	exit 1
fi
echo "Found jeprof at $cairn"
ln -sf "$cairn" jeprof || exit 1
echo "Copied jeprof to current directory and made it executable."
