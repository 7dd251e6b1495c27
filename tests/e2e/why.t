#!/usr/bin/env bash
# cairn why: the cause, what is returnable and who pins the rest, of programs that know it; and --try, which does it.
. tests/e2e/lib.sh
need cc python3 curl
${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/why-host.c -o "$scratch/host" -pthread || broken 'the test host does not build'
holds 'causes, predictions and pins of programs that know them' python3 tests/e2e/why.py "$cairn" "$scratch/host" quick ""
start() { # start SCENARIO SIZE COUNT [PRELOAD]: sets pid
	rm -f "$scratch/truth"
	(cd "$scratch" && LD_PRELOAD=${4:-} exec "$cairn" run -q --period 16K -- ./host "$1" "$2" "$3" 1 "$scratch/truth") >/dev/null 2>&1 &
	children+=($!)
	wait_for 60 grep -q . "$scratch/truth"
	pid=$(cut -d' ' -f1 "$scratch/truth")
}
check() { # check EXPRESSION: of JSON in the file one, as j
	python3 -c "import json, sys; j = json.load(open(sys.argv[1])); print(j); sys.exit(not ($1))" "$scratch/one"
}
start mixed 3000 60000
"$cairn" why --try trim --for 0 --json "$pid" >"$scratch/one" 2>"$scratch/err"
holds 'malloc_trim returns what was predicted' check 'j["returned_bytes"] > 1e8 and abs(j["returned_bytes"] / j["predicted_bytes"] - 1) < 0.02 and j["before_bytes"] - j["after_bytes"] == j["returned_bytes"] and j["stall_ms"] > 0'
like "$("$cairn" why --try trim --for 100ms "$pid" 2>/dev/null)" '*malloc_trim(0) returned*Threads that needed the allocator waited for*Environment=MALLOC_TRIM_THRESHOLD_=131072*' 'what is permanent is said'
refused() { # refused CODE WORDS NAME ARGUMENT...
	local code=$1 words=$2 name=$3
	shift 3
	"$cairn" why "$@" >/dev/null 2>"$scratch/err"
	is "$?" "$code" "$name: exit code $code"
	like "$(cat "$scratch/err")" "$words" "$name"
}
refused 1 '*cannot be undone*--yes*' 'a limit on arenas cannot be undone' --try arenas=2 "$pid"
refused 1 '*cannot be undone*--yes*' 'nor can a threshold' --try mmap-threshold=64K "$pid"
refused 1 '*is for jemalloc*--try trim*' 'glibc is not purged' --try purge "$pid"
refused 1 '*is for jemalloc, and the process uses glibc*' 'only jemalloc decays' --try decay=1s "$pid"
refused 2 '*choose trim, purge*' 'what it does not know' --try magic "$pid"
refused 2 '*takes the value never*' 'a wrong value' --try thp=always "$pid"
refused 2 '*needs a running process*' 'a dump cannot be changed' --try trim "$scratch"
"$cairn" why --try mmap-threshold=64K --yes --for 0 --json "$pid" >"$scratch/one" 2>"$scratch/err"
holds 'with --yes it is done' check 'j["call"] == "mallopt(M_MMAP_THRESHOLD, 65536)" and j["permanent"]["dockerfile"] == "ENV MALLOC_MMAP_THRESHOLD_=65536"'
"$cairn" why --json "$pid" >"$scratch/one" 2>"$scratch/err"
holds 'and holds' check 'j["returnable_bytes"] < 1e6 and j["pinned_bytes"] > 2e7'
"$cairn" why --try thp=never --for 0 --json "$pid" >"$scratch/one" 2>"$scratch/err"
holds 'huge pages are allowed again afterwards' check 'j["restored"]'
"$cairn" why --try thp=never --for 1h "$pid" >"$scratch/one" 2>"$scratch/err" &
trial=$!
children+=($trial)
wait_for 60 grep -qx 'THP_enabled:[[:space:]]0' "/proc/$pid/status"
kill -INT $trial
wait $trial
is "$?" 0 'a trial that is interrupted: exit code 0'
like "$(cat "$scratch/one")" '*PR_SET_THP_DISABLE*before*after*The setting is restored.*' 'says what it has measured'
holds 'and the setting is restored' grep -qx 'THP_enabled:[[:space:]]1' "/proc/$pid/status"
folder=/usr/lib/$(${CC:-cc} -print-multiarch)
start mixed 9000 20000 "$folder/libjemalloc.so.2"
"$cairn" why --try decay=0 --for 0 --json "$pid" >"$scratch/one" 2>"$scratch/err"
holds 'a decay of nothing returns what is dirty, and is restored' check 'j["returned_bytes"] > 1e7 and j["restored"] and "decay_ms:0" in j["permanent"]["unit"]'
start spike 9000 20000 "$folder/libjemalloc.so.2"
"$cairn" why --try purge --for 0 --json "$pid" >"$scratch/one" 2>"$scratch/err"
holds 'jemalloc is purged' check 'j["returned_bytes"] > 1e7 and abs(j["returned_bytes"] / j["predicted_bytes"] - 1) < 0.1'
start mixed 3000 60000 "$folder/libmimalloc.so.2.0"
"$cairn" why --try purge --for 0 --json "$pid" >"$scratch/one" 2>"$scratch/err"
holds 'mimalloc returns to the thread of the agent what was predicted for it, not for the first thread' check 'abs(j["returned_bytes"] - j["predicted_bytes"]) < 2e6 and "mi_collect(true), it returns" in j["note"]'
like "$("$cairn" why --try thp=never --for 0 "$pid" 2>/dev/null)" 'prctl(PR_SET_THP_DISABLE, 1): resident memory * by * in 0 s.*' 'of a setting it is said what it does over time'
start steps 3000 10000
"$cairn" serve --every 1s "$pid" >"$scratch/serve.out" 2>/dev/null &
children+=($!)
wait_for 20 grep -q http "$scratch/serve.out"
address=$(head -n 1 "$scratch/serve.out")
bill() {
	curl -s -m 20 -H "Authorization: Bearer ${address#*token=}" "${address%%/\?token*}/api/bill" >"$scratch/one"
	check 'j["bill"]["cause"] == "retention" and j["bill"]["outside"] and "malloc_trim would return" in j["bill"]["sentence"]'
}
wait_for 20 bill
holds 'the live page has the sentence' bill
# One sentence, whoever is asked; but the process goes on, so that amounts differ.
sentence() { sed 's/.*"sentence":"\([^"]*\)".*/\1/; s/[0-9][0-9.]* [KMG]iB/SIZE/g; s/[0-9][0-9]* %/PART/g' "$scratch/one"; }
on_page=$(sentence)
"$cairn" dump -o "$scratch/one.heap" "$pid" >/dev/null 2>"$scratch/err"
"$cairn" why --json "$scratch/one.heap" >"$scratch/one" 2>"$scratch/err"
is "$(sentence)" "$on_page" 'cairn why of a dump has the same'
"$cairn" why --json "$pid" >"$scratch/one" 2>"$scratch/err"
is "$(sentence)" "$on_page" 'and so has cairn why of the process'
like "$on_page" '*those of *' 'with the function whose objects keep free memory'
sed 's/^# cairn end/# cairn charge.usage 2000000000\n# cairn charge.limit 2500000000\n# cairn charge.file 1500000000\n&/' "$scratch/one.heap" >"$scratch/charged.heap"
"$cairn" why --json "$scratch/charged.heap" >"$scratch/one" 2>"$scratch/err"
holds 'a dump says what its control group was charged' check 'j["cause"] == "page_cache" and "1.9 GiB charged to the control group" in j["sentence"]'
sed 's/^# cairn end/# cairn huge.bytes 2000000000\n# cairn huge.zero 1900000000\n# cairn huge.zero_error 1000\n&/' "$scratch/one.heap" >"$scratch/huge.heap"
"$cairn" why --json "$scratch/huge.heap" >"$scratch/one" 2>"$scratch/err"
holds 'and what was in huge pages' check 'j["cause"] == "huge_pages"'
mkdir "$scratch/dumps"
for step in 1 2 3; do
	"$cairn" dump -o "$scratch/dumps/$step.heap" "$pid" >/dev/null 2>"$scratch/err"
	rm -f "$scratch/truth.2"
	kill -USR1 "$pid"
	wait_for 60 grep -q . "$scratch/truth.2"
done
"$cairn" dump -o "$scratch/dumps/4.heap" "$pid" >/dev/null 2>"$scratch/err"
like "$("$cairn" leaks "$scratch/dumps" 2>/dev/null)" '*resident memory grows, by *, the heap does not: *free memory in arenas*' 'growth of free memory is told from a leak'
"$cairn" leaks --json "$scratch/dumps" >"$scratch/one" 2>"$scratch/err"
holds 'in JSON, too' check '"is free memory in arenas" in j["retention"]'
ask() { curl -s -m 20 -H "Authorization: Bearer ${address#*token=}" "${address%%/\?token*}/api/$1" >"$scratch/one"; }
retains() { ask leaks && check '"is free memory in arenas" in j["retention"]' 2>/dev/null; }
wait_for 20 retains
holds 'and on the live page' retains
"$cairn" timeline --json "$scratch/dumps" >"$scratch/one" 2>"$scratch/err"
holds 'the timeline has what is free' check 'all(d["free"] > 1e7 for d in j["dumps"]) and j["dumps"][-1]["free"] > 1e8 and j["dumps"][-1]["returnable"] > 1e8'
"$cairn" timeline -o "$scratch/one.svg" "$scratch/dumps" 2>"$scratch/err"
like "$(cat "$scratch/one.svg")" '*class="kept"*With free memory that the allocator keeps*' 'and draws it'
like "$("$cairn" top "$scratch/dumps/4.heap" 2>/dev/null)" '*less than half of the * resident: cairn why says what the rest is*' 'a profile of a small part points to cairn why'
"$cairn" why --json "$scratch/dumps" >"$scratch/one" 2>"$scratch/err"
holds 'cairn why of a folder' check 'j["cause"] == "retention" and j["returnable_bytes"] > 1e8'
cat >"$scratch/load.py" <<'P'
import time
held = [bytes(3000) for _ in range(30000)]
held = held[::8]
time.sleep(0.8)
P
"$cairn" why --compare 'default mmap-threshold=2K jemalloc=dirty_decay_ms:0,muzzy_decay_ms:0' --rounds 2 --json -- python3 "$scratch/load.py" >"$scratch/one" 2>"$scratch/err"
holds 'settings compared: what returns memory, and what that costs' check 'len(j["settings"]) == 3 and all(s["rounds"] == 2 and s["failures"] == 0 and s["peak_bytes"] > 9e7 for s in j["settings"]) and j["settings"][1]["settled_bytes"] < 0.6 * j["settings"][0]["settled_bytes"] and j["settings"][1]["page_faults"] > j["settings"][0]["page_faults"]'
like "$("$cairn" why --compare help)" '*arenas=N*jemalloc*=VALUE*' 'what can be compared'
refused 1 '*no setting magic*' 'an unknown setting' --compare magic -- true
refused 1 '*needs a size*' 'a wrong size' --compare mmap-threshold=x -- true
refused 2 '*needs a program*' 'no program' --compare default
refused 1 '*cannot start /nowhere/x*' 'no such program' --compare default -- /nowhere/x
cat >"$scratch/service" <<'S'
#!/bin/sh
sleep 4000 &
setsid sh -c "sleep 4001 & echo $$ >started; wait" &
wait
S
chmod +x "$scratch/service"
gone() { # no process works in the service's folder
	local one
	for one in /proc/[0-9]*/cwd; do [[ $(readlink "$one") != "$scratch/place" ]] || return 1; done
}
mkdir "$scratch/place"
(cd "$scratch/place" && exec "$cairn" why --compare 'default nothp' --rounds 1 --for 300ms --json -- ../service) >"$scratch/one" 2>"$scratch/err"
holds 'a service that does not end is ended, which is no failure' check 'all(s["rounds"] == 1 and s["failures"] == 0 and s["settled_bytes"] > 1e6 and 0.3 <= s["seconds"] for s in j["settings"])'
holds 'with all its processes' gone
rm -f "$scratch/place/started"
(cd "$scratch/place" && exec "$cairn" why --compare default -- ../service) >"$scratch/one" 2>"$scratch/err" &
compare=$!
children+=($compare)
wait_for 20 test -s "$scratch/place/started"
kill -TERM $compare
wait $compare
is "$?" 1 'a comparison that is interrupted before it has a result: exit code 1'
like "$(cat "$scratch/err")" '*stopped before default had run once*' 'and says so'
holds 'and leaves no process behind' gone
refused 2 '*--for needs a time*' 'a time of nothing' --compare default --for 0 -- true
"$cairn" why --compare default --rounds 1 -- sh -c 'exit 3' >"$scratch/one" 2>"$scratch/err"
like "$(cat "$scratch/one")" '*failed in 1 of 1 rounds*' 'a program that fails'
done_testing
