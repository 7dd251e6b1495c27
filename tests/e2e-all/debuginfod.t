#!/usr/bin/env bash
# Debug files from Debian's own debuginfod server, on loopback: only when asked for, and by build-id.
. tests/e2e/lib.sh
need cc objcopy strip readelf debuginfod curl python3

jemalloc=$(ldconfig -p | sed -n 's/.*libjemalloc\.so\.2 .*=> //p' | head -n 1)
[ -n "$jemalloc" ] || broken 'no libjemalloc.so.2 here'
ldconfig -p | grep -q 'libdebuginfod\.so\.1' || skip_all 'no libdebuginfod.so.1 here'
program=$scratch/run/program heap=$scratch/program.heap served=$scratch/served
mkdir "$scratch/run" "$served"
cc -O1 -g -rdynamic tests/e2e/finding.c -o "$program" || broken 'the program cannot be built'
LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:$scratch/je "$program"
mv "$scratch"/je.*.f.heap "$heap" || broken 'this jemalloc has no profiler'
id=$(readelf -n "$program" | sed -n 's/.*Build ID: //p')
objcopy --only-keep-debug "$program" "$served/program.debug" && strip "$program"

port=$(free_port)
debuginfod -p "$port" -d "$scratch/index.sqlite" -F "$served" >"$scratch/debuginfod.log" 2>&1 &
children+=($!)
export DEBUGINFOD_CACHE_PATH=$scratch/fetched DEBUGINFOD_TIMEOUT=10 no_proxy=127.0.0.1
wait_for 30 curl -sf -o "$scratch/probe" "http://127.0.0.1:$port/buildid/$id/debuginfo" || skip_all "the server does not serve: $(tail -n 1 "$scratch/debuginfod.log")"
holds 'the server has the debug file' cmp "$scratch/probe" "$served/program.debug"

requests() { grep -c "GET /buildid/$id/debuginfo" "$scratch/debuginfod.log"; }
folded() { "$cairn" collapsed --lines "$@" "$heap" 2>"$scratch/notes"; }
export DEBUGINFOD_URLS=http://127.0.0.1:$port
before=$(requests)
like "$(folded --no-cache)" '*program+0x*hold_in_exported*' 'without --debuginfod only what is exported has a name'
is "$(requests)" "$before" 'and the server is not asked'
like "$(DEBUGINFOD_URLS='' folded --no-cache --debuginfod)" '*program+0x*' '--debuginfod without DEBUGINFOD_URLS asks nobody'
is "$(requests)" "$before" 'indeed'
like "$(folded --debuginfod)" '*hold_in_static */finding.c:10*hold_in_exported */finding.c:16*' '--debuginfod names everything, with lines'
[ "$(requests)" -gt "$before" ]
ok $? 'by asking the server'
before=$(requests)
like "$(folded)" '*hold_in_static */finding.c:10*' 'which is in our cache now, for everybody'
is "$(requests)" "$before" 'and the server is asked no more'

# The binary itself may be gone: a profile with build-ids (here pprof) is enough.
"$cairn" cache --clear >/dev/null
if "$cairn" help pprof >/dev/null 2>&1; then
	"$cairn" pprof --no-symbols -o "$scratch/program.pb.gz" "$heap" 2>/dev/null
	mv "$program" "$program.away"
	heap=$scratch/program.pb.gz
	like "$(folded --debuginfod)" '*hold_in_static */finding.c:10*' 'the binary is gone: by the build-id in the profile'
	mv "$program.away" "$program"
	heap=$scratch/program.heap
else
	skip 'the binary is gone: by the build-id in the profile' 'no command here writes pprof'
fi
kill "${children[0]}" && wait "${children[0]}" 2>/dev/null
children=()
rm -rf "$scratch/fetched" && "$cairn" cache --clear >/dev/null
like "$(folded --debuginfod)" '*program+0x*hold_in_exported*' 'a server that is gone is no trouble'
like "$(cat "$scratch/notes")" "*program: no debug file for build-id $id*" 'and the note says what is missing'
is "$(find "$XDG_CACHE_HOME/cairn" -name "$id*" | wc -l)" 0 'and that nothing was found is not remembered'
done_testing
