#!/usr/bin/env bash
# What a host must survive, each fault by itself: the service goes on, the agent answers or says why not, nothing leaks.
. tests/e2e/lib.sh
need redis-server curl python3 cc
. tests/e2e/agent.sh
cc=${CC:-cc}
export MALLOC_CONF=prof:true,lg_prof_sample:12 CAIRN_TOOL=$stand_in CAIRN_SOCKETS=$sockets

ask() { local pid=$1 path=$2; shift 2; curl -s --max-time 120 --unix-socket "$sockets/$pid.sock" "$@" "http://localhost$path"; }
sampled() { snapshot_has_samples "$2" --unix-socket "$sockets/$1.sock" http://localhost/pprof/heap; }
start() { local name=$1; shift; LD_PRELOAD=$library CAIRN_CONF=${CAIRN_CONF-listen:unix} "$@" >"$scratch/$name.out" 2>&1 & pid=$!; children+=($pid); }
alive() { kill -0 "$1" 2>/dev/null; ok $? "$2"; }
# hammer PID COUNT: so many snapshots one after the other, each by a connection of its own
hammer() { curl -s --max-time 600 --unix-socket "$sockets/$1.sock" -H 'Connection: close' -o /dev/null "http://localhost/pprof/heap?[1-$2]"; }

$cc -O2 -w tests/e2e/host.c -o "$scratch/host" -ljemalloc -pthread || { ok 1 "the test host builds"; done_testing; }

# A lock or the heap of libc, used on a thread of ours, is the host's trouble: a child it forks at that moment waits for ever.
if command -v nm >/dev/null; then
	is "$(nm -D --undefined-only "$library" | grep -ohwE 'gmtime(_r)?|localtime|mktime|strftime|opendir|f?dopen(dir)?|fopen(64)?|getline|qsort|strdup|setlocale|getpw[a-z_]*|getaddrinfo|strerror(_r)?|printf')" \
		"" "nothing of libc that locks or allocates behind one's back is called"
else
	skip "nothing of libc that locks or allocates behind one's back is called" "no nm here"
fi

for mode in threads dlopen signals; do
	start $mode "$scratch/host" $mode
	wait_for 30 ask $pid /cairn/status
	hammer $pid $(rounds 10 50)
	sampled $pid "$mode during snapshots"
	alive $pid "$mode: the host goes on"
	kill $pid
done

start leave "$scratch/host" leave
wait_for 30 ask $pid /cairn/status
sampled $pid "a host whose first thread has ended"
ask $pid /pprof/heap >"$scratch/leave.heap"
like "$(sed -n 's/^# cairn //p' "$scratch/leave.heap")" *"executable $scratch/host"*"command $scratch/host leave"*"status.rss "[1-9]*"smaps.rss "[1-9]* "and what /proc says of it is in the trailer"
kill $pid

(cd "$scratch" && exec env CAIRN_CONF=listen:unix LD_PRELOAD="$library" ./host children >"$scratch/children.out" 2>&1) &
pid=$!
children+=($pid)
wait_for 30 ask $pid /cairn/status
for _ in 1 2 3; do like "$(ask $pid '/debug/prof/mem?output=proto' -X POST)" 'pprof *' "a child answers"; done
touch "$scratch/stop"
wait $pid
rm "$scratch/stop"
is "$(cat "$scratch/children.out")" "sigchld 0 strangers 0" "the host's SIGCHLD handler and its wait() never meet our children"

start closeall "$scratch/host" closeall
wait_for 30 grep -q closed "$scratch/closeall.out"
wait_for 30 ask $pid /cairn/status
sampled $pid "all descriptors closed under it"
like "$(ask $pid '/cairn/status?format=text')" "pid: $pid*" "the server is back"
alive $pid "and the host's descriptors stay its own"
kill $pid

start deafen "$scratch/host" deafen
wait_for 30 grep -q deaf "$scratch/deafen.out"
wait_for 30 ask $pid /cairn/status
sampled $pid "only its listening socket closed under it"
kill $pid

# So many descriptors of its own that some have the numbers of the agent's.
if [ "$(ulimit -n)" = unlimited ] || [ "$(ulimit -n)" -gt 1000 ]; then
	start closemany "$scratch/host" closeall 900
	wait_for 30 grep -q closed "$scratch/closemany.out"
	wait_for 30 ask $pid /cairn/status
	alive $pid "and the host's stay its own where their numbers were the agent's"
	is "$(cat "$scratch/closemany.out")" "closed" "none was closed or written to"
	kill $pid
else
	skip "descriptors with the agent's numbers" "ulimit -n is $(ulimit -n)"
fi

start narrow "$scratch/host" narrow
wait_for 30 grep -q limited "$scratch/narrow.out"
is "$(ask $pid /pprof/heap -o /dev/null -w '%{http_code}')" 503 "without address space for a thread more a snapshot is refused"
alive $pid "and the host goes on"
kill $pid

CAIRN_CONF=engine:jemalloc start exec "$scratch/host" exec # so that what it executes has no agent
"$scratch/host" exec >"$scratch/bare.out" 2>&1 &
children+=($!)
wait_for 30 grep -q listed "$scratch/exec.out"
wait_for 30 grep -q listed "$scratch/bare.out"
numbers() { awk '/->/ {print $9}' "$1" | sort -n | tr '\n' ' '; }
is "$(numbers "$scratch/exec.out")" "$(numbers "$scratch/bare.out")" "no descriptor leaks into what the host executes"

start unheard "$scratch/host" unheard
wait_for 30 grep -q unheard "$scratch/unheard.out"
is "$(cat "$scratch/unheard.out")" "unheard 20" "children by _Fork and by a bare clone end as they should"
sampled $pid "and take nothing from their parent"
kill $pid

start seccomp "$scratch/host" seccomp
wait_for 30 ask $pid /cairn/status
sampled $pid "a sandbox without memfd_create"
nothing_left() { [ -z "$(find /dev/shm /tmp "$XDG_RUNTIME_DIR" -maxdepth 2 -regex '.*/\.cairn-[0-9a-f]*' 2>/dev/null)" ]; }
wait_for 3 nothing_left # of another test there may be one for a moment
ok $? "and no file is left behind"

# A filter for system calls that kills, with exactly the list of doc/containers.md.
if [ "$(uname -m)" = x86_64 ] && grep -q 'Seccomp:' /proc/self/status; then
	awk '$0 == "```syscalls" { inside = 1; next } /^```/ { inside = 0 } inside' doc/containers.md | tr ' ' '\n' | sed '/./s/.*/ALLOW(SYS_&)/' >"$scratch/syscalls.h"
	$cc -O1 -w -DSYSCALLS="\"$scratch/syscalls.h\"" tests/e2e/sandbox.c -o "$scratch/sandbox" -ljemalloc
	mkdir "$scratch/sealed"
	CAIRN_CONF=dumps:$scratch/sealed,time:1s,share:90% start sandbox "$scratch/sandbox"
	wait_for 60 grep -q sealed "$scratch/sandbox.out"
	wait_for 30 ask $pid /cairn/status
	sampled $pid "a host that kills itself at an unknown system call"
	is "$(ask $pid '/pprof/profile?seconds=1' -o /dev/null -w '%{http_code}')" 200 "and its CPU profile"
	has_dumps() { [ -n "$(ls "$scratch/sealed")" ]; }
	wait_for 30 has_dumps
	ok $? "and its dumps"
	like "$(ask $pid '/cairn/status?format=text')" "pid: $pid*" "and its status"
	alive $pid "none of which ended it"
	kill $pid

	# Cairn's engine makes its ledger when it is activated, and in a worker with the first sample; also where no file may be as long as that.
	$cc -O1 -w -DSYSCALLS="\"$scratch/syscalls.h\"" tests/e2e/sandbox.c -o "$scratch/sandbox-libc"
	seal() { # FILE-BLOCKS WHETHER-ACTIVE [ARGUMENT]
		(ulimit -f "$1" && LD_PRELOAD=$library CAIRN_CONF=listen:unix,engine:cairn,period:16K,enable_heap_profiling:$2 exec "$scratch/sandbox-libc" ${3-}) \
			>"$scratch/sealed.out" 2>&1 &
		pid=$!
		children+=($pid)
		wait_for 60 grep -q "${4-sealed}" "$scratch/sealed.out"
	}
	has_live() { ask $1 '/cairn/status?format=text' | grep -q '^live samples: [1-9]'; }
	for blocks in unlimited 8192; do
		seal $blocks false
		holds "files of $blocks blocks: Cairn's engine is activated after that" "$cairn" activate $pid
		wait_for 30 has_live $pid
		sampled $pid "and takes samples"
		alive $pid "which did not end it"
		kill $pid
		seal $blocks true after worker
		worker=$(sed -n 's/^worker //p' "$scratch/sealed.out")
		children+=($worker)
		wait_for 30 has_live $worker
		sampled $worker "so does a worker that is forked after that"
		alive $worker "and it goes on"
		kill $worker $pid
	done
else
	skip "a host that kills itself at an unknown system call" "no seccomp here, or another architecture"
fi

start nofile "$scratch/host" nofile
wait_for 30 grep -q full "$scratch/nofile.out"
alive $pid "RLIMIT_NOFILE reached: the host goes on"
# The threads of the agent alone: the host allocates all the while, the longer the slower the machine is.
ticks() { cat "/proc/$1"/task/*/stat | awk '/\(cairn/ { sub(/.*\) /, ""); sum += $12 + $13; found = 1 } END { print found ? sum : "none" }'; }
before=$(ticks $pid)
curl -s --max-time 2 --unix-socket "$sockets/$pid.sock" http://localhost/cairn/status >/dev/null
sleep 1 # what is measured: the time it uses meanwhile
[ "$before" != none ] && [ $(($(ticks $pid) - before)) -lt 100 ]
ok $? "and the agent does not spin on the connection it cannot accept"

if [ "$(id -u)" = 0 ]; then
	mkdir -p "$scratch/jail/tmp"
	start chroot "$scratch/host" chroot "$scratch/jail"
	wait_for 30 grep -q inside "$scratch/chroot.out"
	sampled $pid "in a chroot without /proc"
	has_maps() {
		ask $pid /pprof/heap >"$scratch/jailed"
		grep '^MAPPED_LIBRARIES:' "$scratch/jailed" && grep 'r-xp.*libjemalloc' "$scratch/jailed" ||
			{ head -n 2 "$scratch/jailed"; tail -n 2 "$scratch/jailed"; return 1; }
	}
	holds "its maps come from the loader instead" has_maps
	is "$(find "$scratch/jail" -name '.cairn-*' | wc -l)" 0 "and no file is left behind"
	kill $pid

	chmod 755 "$scratch"
	cp -L "$library" "$scratch/libcairn.so.1" # the clone may lie where other users cannot look
	setpriv=$(command -v setpriv)
	if [ -n "$setpriv" ]; then
		install -d -o 65534 -m 700 "$scratch/theirs"
		CAIRN_CONF=listen:unix LD_PRELOAD=$scratch/libcairn.so.1 XDG_RUNTIME_DIR=$scratch/theirs setpriv --reuid=65534 --clear-groups "$scratch/host" >/dev/null 2>&1 &
		pid=$!
		children+=($pid)
		wait_for 30 test -S "$scratch/theirs/cairn/$pid.sock"
		is "$(stat -c %U "$scratch/theirs/cairn/$pid.sock")" nobody "a service of another user has its own socket"
		like "$("$cairn" ps)" "* $pid *host*" "which root sees in 'cairn ps'"
		kill $pid
	fi
	start nobody "$scratch/host" nobody
	wait_for 30 grep -q child "$scratch/nobody.out"
	worker=$(sed -n 's/child //p' "$scratch/nobody.out")
	children+=($worker)
	wait_for 30 test -S "/tmp/cairn-65534/$worker.sock"
	ok $? "a child that becomes another user after fork has a socket in that user's folder"
	is "$(curl -s --max-time 120 --unix-socket "/tmp/cairn-65534/$worker.sock" 'http://localhost/cairn/status?format=text' | head -n 1)" "pid: $worker" "which answers"
	kill $pid $worker
	$cc -w -O1 -Iinclude -o "$scratch/embedded" -x c - -x none "$library" -Wl,-rpath,"$scratch" <<'C'
#include <cairn.h>
#include <stdio.h>
int main(void) { char error[200] = ""; bool started = cairn_start(NULL, error, sizeof error); printf("%d %s\n", started, error); }
C
	chown nobody "$scratch/embedded" && chmod 4755 "$scratch/embedded"
	like "$("$scratch/embedded")" "0 *setuid*" "a setuid program is refused"
else
	skip "chroot, other users, setuid" "not root"
fi

if unshare --mount true 2>/dev/null; then
	# A root file system that cannot be written, and no folder for a socket: it has an abstract name instead, and TCP answers.
	port=$(free_port)
	aside=$(mktemp -d /var/tmp/cairn-test.XXXXXX) # what runs must not lie under what is covered
	cp "$scratch/host" "$library" "$aside"
	LD_PRELOAD=$aside/libcairn.so CAIRN_CONF=listen:127.0.0.1:$port XDG_RUNTIME_DIR= unshare --mount sh -c "
		mount -t tmpfs -o ro none /tmp; mount -t tmpfs -o ro none /run; mount -t tmpfs -o ro none /dev/shm; cd /; exec $aside/host" >/dev/null 2>&1 &
	pid=$!
	children+=($pid)
	is_host() { [ "$(field "http://127.0.0.1:$port" executable)" = "$aside/host" ]; } # the shell has an agent of its own before
	wait_for 30 is_host
	like "$(field "http://127.0.0.1:$port" agent socket)" "@cairn/$pid.sock" "nowhere to put a socket: it has an abstract name"
	has_samples "http://127.0.0.1:$port" "and snapshots need no folder"
	kill $pid
	rm -r "$aside"
	# A full disk.
	mkdir "$scratch/full"
	if mount -t tmpfs -o size=64k none "$scratch/full" 2>/dev/null; then
		MALLOC=prof:true,lg_prof_sample:6,prof_prefix:$scratch/full/je start_redis full
		load "$port_full"
		head -c 60000 /dev/zero >"$scratch/full/filler"
		like "$(curl -s -X POST "$url_full/service/jemalloc/prof/dump")" "*no space left in $scratch/full*" "a full disk is named"
		is "$(ls "$scratch/full")" filler "and nothing half-written is left"
		has_samples "$url_full" "while snapshots over HTTP go on"
		kill "$pid_full"
		wait "$pid_full" 2>/dev/null
		umount "$scratch/full"
	else
		skip "a full disk" "no tmpfs can be mounted"
	fi
else
	skip "read-only root and full disk" "no mount namespace can be made"
fi

start exit "$scratch/host" exit
wait_for 30 ask $pid /cairn/status
(for _ in $(seq 400); do ask $pid /pprof/heap >/dev/null || break; done) 2>/dev/null &
wait $pid
is $? 0 "a host that exits during snapshots ends as it meant to"
wait_for 3 test ! -e "$sockets/$pid.sock"
ok $? "and its socket is gone"

for _ in $(seq "$(rounds 1 3)"); do
	start killed "$scratch/host"
	wait_for 30 ask $pid /cairn/status
	ask $pid /pprof/heap >/dev/null &
	kill -9 $pid
	wait $pid 2>/dev/null
done
start after "$scratch/host"
wait_for 30 ask $pid /cairn/status
sampled $pid "after a SIGKILL while it answers"

# Nothing grows: descriptors, threads, memory.
start idle "$scratch/host" idle
wait_for 30 ask $pid /cairn/status
hammer $pid 20 & # two at once, so that both workers are there before the memory is measured
other=$!
hammer $pid 20
wait $other
count() { ls /proc/$1/fd | wc -l; }
rss() { awk '/^VmRSS/{print $2}' /proc/$1/status; }
fds=$(count $pid) threads=$(ls /proc/$pid/task | wc -l) memory=$(rss $pid)
snapshots=$(rounds 100 300)
hammer $pid "$snapshots"
for _ in $(seq 20); do ask $pid '/debug/prof/mem?output=proto' -X POST >/dev/null; done
# The last connection is closed a moment after its client has left; a second worker starts when the first is busy, and stays.
no_more() { [ "$(count $pid)" -le "$fds" ] && [ "$(ls /proc/$pid/task | wc -l)" -le $((threads + 1)) ]; }
wait_for 6 no_more
ok $? "$snapshots snapshots and 20 children later there are no more descriptors and threads: $fds and $threads, then $(count $pid) and $(ls /proc/$pid/task | wc -l)"
[ $(($(rss $pid) - memory)) -lt 500 ]
ok $? "and the same memory ($memory kB, then $(rss $pid) kB)"

# Starting a child copies nothing of a big host: no page of it has to be copied when it is written to next.
(cd "$scratch" && exec env CAIRN_CONF=listen:unix LD_PRELOAD="$library" ./host big 128 >"$scratch/big.out" 2>&1) &
pid=$!
children+=($pid)
wait_for 20 ask $pid /cairn/status
wait_for 20 grep -q big "$scratch/big.out"
for _ in 1 2 3 4 5; do ask $pid /pprof/symbol -d 0x1234 >/dev/null; done
touch "$scratch/stop"
wait $pid
faults=$(sed -n 's/faults \([0-9]*\) .*/\1/p' "$scratch/big.out")
[ "${faults:-999999}" -lt 2000 ]
ok $? "five children of a host of 128 MB: $(tail -n 1 "$scratch/big.out") had to be copied"
done_testing
