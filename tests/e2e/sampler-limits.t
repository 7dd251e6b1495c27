#!/usr/bin/env bash
# Cairn's own sampler within its limits: the budget, dumps at new highs, 2,000 threads at once, a setuid program, sanitizers; and the name
# that a service publishes of itself.
. tests/e2e/lib.sh
need cc curl python3
. tests/e2e/agent.sh
cc=${CC:-cc}
export CAIRN_TOOL=$cairn
$cc -O1 -g -w -D_GNU_SOURCE tests/e2e/sampler-host.c -o "$scratch/host" -pthread -ldl || { ok 1 "the test host builds"; done_testing; }

# fact PID KEY...: a member of the status
fact() { local pid=$1; shift; curl -s --max-time 60 --unix-socket "$sockets/$pid.sock" http://localhost/cairn/status | python3 -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]: value = value[key]
print("" if value is None else str(value).lower() if isinstance(value, bool) else value)' "$@"; }
# start CONF COMMAND...: preloaded, sampling; sets `pid`, and waits until it is ready and the agent answers
start() {
	local conf=$1
	shift
	rm -f "$scratch/out"
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,listen:unix,engine:cairn,$conf "$@" >"$scratch/out" 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 60 grep -q ready "$scratch/out" && wait_for 30 fact $pid pid
}
stop() { kill -9 $pid; wait $pid 2>/dev/null; }

# The budget. Sampling every 64 bytes costs far more than a thousandth.
start period:64,budget:0.1% "$scratch/host" busy
holds "a cost above the budget makes the period longer" wait_for 60 eval '[ "$(fact $pid cost period_changes)" -gt 0 ]'
holds "until it is within the budget" wait_for 120 eval 'awk -v share="$(fact $pid cost cpu_share)" "BEGIN { exit !(share > 0 && share <= 0.001) }"'
period=$(fact $pid period)
[ "$period" -gt 64 ]
ok $? "the status has the period: $period"
is "$(fact $pid reset_at)" "" "samples taken before stay, each with its own period"
# between_changes: takes a dump; true if the period did not change meanwhile
between_changes() {
	period=$(fact $pid period)
	"$cairn" dump -o "$scratch/budget.heap" $pid >/dev/null
	[ "$(fact $pid period)" = "$period" ]
}
wait_for 20 between_changes
is "$(sed -n 's/^# cairn period //p' "$scratch/budget.heap")" "$period" "and so has every dump"
stop

# Dumps at new highs, within the limits of the folder.
mkdir "$scratch/highs"
start "period:16K,dumps:$scratch/highs,keep_count:3" "$scratch/host" grow
curl -s -X POST --unix-socket "$sockets/$pid.sock" "http://localhost/cairn/gdump?activate=true" >/dev/null
is "$(fact $pid gdump)" true "gdump is on"
holds "a new high is dumped" wait_for 60 eval '[ "$(ls "$scratch/highs" | grep -c heap)" -ge 1 ]'
first=$(ls "$scratch/highs" | grep heap | head -n 1)
holds "and another" wait_for 60 eval '[ "$(ls "$scratch/highs" | grep heap | tail -n 1)" != "$first" ]'
holds "until there have been more than the folder may have" wait_for 60 eval '[ "$(fact $pid dumps by_rule high)" -gt 4 ]'
wait_for 20 eval '[ "$(ls "$scratch/highs" | grep -c heap)" -eq 3 ]'
ok $? "of which it keeps three: $(ls "$scratch/highs" | grep -c heap)"
holds "the newest is a dump of this engine" grep -q '^# cairn engine cairn' "$scratch/highs/$(ls "$scratch/highs" | grep heap | tail -n 1)"
stop

# In the folder where the service runs there are dumps of others: those are not counted or removed.
mkdir "$scratch/shared" && cd "$scratch/shared" && earlier_dumps 120
start "period:16K" "$scratch/host" grow
cd "$root"
curl -s -X POST --unix-socket "$sockets/$pid.sock" "http://localhost/cairn/gdump?activate=true" >/dev/null
holds "gdump in a folder with dumps of others" wait_for 60 eval '[ "$(fact $pid dumps by_rule high)" -ge 2 ]'
is "$(cd "$scratch/shared" && earlier_left)" 120 "which all stay"
stop

# After a reset, highs are those since then: less than before is one too.
mkdir "$scratch/reset"
mkfifo "$scratch/input"
exec 7<>"$scratch/input"
start "period:16K,dumps:$scratch/reset" "$scratch/host" step "$scratch/input"
highs() { [ "$(fact $pid dumps by_rule high)" -ge "$1" ]; }
curl -s -X POST --unix-socket "$sockets/$pid.sock" "http://localhost/cairn/gdump?activate=true" >/dev/null
holds "what is held when gdump is switched on is a high" wait_for 30 highs 1
curl -s -X POST --unix-socket "$sockets/$pid.sock" http://localhost/cairn/reset >/dev/null
echo >&7
holds "half as much after a reset is one, too" wait_for 30 highs 2
stop
exec 7>&-

# Two thousand threads that live at once.
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:256 timeout 900 "$scratch/host" crowd >"$scratch/out" 2>&1
is "$? $(tail -n 1 "$scratch/out")" "0 well" "2,000 threads at once"

# A program with another user's rights: the loader does not preload into it, and it runs as ever.
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$scratch"
	cp "$scratch/host" "$scratch/privileged"
	chmod 4755 "$scratch/privileged"
	mkdir -m 777 "$scratch/work"
	(cd "$scratch/work" && LC_ALL=C timeout 600 setpriv --reuid=65534 --regid=65534 --clear-groups "$cairn" run -q -- "$scratch/privileged" plain) \
		>"$scratch/out" 2>"$scratch/err"
	is "$? $(tail -n 1 "$scratch/out")" "0 well" "a setuid program runs under cairn run"
else
	skip "a setuid program" "not root"
fi

# Sanitizers have a malloc that knows its callers.
for sanitizer in address:AddressSanitizer thread:ThreadSanitizer; do
	if ! $cc -O1 -w -D_GNU_SOURCE -fsanitize=${sanitizer%:*} tests/e2e/sampler-host.c -o "$scratch/sanitized" -pthread -ldl 2>/dev/null; then
		skip "${sanitizer#*:}" "the compiler has none"
		continue
	fi
	ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 start period:4K setarch -R "$scratch/sanitized" hold
	like "$(fact $pid why)" "*${sanitizer#*:}*" "a host under ${sanitizer#*:} is refused, with the reason"
	is "$(fact $pid engine relocations)" 0 "and left alone"
	stop
done

# A limit on the length of files (RLIMIT_FSIZE) below that of a ledger, which is a file for the kernel, too: SIGXFSZ would end the service.
(ulimit -c 0 -f 1024 && LD_PRELOAD=$library CAIRN_CONF=listen:unix,enable_heap_profiling:true,engine:cairn,period:4K exec "$scratch/host" hold) \
	>"$scratch/out" 2>&1 &
pid=$!
children+=($pid)
holds "with RLIMIT_FSIZE below the size of the ledger a service starts" wait_for 30 eval 'kill -0 $pid && grep -q ready "$scratch/out"'
wait_for 30 fact $pid pid
is "$(fact $pid active) $([ "$(fact $pid ledger live)" -gt 0 ] && echo sampled)" "true sampled" "and is sampled"
"$cairn" dump -o "$scratch/limited.heap" $pid >/dev/null 2>"$scratch/err"
holds "its dumps are whole" grep -q '^# cairn live ' "$scratch/limited.heap"
is "$(fact $pid pid)" $pid "and it lives on"
stop
(ulimit -c 0 -f 1024 && LD_PRELOAD=$library CAIRN_CONF=listen:unix,enable_heap_profiling:true,engine:cairn,ledger:$scratch/long.ledger exec "$scratch/host" hold) \
	>"$scratch/out" 2>&1 &
pid=$!
children+=($pid)
wait_for 30 grep -q ready "$scratch/out" && wait_for 30 fact $pid pid
like "$(fact $pid ledger problem)" "*File too large" "a ledger file that may not be that long is reported"
stop
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:4K timeout 600 "$scratch/host" limited >"$scratch/out" 2>&1
is "$? $(tail -n 1 "$scratch/out")" "0 well" "a forked worker that sets such a limit before its first sample ends as it would without"

# An operator new that throws, as those of jemalloc and tcmalloc do.
cat >"$scratch/thrower.cc" <<'C'
#include <cstring>
#include <new>
extern "C" __attribute__((noinline)) void hold()
{
	for (int i = 0; i < 8192; i++)
		memset(operator new(1024), 1, 1024);
}
int main()
{
	int caught = 0;
	for (int i = 0; i < 100; i++)
		try {
			void *volatile object = operator new(~0ul / 4);
			(void)object;
		} catch (const std::bad_alloc &) {
			caught++;
		}
	hold();
	return caught != 100;
}
C
holds "a C++ program with jemalloc is built" ${CXX:-g++} -O1 -g -fno-builtin -o "$scratch/thrower" "$scratch/thrower.cc" -ljemalloc
(cd "$scratch" && "$cairn" run -q --engine cairn --period 16K -o thrown.heap -- ./thrower) >"$scratch/out" 2>&1
is "$? $(cat "$scratch/out")" "0 " "each of its exceptions is caught"
within=$("$cairn" top --json -n 0 "$scratch/thrown.heap" | of_json 'abs(next(row["cum"] for row in r["rows"] if row["name"] == "hold") - 2**23) < 2**21')
is "$within" True "and what it allocates afterwards is sampled"

# What the service calls itself.
start period:16K "$scratch/host" context checkout
is "$(fact $pid service)" checkout "the status has the name that the service publishes"
"$cairn" dump -o "$scratch/named.heap" $pid >/dev/null
is "$(sed -n 's/^# cairn service //p' "$scratch/named.heap")" checkout "and so has a dump"
holds "which --service finds by it" "$cairn" top -n 1 --service checkout "$scratch/named.heap"
"$cairn" top -n 1 --service host "$scratch/named.heap" >/dev/null 2>"$scratch/err"
like "$(cat "$scratch/err")" "*checkout*" "and others hear of it"
stop
start period:16K "$scratch/host" hold
is "$(fact $pid service)" "" "a service that publishes nothing has none"
stop
done_testing
