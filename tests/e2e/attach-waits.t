#!/usr/bin/env bash
# Threads that wait in system calls never see that one of them was borrowed: no call returns, neither with EINTR nor with less than it waited
# for. Registers, flags, the red zone and the x87 are as they were.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc
. tests/e2e/attach.sh

names=(futex epoll_wait read nanosleep accept poll clock_nanosleep sigtimedwait semop msgrcv select recv ppoll 'futex with a time'
	'epoll_wait with a time' 'recv of it all')
# waits: its only thread is in a system call, and was a moment ago
waits() {
	local first
	first=$(awk '$1 ~ /^[0-9]/ { print $1, $NF }' "/proc/$pid/syscall") && [ -n "$first" ] && sleep 0.05 &&
		[ "$(awk '{ print $1, $NF }' "/proc/$pid/syscall")" = "$first" ]
}
returned() { for k in "${!names[@]}"; do [ "$(number "$1" $((16 + 8 * k)))" = 0 ] || printf '%s ' "${names[k]}"; done; }

# A thread in each, one process: twenty rounds, each of them on whichever thread suits best.
start all 0 waits
all_there() { [ "$(ls "/proc/$pid/task" | wc -l)" = 17 ]; }
wait_for 4 all_there
rounds=0
for _ in $(seq 20); do attach -q "$pid" && detach "$pid" >/dev/null && rounds=$((rounds + 1)); done
is $rounds 20 "a process with a thread in each of ${#names[@]} system calls is attached to twenty times"
is "$(returned "$scratch/all")$(number "$scratch/all" 8)" 0 "and none of the calls has returned"
end

# Each alone: that thread has to be the one.
for kind in 7 8 9 10 11 12 13 14; do
	start "one$kind" 0 one "$kind"
	wait_for 4 waits
	attach -q "$pid" && detach "$pid" >/dev/null
	ok $? "a process that waits in ${names[kind]} is attached to"
	is "$(returned "$scratch/one$kind")" "" "and ${names[kind]} has not returned"
	end
done
start part 0 one 15
wait_for 4 waits
refuses "a thread in recv with MSG_WAITALL, which would return a part" "*no thread*nothing was changed"
is "$(returned "$scratch/part")" "" "and it has not returned"
end

start registers 1 registers
rounds=0
for _ in $(seq 20); do attach -q "$pid" && detach "$pid" >/dev/null && works "$scratch/registers" && rounds=$((rounds + 1)); done
is "$rounds $(number "$scratch/registers" 8)" "20 0" "a loop over all its registers is attached to twenty times and finds them unchanged"
end
done_testing
