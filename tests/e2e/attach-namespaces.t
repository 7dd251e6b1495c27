#!/usr/bin/env bash
# A process in mount and PID namespaces of its own, on a read-only root that holds nothing but its program and libc, as another user. And what a
# hostile one can try: nothing is written but to memory that it made itself, nothing stays writable and executable, nothing is left in files.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc python3 unshare
[ "$(id -u)" = 0 ] || skip_all 'namespaces need root'
. tests/e2e/attach.sh

# Makes ROOT the root, without the old one, and becomes the target as nobody. It holds a file open whose name is that of the library's memfd.
cat >"$scratch/launch.c" <<'C'
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int count, char **a)
{
	(void)count;
	if (mount("", "/", "", MS_REC | MS_PRIVATE, "") || mount(a[1], a[1], "", MS_BIND | MS_REC, "") || chdir(a[1]) ||
	    mount("proc", "proc", "proc", 0, "") || mount("data", "data", "tmpfs", 0, "mode=777") ||
	    mount(a[2], "memfd:libcairn.so", "", MS_BIND, "") || syscall(SYS_pivot_root, ".", "old") || chdir("/") ||
	    umount2("/old", MNT_DETACH) || mount("", "/", "", MS_REMOUNT | MS_BIND | MS_RDONLY, "")) {
		perror("launch");
		return 1;
	}
	if (open("/memfd:libcairn.so", O_RDONLY) < 0 || setgroups(0, NULL) || setgid(65534) || setuid(65534))
		return 1;
	execl("/target", "target", "/data/f", "2", "none", (char *)0);
	return 1;
}
C
$cc -O1 -w -D_GNU_SOURCE "$scratch/launch.c" -o "$scratch/launch" || broken "no launcher"
root=$scratch/root
mkdir -p "$root"/{proc,old,data}
cp "$scratch/target" "$root/target"
for file in $(ldd "$scratch/target" | grep -o '/[^ ]*'); do mkdir -p "$root$(dirname "$file")" && cp -L "$file" "$root$file"; done
chmod -R a+rX "$scratch"
touch "$root/memfd:libcairn.so"
echo "not to be touched" >"$scratch/victim"

unshare -m -p --fork "$scratch/launch" "$root" "$scratch/victim" &
outer=$!
children+=("$outer")
for _ in $(seq 250); do
	pid=$(pgrep -P "$outer" | head -n 1)
	[ -n "$pid" ] && [ "$(cat "/proc/$pid/comm")" = target ] && [ -s "/proc/$pid/root/data/f" ] && break
	sleep 0.02
done
children+=("$pid")
like "$(readlink "/proc/$pid"/fd/*)" '*/memfd:libcairn.so*' "the process has a file open that is called as the library's memfd"
is "$(awk '/NSpid/ { print $NF }' "/proc/$pid/status") $(awk '/^Uid/ { print $2 }' "/proc/$pid/status")" "1 65534" "it is process 1 of its own, and nobody"
touch "$scratch/mark"
# Its mappings are looked at all the while.
(while [ ! -e "$scratch/stop" ]; do awk '$2 ~ /w.*x/' "/proc/$pid/maps"; done >"$scratch/writable" 2>/dev/null) &
looker=$!
said=$(attach --period 64K "$pid" 2>&1)
like "$said" "$pid: attached, sampling*" "it is attached to"
is "$(cat "$scratch/victim")" "not to be touched" "and the file is not written to"
code=$(awk '/memfd:libcairn/ { print $1; exit }' "/proc/$pid/maps")
[ -e "/proc/$pid/map_files/$code" ] && ! truncate -s 0 "/proc/$pid/map_files/$code" 2>/dev/null && works "/proc/$pid/root/data/f"
ok $? "nor can anybody truncate the file that the library was loaded from"
# It holds 256 KB at a time, which is four samples: once in a while there is none.
named() { "$cairn" top --no-fold "$pid" 2>&1 | grep -q allocate; }
holds "top names its functions" wait_for 30 named
mv "/proc/$pid/root/data/f" "/proc/$pid/root/data/g"
works "/proc/$pid/root/data/g"
ok $? "it works"
is "$(ls "/proc/$pid/root/data" | tr '\n' ' ')" "g " "nothing was written to where it can write"
# Other programs of the machine may leave such files at any time. Ours would be the library's copy, or of the process.
ours=(-user 65534 -o -name "*$pid*" -o -size "$(stat -c %s "$(readlink -f "$library")")c")
is "$(find /tmp /run /dev/shm /var/tmp -xdev -newer "$scratch/mark" -perm /007 -type f ! -path '*/cairn-test.*' \( "${ours[@]}" \) 2>/dev/null)" "" \
	"nothing is left that everybody can read"
is "$(find /run /tmp -xdev -newer "$scratch/mark" -type s -perm /007 2>/dev/null | grep cairn | grep -v "/cairn-test[.]")" "" "nor a socket that everybody can connect to"
# Whoever cannot trace the process does not get in by its agent.
said=$(setpriv --reuid 65533 --regid 65533 --clear-groups "$cairn" status "$pid" 2>&1)
is $? 1 "a third user is not answered"
like "$said" "cairn: *" "and is told so"
detach "$pid" >/dev/null
ok $? "it is left"
attach -q "$pid" && detach "$pid" >/dev/null
ok $? "attached to again and left"
touch "$scratch/stop"
wait $looker
is "$(cat "$scratch/writable")" "" "no memory was writable and executable at any time"
works "/proc/$pid/root/data/g"
ok $? "and it works"
kill -9 "$pid"
done_testing
