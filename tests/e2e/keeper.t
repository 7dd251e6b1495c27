#!/usr/bin/env bash
# The keeper: `cairn watch` holds the ledger of a process and writes its last moment, however the process ends.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
cc=${CC:-cc}
rounds=${KEEPER_ROUNDS:-$(rounds 2 5)}
$cc -O1 -g -w -D_GNU_SOURCE tests/e2e/keeper-host.c -o "$scratch/host" -pthread || { ok 1 "the test host builds"; done_testing; }

# has_bytes NUMBER [TRUTH]: the host holds so much by now. From the start it is 18 MB; less has too few samples to compare.
has_bytes() { [ "$(od -An -td8 -N8 "${2:-$scratch/truth}" | tr -d ' ')" -ge "$1" ]; }
# start MODE [ARGUMENT...]: the host, sampled, with its truth in `truth`; sets pid
start() {
	rm -f "$scratch/truth" "$scratch/truth.go"
	LD_PRELOAD=${preload-$library} CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:4K "$scratch/host" "$scratch/truth" "$@" \
		>/dev/null 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 30 has_bytes 18000000
}
# keep NAME [OPTION...]: watches $pid for its end alone; sets watcher
keep() {
	local name=$1
	shift
	mkdir -p "$scratch/$name"
	"$cairn" watch --start false --grow 1T -o "$scratch/$name" "$@" "$pid" >"$scratch/$name.out" 2>"$scratch/$name.err" &
	watcher=$!
	children+=($watcher)
}
holds_ledger() { ls -l "/proc/$watcher/fd" 2>/dev/null | grep -q 'memfd:cairn-ledger'; }
kept() { wait_for 30 holds_ledger; }
# held_ledger: the number of the file that it is
held_ledger() {
	local descriptor
	descriptor=$(ls -l "/proc/$watcher/fd" | sed -n 's/.* \([0-9]*\) -> .memfd:cairn-ledger.*/\1/p' | head -n 1)
	[ -z "$descriptor" ] || stat -L -c %i "/proc/$watcher/fd/$descriptor"
}
gone() { ! kill -0 "$1" 2>/dev/null || [ "$(sed 's/.*) //' "/proc/$1/stat" | cut -c1)" = Z ]; }
ends() { wait_for 30 gone "$watcher" && wait "$watcher"; }
# line NAME KEY: of the trailer of the one dump in NAME
line() { sed -n "s/^# cairn $2 //p" "$scratch/$1"/*.heap; }
# compare NAME: the live bytes of `hold` in the last dump against the truth at death, within a tenth
compare() {
	"$cairn" top --json "$scratch/$1" >"$scratch/$1.json" 2>"$scratch/$1.said" || return 1
	python3 - "$scratch/$1.json" "$scratch/truth" <<'P'
import json, struct, sys
rows = json.load(open(sys.argv[1]))["rows"]
got = next((r["cum"] for r in rows if r["name"] == "hold"), 0)
true = struct.unpack("=q", open(sys.argv[2], "rb").read(8))[0]
print("true %d, last dump %d" % (true, got))
sys.exit(not true * 0.9 < got < true * 1.1)
P
}

# SIGKILL at random moments
bad=0
for round in $(seq "$rounds"); do
	rm -rf "$scratch/round"
	start churn
	keep round
	kept || bad=$((bad + 1))
	sleep "0.$((RANDOM % 900 + 100))"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	ends
	compare round >>"$scratch/rounds" 2>&1 || { bad=$((bad + 1)); cat "$scratch/round.err" >>"$scratch/rounds"; }
done
is "$bad" 0 "SIGKILL at $rounds random moments: each last dump is right within a tenth"
[ "$bad" = 0 ] || sed 's/^/#   /' "$scratch/rounds"
is "$(line round ended)" "killed by signal 9 (Killed)" "the trailer says how it ended"
is "$(line round ended.signal)" 9 "and by which signal"
is "$(line round ended.oom)" "" "and not that it was the OOM killer"
like "$(cat "$scratch/round.out")" "*last: killed by signal 9 (Killed)*-last.heap" "the watcher prints the dump"
like "$("$cairn" dumps "$scratch/round" | sed -n 3p)" "last moment of process $pid, killed by signal 9 (Killed): host-$pid-*-last.heap" \
	"cairn dumps lists it first"
is "$("$cairn" dumps --json "$scratch/round" | python3 -c 'import json, sys
d = json.load(sys.stdin); print(d["last_moments"][0]["ended"], d["dumps"][0]["last_moment"], d["dumps"][0]["oom"])')" \
	"killed by signal 9 (Killed) True False" "in JSON, too"
like "$("$cairn" top "$scratch/round")" *"its last moment: killed by signal 9 (Killed)"* "a view says whose last moment it shows"

like "$("$cairn" doctor "$scratch"/round/*.heap 2>/dev/null)" "*ages*are known: 'cairn leaks' judges this one dump*" "cairn doctor says what the dump knows"

# Other ends
start exit 3
keep code
kept
touch "$scratch/truth.go"
wait "$pid" 2>/dev/null
ends
is "$(line code ended) $(line code ended.code)" "exited with code 3 3" "a normal exit"
holds "its last moment is right" compare code
start crash
keep crash
kept
touch "$scratch/truth.go"
wait "$pid" 2>/dev/null
ends
like "$(line crash ended)" "killed by signal 11 (Segmentation fault)*" "a crash"
holds "its last moment is right" compare crash

# Never thinned: a folder of one dump, with rules that give many
start churn
mkdir -p "$scratch/thin"
"$cairn" watch --time 1s --distance 100ms --keep-count 1 --keep-age 1s -o "$scratch/thin" "$pid" >/dev/null 2>&1 &
watcher=$!
children+=($watcher)
kept
sleep 1
kill -9 "$pid"
wait "$pid" 2>/dev/null
ends
more=$(rounds 3 10)
for _ in $(seq "$more"); do
	start churn
	keep thin --once --start true --keep-count 1
	wait_for 30 gone "$watcher"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
done
sleep 1.1
"$cairn" dumps --thin --keep-count 1 --keep-age 1s "$scratch/thin" >/dev/null
is "$(ls "$scratch/thin" | grep -c -- '-last.heap')" 1 "a last moment stays after $more more processes, past every limit"

# The keeper dies and comes back; there may be two
start churn
like "$("$cairn" doctor "$pid" 2>/dev/null)" "*if it is killed, nothing shows what filled its memory: nobody keeps the ledger*" "without a keeper cairn doctor says so"
keep again
kept
like "$("$cairn" doctor "$pid" 2>/dev/null)" "*process $watcher keeps the ledger: the last moment is known*" "with one it says who it is"
kill -9 "$watcher"
wait "$watcher" 2>/dev/null
keep again
kept
first=$watcher
keep second
kept
kill -9 "$pid"
wait "$pid" 2>/dev/null
ends
watcher=$first
ends
holds "a keeper that was killed and started again has the last moment" compare again
holds "and so has a second one" compare second

# fork and exec
start fork
keep fork
kept
sleep 0.3
kill -9 "$pid"
wait "$pid" 2>/dev/null
ends
holds "of a process with forked children it is its own" compare fork
start exec
keep exec
kept
old=$(held_ledger)
rm -f "$scratch/truth.execed"
touch "$scratch/truth.go"
wait_for 30 has_bytes 18000000 "$scratch/truth.execed"
holds_another() { [ -n "$(held_ledger)" ] && [ "$(held_ledger)" != "$old" ]; }
wait_for 30 holds_another
kill -9 "$pid"
wait "$pid" 2>/dev/null
ends
mv "$scratch/truth.execed" "$scratch/truth"
holds "after an exec it is that of the new program" compare exec
start plain
keep plain
kept
touch "$scratch/truth.go"
let_go() { ! holds_ledger; }
holds "after an exec of a program without the agent the old ledger is let go of" wait_for 30 let_go
kill -9 "$pid"
wait "$pid" 2>/dev/null
ends
is "$(ls "$scratch/plain" | grep -c heap)" 0 "and no last moment is made up from it"

# A ledger that is a file is kept, too
preload=$library
start_file() {
	rm -f "$scratch/truth" "$scratch/truth.go"
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:4K,ledger:$scratch/file.ledger \
		"$scratch/host" "$scratch/truth" churn >/dev/null 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 30 has_bytes 89990000 # it grows no more: what is resident a moment before its end is what it is at the end
}
holds_file() { ls -l "/proc/$watcher/fd" 2>/dev/null | grep -q 'file.ledger'; }
start_file
keep file
wait_for 30 holds_file
sleep 1.5
kill -9 "$pid"
wait "$pid" 2>/dev/null
ends
holds "the last moment of a process whose ledger is a file is kept" compare file
# The bill of the last moment
like "$(line file smaps.rss)" "[1-9]*" "with what was resident shortly before"
"$cairn" rss --json "$scratch/file" >"$scratch/bill.json" 2>/dev/null
holds "so that it has a bill" python3 - "$scratch/bill.json" <<'P'
import json, sys
bill = json.load(open(sys.argv[1]))
lines = {line["key"]: line["bytes"] for line in bill["lines"]}
print(lines, bill["notes"])
sys.exit(not (sum(lines.values()) == bill["total"] and lines["live"] > 4e6 and bill["unexplained"] < 0.05 * bill["total"] and
              any("has ended" in note for note in bill["notes"])))
P
# A crash loop leaves a limited number
for round in $(seq "$(rounds 2 24)"); do
	if [ "$round" = 2 ] && ! is_long; then # the others are copies of the first, by other processes
		first=$(ls "$scratch"/loop/*-last.heap)
		for i in $(seq 22); do sed "s/^# cairn pid .*/# cairn pid $((90000 + i))/; s/^# cairn process [0-9]*/# cairn process $((90000 + i))/" "$first" >"${first/-$pid-/-$((90000 + i))-}"; done
	fi
	start exit 3
	keep loop
	kept
	touch "$scratch/truth.go"
	wait "$pid" 2>/dev/null
	ends
done
is "$(ls "$scratch/loop" | grep -c -- '-last.heap')" 20 "of a service that ends again and again the newest 20 last moments stay"
unset preload

# A ledger of the host's own making, in a process without the agent
preload=
for kind in empty short huge forged; do
	start hostile $kind
	keep hostile-$kind
	# A young process has five seconds to show an agent; after that the watcher ends with that reason.
	if [ $kind = forged ]; then kept && sleep 0.5; else sleep 1.5; fi
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	wait_for 60 gone "$watcher"
	wait "$watcher"
	code=$?
	is "$code $(ls "$scratch/hostile-$kind" | grep -c heap)" "1 0" "a ledger that is $kind is no last moment"
done
like "$(cat "$scratch/hostile-forged.err")" "cairn: a ledger*" "and one that was kept is an error"
unset preload

# Another user
if [ "$(id -u)" = 0 ] && id nobody >/dev/null 2>&1; then
	start churn
	mkdir -p "$scratch/other" && chown nobody "$scratch/other" && chmod 755 "$scratch"
	install -m 755 "$cairn" "$scratch/tool"
	setpriv --reuid nobody --regid nogroup --clear-groups "$scratch/tool" watch --start false --grow 1T -o "$scratch/other" "$pid" \
		>"$scratch/other.out" 2>"$scratch/other.err" &
	watcher=$!
	children+=($watcher)
	watches() { ls -l "/proc/$watcher/fd" | grep -q pidfd; }
	wait_for 30 watches
	holds "another user's watcher says at once that it cannot keep the last moment" wait_for 30 grep -q 'will not be kept: this user may not' "$scratch/other.err"
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
	wait_for 30 gone "$watcher"
	wait "$watcher"
	is $? 1 "fails"
	is "$(ls "$scratch/other" | grep -c heap)" 0 "and has no last moment"
	is "$(grep -c 'may not read' "$scratch/other.err")" 1 "which it does not say again"
else
	skip 'another user' 'only root can become one'
fi
done_testing
