#!/usr/bin/env bash
# Profiles that Go writes, read and written again: nothing is lost, and `go tool pprof` shows the same before and after.
. tests/e2e/lib.sh
PATH=$PATH:/usr/local/go/bin
need python3 go
rewrite=$PWD/${CAIRN_BUILD:-build}/tests/rewrite
export GOFLAGS=-mod=mod HOME=$scratch PPROF_TMPDIR=$scratch

if ! go run tests/e2e-all/pprof-go.go "$scratch" 2>"$scratch/err"; then skip_all "go cannot build here: $(head -n 1 "$scratch/err")"; fi

# What go tool pprof lists, without the marks of the default value and of has_*.
listing() { go tool pprof -symbolize=none -raw "$1" 2>/dev/null | sed 's/\[dflt\]//; s/ *\(\[[A-Z][A-Z]\]\)*$//'; }
total() { go tool pprof -symbolize=none -sample_index="$2" -unit="$3" -top "$1" 2>/dev/null | sed -n "s/.* of \([0-9]*\)$4 total.*/\1/p"; }

for kind in heap cpu; do
	file=$scratch/$kind.pb.gz again=$scratch/$kind.again
	holds "$kind: read and written again" "$rewrite" "$file" "$again"
	python3 tests/e2e-all/pprof-lines.py "$file" >"$scratch/before"
	python3 tests/e2e-all/pprof-lines.py "$again" >"$scratch/after"
	holds "$kind: all $(wc -l <"$scratch/before") samples, mappings and fields are the same" diff "$scratch/before" "$scratch/after"
	listing "$file" >"$scratch/before"
	listing "$again" >"$scratch/after"
	holds "$kind: so says go tool pprof, in $(wc -l <"$scratch/before") lines" diff "$scratch/before" "$scratch/after"
done

ours() { "$cairn" raw "$1" | python3 -c '
import sys
total, column, section = 0, None, ""
for line in sys.stdin:
    if not line.startswith(" "):
        section, _, rest = line.partition(":")
        if section == "values":
            column = [name.split("/")[0] for name in rest.split()].index(sys.argv[1])
    elif section == "samples":
        total += float(line.partition(":")[0].split()[column])
print(int(total))' "$2"; }
for value in inuse_space alloc_space; do
	is "$(ours "$scratch/heap.pb.gz" $value)" "$(total "$scratch/heap.pb.gz" $value B B)" "heap: the total of $value that go tool pprof shows"
done
is "$(ours "$scratch/cpu.pb.gz" cpu)" "$(total "$scratch/cpu.pb.gz" cpu ns ns)" 'cpu: the total time'
# pprof truncates each line of a text profile to an integer.
want=$(total "$scratch/heap.txt" inuse_space B B) got=$(ours "$scratch/heap.txt" inuse_space)
[ -n "$want" ] && [ $((got - want)) -ge 0 ] && [ $((got - want)) -le "$(grep -c '@' "$scratch/heap.txt")" ]
ok $? "heap as text: $got, and $want by pprof, which truncates each line"
done_testing
