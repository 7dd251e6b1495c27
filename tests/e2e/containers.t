#!/usr/bin/env bash
# Processes with a root, a network and process numbers of their own, seen from outside: they are found and asked, their memory has the names
# of their own files and never those of a file that happens to have the same path here.
if [ -z "${CAIRN_TEST_INSIDE:-}" ]; then # in mounts of its own, where a path of this side can be made up
	user=$([ "$(id -u)" = 0 ] || echo --map-root-user)
	unshare $user -m true 2>/dev/null || { . tests/e2e/lib.sh; skip_all 'neither root nor user namespaces here'; }
	CAIRN_TEST_INSIDE=1 exec unshare $user -mpf --kill-child --mount-proc "$0"
fi
. tests/e2e/lib.sh
need gcc unshare pivot_root chroot ldd python3
jemalloc=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')
unset XDG_RUNTIME_DIR

# A root with nothing in it but the program and its libraries: no /tmp, /run, /dev or /proc. The program has a path that exists on this side
# too, with another program of the same size.
small=$scratch/root app=/srv/app
mount --make-rprivate / && mount -t tmpfs none /srv
mkdir -p "$small$app" "$app" "$small/old" "$small/deep"
gcc -O2 -g -o "$small$app/service" tests/hosts/contained.c
gcc -O2 -g -Wl,--build-id=none -o "$small$app/nameless" tests/hosts/contained.c
for name in service nameless; do gcc -O2 -g -Wl,--build-id=none -DHOLDER=hold_outsi -o "$app/$name" tests/hosts/contained.c; done
cp -L "$library" "$small/libcairn.so"
for file in "$jemalloc" $(command -v env umount) $(ldd "$(command -v env)" "$(command -v umount)" "$app/service" "$jemalloc" "$library" | grep -o '/[^ ]*' | grep -v ':$' | sort -u); do
	mkdir -p "$small$(dirname "$file")" && cp -L "$file" "$small$file"
done
environment=(LD_PRELOAD="/libcairn.so $jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:12)
mkfifo "$scratch/input"
exec 7<>"$scratch/input"

# start COMMAND...: waits until it is ready; sets pid to the last process of the chain that it started
start() {
	: >"$scratch/out"
	"$@" <&7 >"$scratch/out" 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 20 grep -q ready "$scratch/out" || sed 's/^/# /' "$scratch/out"
	while child=$(ps -o pid= --ppid "$pid" | head -n 1 | tr -d " ") && [ -n "$child" ]; do pid=$child; done
	children+=($pid)
	wait_for 20 "$cairn" status "$pid"
}
stop() { kill -KILL "$pid"; wait 2>/dev/null; children=(); }
# shows PID NAME: names, bytes, and the bill
shows() {
	"$cairn" top "$pid" >"$scratch/top" 2>&1
	like "$(<"$scratch/top")" "*MiB *hold_inside*" "$1: names come from its own file"
	holds "$1: and from no other of that path" bash -c "! grep -q hold_outsi '$scratch/top'"
	holds "$1: every file was found" bash -c "! grep -q 'file is gone' '$scratch/top'"
	"$cairn" rss --json "$pid" >"$scratch/rss" 2>"$scratch/log"
	holds "$1: rss adds up" python3 -c '
import json, sys
bill = json.load(open(sys.argv[1]))
live = next(line["bytes"] for line in bill["lines"] if line["key"] == "live")
resident = int(next(l.split()[1] for l in open("/proc/%s/status" % sys.argv[2]) if l.startswith("VmRSS"))) * 1024
assert bill["pid"] == int(sys.argv[2]), bill["pid"]
assert live >= 30 << 20, live
assert abs(bill["total"] - resident) < resident / 10, (bill["total"], resident)' "$scratch/rss" "$pid"
}


start chroot "$small" "$(command -v env)" -i "${environment[@]}" "$app/service"
like "$("$cairn" status "$pid")" '*socket: @cairn/*' 'without a folder to write to the socket has an abstract name'
shows 'chroot'
holds 'doctor has nothing to say about the socket' bash -c "'$cairn' doctor $pid | grep -q 'right .* agent  .*answers'"
# The same network, another user: he may connect, and hears nothing.
like "$(setpriv --reuid 12345 --clear-groups "$cairn" status "$pid" 2>&1)" '*belongs to another user*' 'another user is told why he gets no answer'
is "$(setpriv --reuid 12345 --clear-groups python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(5); s.connect("\0cairn/%s.sock" % sys.argv[1]); s.send(b"GET /cairn/status HTTP/1.0\r\n\r\n"); print(len(s.recv(100)))' "$pid" 2>&1 | grep -c '^[1-9]')" 0 'and the socket does not speak to him'
stop
start chroot "$small" "$(command -v env)" -i "${environment[@]}" "$app/nameless"
shows 'without a build-id'
stop

# A pod: network, mounts and process numbers of its own, a root that cannot be written to.
mkdir "$small/proc"
cat >"$scratch/pivot" <<SCRIPT
set -e
mount --make-rprivate /
mount --bind "$small" "$small"
mount -t proc none "$small/proc"
mount -o remount,bind,ro "$small"
cd "$small"
pivot_root . old
exec $(command -v env) -i LD_PRELOAD="/libcairn.so $jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:12 "\$@"
SCRIPT
start unshare -n -m -p --fork --kill-child sh "$scratch/pivot" "$app/service"
is "$(awk '/^NSpid:/ { print NF - 1 }' "/proc/$pid/status")" "$(($(awk '/^NSpid:/ { print NF - 1 }' /proc/self/status) + 1))" 'a pod has process numbers of its own'
shows 'a pod'
holds 'a pod: a picture' "$cairn" flame "$pid" -o "$scratch/pod.svg"
"$cairn" dump "$pid" -o "$scratch/pod.heap" >/dev/null
like "$("$cairn" top "$scratch/pod.heap" 2>&1)" '*MiB *hold_inside*' 'a dump of it, read here, has the names that the cache knows by build-id'
like "$(XDG_CACHE_HOME=$scratch/empty "$cairn" top "$scratch/pod.heap" 2>&1)" '*another build: its build-id is missing*' \
	'and without them takes none from the file here'
stop

# Without /proc, too, and with nothing that can be written to.
for engine in cairn jemalloc; do
	cat >"$scratch/bare" <<SCRIPT
set -e
mount --make-rprivate /
mount --bind "$small" "$small"
mount -o remount,bind,ro "$small"
cd "$small"
pivot_root . old
exec $(command -v env) -i LD_PRELOAD="/libcairn.so $jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:12 CAIRN_CONF=engine:$engine,enable_heap_profiling:true,period:4096 "\$@"
SCRIPT
	start unshare -n -m -p --fork --kill-child sh "$scratch/bare" "$app/service"
	like "$("$cairn" status "$pid" 2>&1)" '*state: active*' "no /proc, nothing writable, engine $engine: the agent is reached"
	if [ $engine = cairn ]; then
		like "$("$cairn" top "$pid" 2>&1)" '*hold_inside*' 'and there is a profile'
	else
		like "$("$cairn" top "$pid" 2>&1)" '*a snapshot by jemalloc needs /proc or a folder to write in, and there is neither: *CAIRN_CONF=engine:cairn*' 'and why there is no profile is said'
		like "$("$cairn" doctor "$pid" 2>&1)" '*wrong * samples *needs /proc or a folder to write in*' 'by doctor, too'
	fi
	stop
done

# A root that changes after the start: the socket is in a folder that is not below the root any more, and of mounts that are not ours.
mkdir -p "$small/run"
cat >"$scratch/moving" <<SCRIPT
set -e
mount --make-rprivate /
mount -t tmpfs none "$small/run"
cd "$small"
exec chroot "$small" $(command -v env) -i LD_PRELOAD="/libcairn.so $jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:12 "\$@"
SCRIPT
start unshare -m sh "$scratch/moving" "$app/service" /deep
like "$("$cairn" status "$pid")" '*socket: /run/cairn/*' 'with a folder to write to the socket is there'
echo >&7
wait_for 10 grep -q moved "$scratch/out"
like "$("$cairn" status "$pid" 2>&1)" '*state: active*' 'after chroot, with mounts of its own, it is still reached'
"$cairn" top "$pid" >"$scratch/top" 2>&1
like "$(<"$scratch/top")" '*hold_inside*' 'and named'
done_testing
