#!/usr/bin/env bash
# Profiles in the formats of other tools: the same figures come back, by our own readers and by theirs.
. tests/e2e/lib.sh
need python3
# Go builds its tools on demand; not anew for each scratch folder.
dump=tests/fixtures/small.heap
total() { "$cairn" top --bytes --json --no-symbols "$@" 2>/dev/null | python3 -c 'import json, sys; print(int(json.load(sys.stdin)["total"]))'; }
near() { awk "BEGIN { d = ($1) - ($2); exit !((d < 0 ? -d : d) <= ${3:-2} + 0.0005 * ($2)) }"; }
want=$(total "$dump")

for format in pprof gperftools symbolized; do
	"$cairn" export --format $format "$dump" -o "$scratch/a.$format" 2>/dev/null
	holds "$format: written" test -s "$scratch/a.$format"
	got=$(total "$scratch/a.$format")
	near "$got" "$want"
	ok $? "$format: read again it has the same total ($got, $want)"
	is "$("$cairn" collapsed "$scratch/a.$format" 2>/dev/null | sed 's/ [0-9]*$//' | sort | md5sum)" "$("$cairn" collapsed "$dump" 2>/dev/null | sed 's/ [0-9]*$//' | sort | md5sum)" "$format: and the same stacks"
done
"$cairn" pprof "$dump" -o "$scratch/b.pb.gz" 2>/dev/null
"$cairn" pprof "$scratch/b.pb.gz" -o "$scratch/c.pb.gz" 2>/dev/null
cmp -s <(gzip -dc "$scratch/b.pb.gz") <(gzip -dc "$scratch/c.pb.gz")
ok $? 'pprof read and written again is the same, byte for byte'
"$cairn" pprof "$dump" -o "$scratch/b.pb" 2>/dev/null
cmp -s "$scratch/b.pb" <(gzip -dc "$scratch/b.pb.gz")
ok $? 'a .pb file is not packed'
"$cairn" pprof --no-symbols --max-samples 2 "$dump" -o "$scratch/small.pb.gz" 2>/dev/null
near "$(total "$scratch/small.pb.gz")" "$want"
ok $? 'a budget of samples keeps the total'
is "$("$cairn" raw "$scratch/small.pb.gz" 2>/dev/null | sed -n 's/^samples: //p')" 2 'and is kept'
"$cairn" pprof --max-bytes 10 "$dump" -o "$scratch/none.pb.gz" 2>"$scratch/error"
is "$? $([ -e "$scratch/none.pb.gz" ] && echo there)" '1 ' 'a budget that nothing fits is an error and leaves no file'
"$cairn" export "$dump" -o "$scratch/x.speedscope.json" 2>/dev/null
holds 'the ending of a file names the format; speedscope weights are the total' python3 -c '
import json, sys
profile = json.load(open(sys.argv[1]))
shown = profile["profiles"][profile["activeProfileIndex"]]
assert shown["unit"] == "bytes" and len(shown["samples"]) == len(shown["weights"])
assert abs(shown["endValue"] - sum(shown["weights"])) < 1e-3 and abs(shown["endValue"] - int(sys.argv[2])) < 100, shown["endValue"]
assert all(0 <= f < len(profile["shared"]["frames"]) for s in shown["samples"] for f in s)' "$scratch/x.speedscope.json" "$want"

# A hundred stacks that stand for 1.87 objects each: whole numbers, and the sum of the estimates in every form.
{
	printf 'heap_v2/524288\n  t*: 100: 40000100 [0: 0]\n'
	for ((i = 0; i < 100; i++)); do printf '@ %#x 0x401100\n  t*: 1: 400001 [0: 0]\n' $((0x401200 + 16 * i)); done
	printf '\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 1 /srv/none\n'
} >"$scratch/parts.heap"
sum() { awk '{ sum += $NF } END { print sum + 0 }'; }
is "$("$cairn" top --objects --json "$scratch/parts.heap" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])')" 187 'an estimate of 187 objects'
is "$("$cairn" collapsed --objects "$scratch/parts.heap" 2>/dev/null | sum)" 187 'is 187 in folded text'
"$cairn" export --format callgrind --objects "$scratch/parts.heap" -o "$scratch/parts.callgrind" 2>/dev/null
is "$(sed -n 's/^totals: //p' "$scratch/parts.callgrind")" 187 'for callgrind'
is "$("$cairn" export --format speedscope --objects "$scratch/parts.heap" 2>/dev/null | python3 -c 'import json, sys
p = json.load(sys.stdin); print(round(sum(p["profiles"][p["activeProfileIndex"]]["weights"])))')" 187 'and for speedscope'
is "$("$cairn" jeprof --collapsed --inuse_objects "$scratch/parts.heap" 2>/dev/null | sum)" 100 'only the jeprof of old cuts each of them'
# Costs of a function are on the lines that have them, and calls on the lines that make them.
cat >"$scratch/lines.py" <<'P'
"""lines.py FILE UNIT: the own costs and calls in Callgrind's format of functions that have names, in KiB, with the lines of both ends."""
import re, sys
names, function, callee, at, sums = {}, None, None, 0, {}
def name(text, kind):
    number, text = re.match(r"(\(\d+\))? ?(.*)", text).groups()
    return names.setdefault((kind, number), text) if number else text
def line(text):
    return at if text == "*" else int(text)
for row in open(sys.argv[1]):
    key, _, value = row.rstrip("\n").partition("=")
    if key == "fn": function = name(value, "fn")
    elif key == "cfn": callee = name(value, "fn")
    elif key == "calls": end = line(value.split()[-1])
    elif re.match(r"[-+*0-9]", row):
        at, cost = line(row.split()[-2]), int(row.split()[-1])
        if sys.argv[2] == "bytes": cost //= 1024
        if function and cost and "+0x" not in function + str(callee) and callee != "":
            place = (function, at) if callee is None else (function, at, callee, end)
            sums[place] = sums.get(place, 0) + cost
        callee = None
for place, cost in sums.items(): print(*place, cost)
P
views=tests/fixtures/views
"$cairn" export --format callgrind $views/now.pb -o "$scratch/now.callgrind"
python3 "$scratch/lines.py" "$scratch/now.callgrind" bytes | sort >"$scratch/lines"
is "$(grep -E '^(handle|main) ' "$scratch/lines")" 'handle 27 json_value 13 62
handle 27 json_value 15 106
handle 28 cache_put 21 3328
main 38 session_open 33 64
main 40 handle 27 168
main 40 handle 28 3328
main 40 log_line 61 3' 'callgrind: calls are on their lines'
is "$(sed -n 's/^fn=\(([0-9]*) \)*//p' "$scratch/now.callgrind" | sort | uniq -d)" '' 'and each function is written once'
if command -v go >/dev/null; then
	go tool pprof -callgrind -output "$scratch/go.callgrind" $views/now.pb 2>/dev/null
	is "$(cat "$scratch/lines")" "$(python3 "$scratch/lines.py" "$scratch/go.callgrind" KiB | sort)" 'as in go tool pprof -callgrind'
else
	skip 'go tool pprof -callgrind' 'no go here'
fi
# What shrank is left out stack by stack, before lines are added up.
printf 'a;c 5\nb;c 9\n' >"$scratch/old.folded"
printf 'a;c 8\nb;c 2\n' >"$scratch/new.folded"
"$cairn" export --format callgrind --base "$scratch/old.folded" "$scratch/new.folded" -o "$scratch/change.callgrind"
is "$(sed -n '/^fn=/,$p' "$scratch/change.callgrind" | grep -E '^(fn|cfn|[0-9]|totals)')" $'fn=c\n0 3\nfn=a\ncfn=c\n0 3\ntotals: 3' 'callgrind: only stacks that grew'
"$cairn" export --format nosuch "$dump" 2>"$scratch/error"
like "$? $(cat "$scratch/error")" "2 *--format takes pprof, speedscope,*not 'nosuch'*" 'a format that is none is a clear error'
printf 'a;b 5\n' >"$scratch/folded"
"$cairn" export --format gperftools "$scratch/folded" 2>"$scratch/error" >/dev/null
like "$? $(cat "$scratch/error")" '1 *heap profiles only*' 'what a format cannot hold is a clear error'

# Filters choose stacks in every format; what would change frames is refused where stacks are kept whole.
now=tests/fixtures/views/now.pb
for format in pprof symbolized gperftools; do
	for filter in '--focus=put' '--ignore=put' '--tagfocus=bytes=:1K'; do
		"$cairn" export --format $format $filter "$now" -o "$scratch/part.$format" 2>"$scratch/error"
		want_part=$("$cairn" top --json --no-symbols $filter "$now" 2>/dev/null | python3 -c 'import json, sys; print(int(json.load(sys.stdin)["shown"]))')
		got=$(total "$scratch/part.$format")
		near "$got" "$want_part"
		ok $? "$format $filter: what the view shows ($got, $want_part)"
	done
	for option in '--hide=put' '--show=main' '--lines' '--no-inlines'; do
		"$cairn" export --format $format $option "$now" -o "$scratch/none.$format" 2>"$scratch/error"
		like "$? $(cat "$scratch/error")" "1 *$format holds whole stacks, so ${option%%=*} does not apply*" "$format $option is refused"
	done
done
"$cairn" pprof --focus=put "$now" -o "$scratch/part.pb.gz"
cmp -s "$scratch/part.pb.gz" "$scratch/part.pprof" || cmp -s <(gzip -dc "$scratch/part.pb.gz") <("$cairn" export --format pprof --uncompressed --focus=put "$now")
ok $? 'cairn pprof takes the filters too'
"$cairn" export --alloc-objects "$now" -o "$scratch/first.pb.gz"
is "$("$cairn" top --json "$scratch/first.pb.gz" | python3 -c 'import json, sys; print(json.load(sys.stdin)["type"])')" alloc_objects 'the value asked for is what viewers of pprof show first'
"$cairn" pprof --default-type nosuch "$now" -o "$scratch/first.pb.gz" 2>"$scratch/error"
like "$? $(cat "$scratch/error")" '0 *no nosuch; it has *inuse_space*' 'a default that the profile does not have is said'

# Values that no integer holds are the largest there is.
printf 'heap_v2/524288\n  t*: 1: 1 [0: 0]\n@ 0x1000 0x2000\n  t*: 18446744073709551615: 18446744073709551615 [0: 0]\n' >"$scratch/huge.heap"
for format in folded callgrind gperftools symbolized; do
	is "$("$cairn" export --format $format "$scratch/huge.heap" 2>/dev/null | grep -c -e '-[0-9]')" 0 "$format: what is too large does not become negative"
done

# What a profile is of.
for kind in 'a;b 5|other' 'heap profile: 1: 2 [1: 2] @ growthz\n1: 2 [1: 2] @ 0x1000|growth' '--- contention:\n1 2 @ 0x1000|contention'; do
	printf -- "${kind%|*}\n" >"$scratch/kind"
	is "$("$cairn" raw "$scratch/kind" 2>/dev/null | sed -n 's/^kind: //p')" "${kind#*|}" "raw says that it is of kind ${kind#*|}"
done

# Sizes: of a jemalloc dump the nearest size class, so that two dumps of the same objects agree; a difference has none.
for count in 1000 900; do
	printf 'heap_v2/4096\n  t*: %d: %d [0: 0]\n@ 0x1000 0x2000\n  t*: %d: %d [0: 0]\n@ 0x1000 0x3000\n  t*: 40: 4000000 [0: 0]\n' \
		$count $((count * 8420 + count)) $count $((count * 8420 + count)) >"$scratch/sizes.$count.heap"
	"$cairn" pprof --no-symbols "$scratch/sizes.$count.heap" -o "$scratch/sizes.$count.pb" 2>/dev/null
	is "$("$cairn" raw "$scratch/sizes.$count.pb" 2>/dev/null | sed -n 's/.* | //p' | tr '\n' ' ')" 'bytes=8192 bytes bytes=98304 bytes ' "pprof: $count objects and their size"
done
is "$("$cairn" raw --base "$scratch/sizes.900.pb" "$scratch/sizes.1000.pb" 2>/dev/null | sed -n 's/^samples: //p')" 2 'so that stacks can be subtracted'
"$cairn" pprof --no-symbols --base "$scratch/sizes.900.heap" "$scratch/sizes.1000.heap" -o "$scratch/change.pb" 2>/dev/null
is "$("$cairn" raw "$scratch/change.pb" 2>/dev/null | grep -c ' | ')" 0 'a difference has no sizes'

# Names of all kinds.
python3 - "$scratch/hostile.folded" <<'END'
import sys
names = [b'"quoted"', b'back\\slash', b'\x01\x1b[31m\x7f', b'\xff\xfe\xc0\x80', 'שלום\u202e'.encode(), b'x' * 100000, b'a--b', b'operator--', b'(1) name', b'fn=(2)']
open(sys.argv[1], 'wb').write(b''.join(b'root;' + name + b' 10\n' for name in names) + b';'.join([b'deep'] * 4000) + b' 5\n')
END
"$cairn" export --format speedscope "$scratch/hostile.folded" -o "$scratch/hostile.json" && python3 -c 'import json, sys; p = json.load(open(sys.argv[1], encoding="utf-8")); sys.exit(sum(p["profiles"][0]["weights"]) != 105)' "$scratch/hostile.json"
ok $? 'hostile names give JSON in UTF-8'
"$cairn" pprof "$scratch/hostile.folded" -o "$scratch/hostile.pb.gz" && is "$(total "$scratch/hostile.pb.gz")" 105 'and a pprof that can be read'
"$cairn" export --format callgrind "$scratch/hostile.folded" -o "$scratch/hostile.callgrind"
is "$(grep -c '^events: samples$' "$scratch/hostile.callgrind") $(LC_ALL=C grep -cP '[\x00-\x08\x0b-\x1f]' "$scratch/hostile.callgrind")" '1 0' 'and callgrind text without control characters'

if command -v go >/dev/null && "$cairn" pprof "$dump" -o "$scratch/go.pb.gz" 2>/dev/null; then
	for report in top cum tree traces raw; do
		options=-$report
		[ $report = cum ] && options='-top -cum'
		holds "go tool pprof $options reads it" go tool pprof $options "$scratch/go.pb.gz"
	done
	got=$(go tool pprof -sample_index=inuse_space -unit=B -top "$scratch/go.pb.gz" 2>/dev/null | sed -n 's/.* of \([0-9]*\)B total.*/\1/p')
	near "$got" "$want"
	ok $? "and shows our total ($got, $want)"
	like "$(go tool pprof -tags "$scratch/sizes.1000.pb" 2>/dev/null)" '*bytes: *: 8kB*: 96kB*' 'and the sizes as its tags'
	holds 'it reads the gperftools text too' go tool pprof -top "$scratch/a.gperftools"
	holds 'and hostile names' go tool pprof -top "$scratch/hostile.pb.gz"
else
	skip 'go tool pprof' 'no go here'
fi
if command -v protoc >/dev/null; then
	holds 'protoc decodes it' bash -c 'gzip -dc "$0" | protoc --decode_raw >/dev/null' "$scratch/b.pb.gz"
else
	skip 'protoc decodes it' 'no protoc here'
fi
done_testing
