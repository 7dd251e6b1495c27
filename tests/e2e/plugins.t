#!/usr/bin/env bash
# Libraries that come and go: stacks through one that lies where another lay before are whole, and memory of an unloaded one keeps its name.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need gcc curl python3
jemalloc=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')
gcc -O2 -g tests/unwind/plugins.c -o "$scratch/plugins" -ldl || exit 1

# plugin NAME FRAME LINKER-OPTION...: NAME.so, without debug information, whose size the room would change
plugin() { gcc -O2 -fomit-frame-pointer -fPIC -shared -DNAME="$1" -DFRAME="$2" tests/unwind/plugin.c -o "$scratch/$1.so" "${@:3}"; }

# run PLUGIN...: starts the host with them; sets pid, and leaves where they lay in places
run() {
	rm -f "$scratch/places"
	mkfifo "$scratch/input.$BASHPID" 2>/dev/null
	exec 7<>"$scratch/input.$BASHPID"
	LD_PRELOAD="$library $jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:16 "$scratch/plugins" "$@" <&7 >"$scratch/places" 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 20 test -s "$scratch/places"
	wait_for 20 "$cairn" status "$pid"
}
bytes_under() { "$cairn" collapsed "$pid" 2>/dev/null | awk -v path="$1" '$0 ~ path { sum += $NF } END { printf "%d\n", sum / 1048576 + 0.5 }'; }

for id in sha1 none; do
	plugin first_plugin 4096 -Wl,--build-id=$id
	plugin other_plugin 8192 -Wl,--build-id=$id
	is "$(stat -c %s "$scratch/first_plugin.so")" "$(stat -c %s "$scratch/other_plugin.so")" "build-id $id: two plugins of the same size"
	run "$scratch/first_plugin.so" "$scratch/other_plugin.so" stay
	is "$(sort -u "$scratch/places" | wc -l)" 1 'and the same address'
	whole=$("$cairn" collapsed "$pid" 2>"$scratch/notes" | awk '/^main;/ || /;main;/ { sum += $NF } END { printf "%d\n", sum / 1048576 + 0.5 }')
	holds "the callers of all of it are known: $whole of 98 MiB" [ "${whole:-0}" -ge 90 ]
	holds 'and no stack of theirs was cut' python3 -c 'import json, sys
u = json.load(sys.stdin)["unwinder"]
assert u["unreadable"] == 0 and u["no_rule"] <= 2, u # those before main, under the loader' < <("$cairn" status --json "$pid")
	like "$(<"$scratch/notes")" '*1 library was unloaded and another loaded in its place*' 'that names may be of either is said'
	kill $pid && wait $pid 2>/dev/null
done

plugin lone_plugin 4096
run "$scratch/lone_plugin.so"
holds 'an unloaded library keeps its name' [ "$(bytes_under 'main;.*plugin_run;lone_plugin')" -ge 45 ]
kill $pid && wait $pid 2>/dev/null
done_testing
