#!/usr/bin/env bash
# Profiles out of the ordinary, by jeprof and by ours: --raw of sums, of other kinds and of ledgers, stacks without frames, old headers.
. tests/e2e/lib.sh
need jeprof python3 cc nm readelf
cd "$scratch" || exit 1

cat >program.c <<'C'
__attribute__((noinline)) int first(int x) { return x * 3; }
__attribute__((noinline)) int second(int x) { return first(x) + 1; }
int main(int count, char **words) { return second(count) + !words; }
C
${CC:-cc} -O0 -g -no-pie -fno-pie program.c -o program || broken 'the program cannot be built'
at() { printf '0x%x' $((0x$(nm program | awk -v name="$1" '$3 == name { print $1 }') + 8)); } # at NAME: an address in that function
text=$(readelf -lW program | awk '/LOAD/ && /R E/ { print $3, $2 }')
map() { printf '\nMAPPED_LIBRARIES:\n%x-%x r-xp %08x 00:00 0 %s/program\n' $((${text% *})) $((${text% *} + 4096)) $((${text#* })) "$PWD"; }
# same NAME FILE...: the table of our --raw of these profiles, as stock jeprof reads it, is stock jeprof's own of them
same() {
	local name=$1
	shift
	"$cairn" jeprof --raw program "$@" >raw 2>/dev/null
	is "$(jeprof --text raw 2>/dev/null)" "$(jeprof --text program "$@" 2>/dev/null)" "$name"
}

flat() { # flat WORD BYTES: a profile with one line for each stack
	printf 'heap profile: 9: %d [9: %d] @ %s\n' "$2" "$2" "$1"
	printf '%d: %d [%d: %d] @ %s\n' 5 $2 5 $2 "$(at first) $(at second) $(at main)" 4 $(($2 * 3)) 4 $(($2 * 3)) "$(at second) $(at main)"
	map
}
flat growth 1000000 >growth1
flat growth 4000000 >growth2
same '--raw of a growth profile' growth1
same '--raw of a sum of growth profiles' growth1 growth2
is "$(sed -n '/^heap profile/s/.*@ //p' raw)" growth 'it is one, too'
for word in heap heapz/1048576 heapprofile heap_v2/524288 ''; do
	flat "$word" 2000000 | sed '1s/ @ $//' >old
	is "$("$cairn" jeprof --text program old 2>/dev/null)" "$(jeprof --text program old 2>/dev/null)" "a heap profile of the kind '$word'"
done

# A CPU profile: stock jeprof looks for the leaf one byte before it.
python3 - "$(at first)" "$(at second)" "$(at main)" <<'P' >cpu
import struct, sys
pcs = [int(word, 16) for word in sys.argv[1:]]
words = [0, 3, 0, 10000, 0, 7, 3, *pcs, 2, 2, *pcs[1:], 0, 1, 0]
sys.stdout.buffer.write(struct.pack("<%dQ" % len(words), *words))
P
map | sed 1,2d >>cpu
same '--raw of a CPU profile has names for its leaves' cpu
like "$("$cairn" jeprof --raw program cpu cpu 2>&1 >/dev/null)" '*growth and heap profiles only*' 'a sum of CPU profiles cannot be written'

# Two builds, with another function at the same address.
symbolized() { # symbolized NAME BYTES
	printf -- '--- symbol\nbinary=/srv/none\n0x401000 %s\n---\n--- heap\nheap profile: 1: %s [1: %s] @ heapprofile\n1: %s [1: %s] @ 0x401000\n' "$1" "$2" "$2" "$2" "$2"
}
symbolized load 3000000 >build1
symbolized cache 9000000 >build2
"$cairn" jeprof --raw build1 build2 >raw 2>/dev/null
is "$("$cairn" jeprof --text raw 2>/dev/null | awk '{ print $1, $NF }' | tr '\n' ' ')" 'Total: MB 8.6 cache 2.9 load ' '--raw of a sum keeps the names of both apart'
is "$(jeprof --text raw 2>/dev/null)" "$("$cairn" jeprof --text raw 2>/dev/null)" 'also for stock jeprof'
PYTHONPATH=$root/tests/e2e python3 - <<'P'
from pprof_file import Profile
profile = Profile(("inuse_objects", "count"), ("inuse_space", "bytes"))
profile.sample(["leaf", "main"], [1, 5000000])
profile.write("names.pb")
P
"$cairn" jeprof --raw names.pb >raw 2>/dev/null
is "$(jeprof --text --show_bytes raw 2>/dev/null | awk '{ print $1, $NF }' | tr '\n' ' ')" 'Total: B 5000000 leaf 0 main ' 'names without addresses get some that stock jeprof takes'

# A stack without frames, where the unwinder failed.
printf 'heap_v2/1\n  t*: 3: 3500000 [0: 0]\n@ %s %s\n  t*: 1: 1500000 [0: 0]\n@\n  t*: 2: 2000000 [0: 0]\n' "$(at first)" "$(at main)" >frameless
map >>frameless
is "$("$cairn" jeprof --text --show_bytes program frameless 2>/dev/null)" 'Total: 3500000 B
 2000000  57.1%  57.1%  2000000  57.1% [no stack]
 1500000  42.9% 100.0%  1500000  42.9% first
       0   0.0% 100.0%  1500000  42.9% main' 'stacks without frames have a row of their own'
is "$("$cairn" jeprof --text --show_bytes --focus=first program frameless 2>/dev/null | grep -c 'no stack')" 0 'which a filter leaves out'
done_testing
