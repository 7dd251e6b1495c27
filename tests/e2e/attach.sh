# attach.sh - what the tests of `cairn attach` share: the target, and looking at it. Sourced after lib.sh and agent.sh.
cc=${CC:-cc}
build_target() { $cc -O1 -g -w -D_GNU_SOURCE "${@:2}" tests/e2e/attach-target.c -o "$scratch/$1" -pthread; }
build_target target || { ok 1 "the target builds"; done_testing; }

# number FILE OFFSET: what the target has counted: work at 0, errors at 8, returns of wait N at 16 + 8N, the longest stall at 144
number() { od -An -td8 -j"$2" -N8 "$1" | tr -d ' '; }
# tell FILE: lets the target go on; forget FILE OFFSET: sets a number to zero
tell() { printf '\001' | dd of="$1" bs=1 seek=152 conv=notrunc status=none; }
forget() { dd if=/dev/zero of="$1" bs=1 seek="$2" count=8 conv=notrunc status=none; }
# start NAME ARGUMENTS...: sets `pid`; $program is what is started
program=$scratch/target
start() {
	local name=$1
	shift
	"$program" "$scratch/$name" "$@" <&0 &
	pid=$!
	children+=("$pid")
	wait_for 4 runs "$pid" "$program" && wait_for 4 test -s "$scratch/$name"
}
# works FILE: the threads go on
works() {
	local before
	before=$(number "$1" 0)
	worked() { [ "$(number "$1" 0)" -gt "$2" ]; }
	wait_for 4 worked "$1" "$before"
}
# waits_in NUMBER: the first thread of $pid is in the system call of that number
waits_in() { [ "$(awk '{ print $1 }' "/proc/$pid/syscall")" = "$1" ]; }
end() { kill -9 "$pid"; wait "$pid" 2>/dev/null; }
attach() { timeout 300 "$cairn" attach "$@"; }
detach() { timeout 300 "$cairn" detach "$@"; }
# refuses NAME PATTERN [OPTIONS]: `pid` is not attached to, and stays as it was
refuses() {
	local before after said
	before=$(cat "/proc/$pid/maps" 2>/dev/null | md5sum)
	said=$(attach "${@:3}" "$pid" 2>&1)
	local code=$?
	after=$(cat "/proc/$pid/maps" 2>/dev/null | md5sum)
	like "$code $said" "1 $2" "refused: $1"
	is "$after" "$before" "  and not touched"
}
