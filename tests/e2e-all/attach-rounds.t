#!/usr/bin/env bash
# Many rounds of attach and detach on a program whose eight threads do nothing but allocate and free: no crash, no stall, no growth.
# ATTACH_ROUNDS sets how many rounds (default: 25). A stall is time in which a thread neither worked nor waited for a processor. A second
# copy of the program, which nobody attaches to, runs all the while and tells what the machine alone does to it: a thread also waits for
# one that has no processor while it holds a lock of the kernel.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc
. tests/e2e/attach.sh
rounds=${ATTACH_ROUNDS:-25}

start alone 8 none
alone=$pid
start busy 8 none
sleep 1
# size: threads, descriptors, mappings, resident kB
size() {
	echo "$(ls "/proc/$pid/task" | wc -l) $(ls "/proc/$pid/fd" | wc -l) $(wc -l <"/proc/$pid/maps")" \
		"$(awk '/VmRSS/ { print $2 }' "/proc/$pid/status")"
}
round() { attach -q --period 64K "$pid" && detach "$pid" >/dev/null && works "$scratch/busy"; }
round && round && round
ok $? "three rounds, after which everything is there that stays"
sleep 0.5
before=$(size)
forget "$scratch/busy" 144
forget "$scratch/alone" 144
done=0 held=0 most=$before
for i in $(seq "$rounds"); do
	said=$(attach --period 64K "$pid" 2>&1) && detach "$pid" >"$scratch/log" 2>&1 && works "$scratch/busy" ||
		{ echo "#   round $i: $said $(cat "$scratch/log")"; break; }
	done=$i
	ms=${said##*held for }
	held=$(awk -v a="$held" -v b="${ms% ms*}" 'BEGIN { print (b + 0 > a + 0) ? b : a }')
	[ $((i % 100)) != 0 ] || echo "#   round $i: $(size), longest stall $(number "$scratch/busy" 144) us," \
		"$(number "$scratch/alone" 144) us without attach"
done
stall=$(number "$scratch/busy" 144) usual=$(number "$scratch/alone" 144)
sleep 0.5
after=$(size)
is $done "$rounds" "$rounds rounds"
echo "#   the longest stall: $stall us with attach, $usual us without, at the same time; the borrowed thread was held for at most $held ms"
[ "$stall" -le $((usual > 20000 ? usual * 2 : 20000)) ]
ok $? "no thread stalled for more than 20 ms ($stall us)"
echo "#   threads, descriptors, mappings and resident kB: $before before, $after after"
read -r threads files maps resident <<<"$before"
read -r threads2 files2 maps2 resident2 <<<"$after"
is "$threads2 $files2" "$threads $files" "no thread and no descriptor is left"
[ "$maps2" -le $((maps + 4)) ]
ok $? "no mappings are ($maps, $maps2)"
[ "$resident2" -le $((resident + 2048)) ]
ok $? "nor memory ($resident kB, $resident2 kB)"
is "$(number "$scratch/busy" 8)" 0 "and the program has seen no error"
end
pid=$alone end
done_testing
