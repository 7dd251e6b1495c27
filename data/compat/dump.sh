#!/bin/sh
# dump.sh PID: writes greptime-TIMESTAMP.gprof to the current directory now, and whenever the process's memory has grown by 20 MB within ten
# minutes, as GreptimeDB's script of that name does. Ends with the process. Of a process without Cairn's agent, the profile is taken from
# GreptimeDB's own port.
# SPDX-License-Identifier: Apache-2.0
echo "Starting memory monitoring for 'greptime' process..."
case $1 in
'')
	echo "$(date): PID must be provided as a command-line argument."
	exit 1
	;;
*[!0-9]*)
	echo "$(date): Invalid PID: '$1'. PID must be a number."
	exit 1
	;;
esac
if [ ! -d "/proc/$1" ]; then
	echo "$(date): Failed to get memory usage for PID $1."
	exit 1
fi
cairn=$(command -v cairn) || cairn=$(cd "$(dirname "$0")/../../bin" 2>/dev/null && pwd)/cairn
watch() { exec "$cairn" watch --grow 20M --every 10m --file-name 'greptime-%t.gprof' "$@"; }
"$cairn" status "$1" >/dev/null 2>&1 && watch "$1"
watch --from http://localhost:4000/debug/prof/mem "$1"
