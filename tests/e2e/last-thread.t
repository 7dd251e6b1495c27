#!/usr/bin/env bash
# A process ends with its last thread, whichever that is. Threads of the agent do not keep it, nor keep signals from it.
. tests/e2e/lib.sh
need cc
. tests/e2e/agent.sh
${CC:-cc} -O1 -g -w tests/e2e/last-thread.c -o "$scratch/host" -pthread || broken 'the test host does not build'

# code COMMAND...: what it prints, and its exit code
code() {
	"$@" >"$scratch/out" 2>/dev/null
	local status=$?
	echo "$(tr '\n' ' ' <"$scratch/out")$status"
}
exit_bare=$(code "$scratch/host" exit 300) strict_bare=$(code "$scratch/host" strict)
is "$exit_bare $strict_bare" "ready goodbye 0 ready 137" 'without an agent'
for conf in enable_heap_profiling:false enable_heap_profiling:true listen:unix listen:unix,enable_heap_profiling:true,period:1K budget:1%; do
	is "$(code timeout -s KILL 60 env LD_PRELOAD="$library" CAIRN_CONF=$conf "$scratch/host" exit 300)" "$exit_bare" "$conf: its first thread ends by pthread_exit"
	is "$(code timeout -s KILL 60 env LD_PRELOAD="$library" CAIRN_CONF=$conf "$scratch/host" strict)" "$strict_bare" "$conf: its only thread is ended by strict mode"
done
is "$(code timeout -s KILL 60 "$cairn" run -q -o /dev/null -- "$scratch/host" exit 300)" "$exit_bare" 'under cairn run'
is "$(code timeout -s KILL 60 "$cairn" run -q -o /dev/null --listen unix -- "$scratch/host" strict)" "$strict_bare" 'and in strict mode'

# An agent that came later.
"$scratch/host" wait "$scratch/go" 500 >"$scratch/late.out" 2>&1 &
pid=$!
children+=($pid)
wait_for 10 grep -q ready "$scratch/late.out"
holds 'the same, attached to' "$cairn" attach $pid
touch "$scratch/go"
holds 'ends' timeout 60 tail --pid=$pid -f /dev/null
wait $pid
is "$? $(tr '\n' ' ' <"$scratch/late.out")" '0 ready goodbye ' 'as it would'

# A signal reaches the threads that are left.
LD_PRELOAD=$library CAIRN_CONF=listen:unix,enable_heap_profiling:true "$scratch/host" exit 100000 >"$scratch/term.out" 2>&1 &
pid=$!
children+=($pid)
has_left() { grep -q '^State:.Z' "/proc/$pid/status" && has_agent $pid; }
wait_for 20 has_left
kill -TERM $pid
wait $pid
is $? 143 'SIGTERM ends it, while another thread goes on'
done_testing
