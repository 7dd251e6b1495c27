#!/usr/bin/env bash
# --errors wherever a sampled number is shown, as text and as JSON; changes within the noise; and formats that do not say.
. tests/e2e/lib.sh
need python3

# Two dumps of the same service, sampled each for itself, in which one thing grew; and the same with everything recorded.
for kind in leak noise; do python3 tests/e2e/make-series.py "$scratch/$kind" $kind 1 2; done
a=$scratch/noise/svc.4242.0.m0.heap b=$scratch/noise/svc.4242.1.m1.heap
python3 - "$a" "$b" "$scratch" <<'E'
import re, sys
before, after, folder = sys.argv[1:]
grown = "@ 0x9000 0xf000\n  t*: {0}: {1} [0: 0]\n  t0: {0}: {1} [0: 0]\n"
for path, name, count in (before, "before", 40), (after, "after", 400):
    text = open(path).read().replace("\nMAPPED", grown.format(count, count * 4096) + "\nMAPPED", 1)
    open(f"{folder}/{name}.heap", "w").write(text)
    open(f"{folder}/{name}-exact.heap", "w").write(text.replace("heap_v2/524288", "heap_v2/1", 1))
E
before=$scratch/before.heap after=$scratch/after.heap

says() { python3 -c "import json, sys; D = json.load(open('$scratch/out')); sys.exit(not ($1))"; }
json() { "$cairn" "$@" --json >"$scratch/out" 2>"$scratch/said"; }

json top --errors "$after"
holds 'top: every number has its interval' says 'all(r["flat_low"] <= r["flat"] <= r["flat_high"] and r["cum_low"] <= r["cum"] <= r["cum_high"] for r in D["rows"]) and D["shown_low"] < D["shown"] < D["shown_high"]'
holds 'of the width that the samples give: 400 of them, two standard deviations each way' says '[round((r["flat_high"] - r["flat_low"]) / r["flat"], 2) for r in D["rows"] if r["name"] == "0x9000"] == [0.2]'
json top "$after"
holds 'only where asked for' says 'not any("low" in key for r in D["rows"] for key in r) and "shown_low" not in D'
json tree --errors "$after"
holds 'tree: callers and callees too' says 'all(e["value_low"] <= e["value"] <= e["value_high"] for r in D["rows"] for e in r["callers"] + r["callees"])'
json peek 0x9000 --errors "$after"
holds 'peek' says 'D["rows"][0]["flat_low"] < D["rows"][0]["flat"] < D["rows"][0]["flat_high"]'
json traces --errors "$after"
holds 'traces' says 'all(0 < t["value_low"] < t["value"] < t["value_high"] for t in D["traces"])'
json tags --errors "$after"
holds 'tags' says 'all(v["value_low"] < v["value"] < v["value_high"] for t in D["tags"] for v in t["values"])'
for command in 'top' 'tree' 'traces' 'tags' 'peek 0x9000'; do
	like "$("$cairn" $command --errors "$after" 2>/dev/null)" '*95 % confidence interval: * to *MiB to *' "$command, as text"
done
"$cairn" flame --errors "$after" -o "$scratch/out.svg" 2>/dev/null
like "$(cat "$scratch/out.svg")" '*95 %: *MiB to *MiB*' 'flame, in what a frame says of itself'
"$cairn" graph --errors --edgefraction 0 "$after" -o "$scratch/out.dot" 2>/dev/null
holds 'graph: every function and every call has its interval' python3 - "$scratch/out.dot" <<'E'
import re, sys
lines = [l for l in open(sys.argv[1]) if re.match(r"N\d+ ", l)]
bare = [l for l in lines if not re.search(r"\\n\[\S+ \w+ to \S+ \w+\]", l)]
print(bare)
sys.exit(bool(bare) or not any("->" in l for l in lines) or "95 % confidence intervals" not in open(sys.argv[1]).read())
E
"$cairn" graph "$after" -o "$scratch/out.dot" 2>/dev/null
is "$(grep -c '95 %' "$scratch/out.dot")" 0 'graph: only where asked for'
like "$("$cairn" graph --errors tests/fixtures/views/now.pb 2>/dev/null)" '*no confidence intervals*\[unknown\]*' 'graph: and where it is not known, that'
for command in collapsed 'export --format pprof' 'export --format speedscope'; do
	said=$("$cairn" $command --errors "$after" 2>&1 >"$scratch/out")
	is "$? $(wc -c <"$scratch/out")" '2 0' "$command has no room for errors"
	like "$said" '*cannot contain them*cairn traces --errors*' "$command: says so, and where they are"
done

# Changes.
json diff "$before" "$after"
holds 'diff: what grew is no noise' says '[(r["name"], r["noise"]) for r in D["grown"]["rows"] if r["name"] == "0x9000"] == [("0x9000", False)]'
holds 'of what only scatters nearly everything is' says 'sum(r["noise"] for s in ("grown", "shrunk") for r in D[s]["rows"]) >= 0.85 * sum(len(D[s]["rows"]) for s in ("grown", "shrunk"))'
json diff --errors "$before" "$after"
holds 'with the interval of the change' says 'all((r["change_low"] <= 0 <= r["change_high"]) == r["noise"] for s in ("grown", "shrunk") for r in D[s]["rows"])'
"$cairn" diff "$before" "$after" >"$scratch/text" 2>/dev/null
like "$(grep 0x9000 "$scratch/text")" '*MiB  *0x9000' 'a change has no mark'
like "$(cat "$scratch/text")" '*MiB~*0x1*within the 95 % sampling error*' 'noise has one'
is "$(grep -c $'\033' "$scratch/text")" 0 'and no colour, unless on a terminal'
colour=$(script -qec "'$cairn' diff '$before' '$after'" /dev/null 2>/dev/null | grep -c $'\033\\[90m')
if command -v script >/dev/null; then [ "$colour" -gt 5 ]; ok $? 'where it is grey'; else skip 'where it is grey' 'no script here'; fi
is "$(NO_COLOR=1 script -qec "NO_COLOR=1 '$cairn' diff '$before' '$after'" /dev/null 2>/dev/null | grep -c $'\033\\[90m')" 0 'but for those who want no colour'
# columns FILE: the widest line that is no command to copy.
columns() {
	sed $'s/\033\\[[0-9;]*m//g' "$1" | tr -d '\r' | grep -v -e '-> ' | LC_ALL=C.UTF-8 awk '{ if (length($0) > most) most = length($0) } END { print most }'
}
if command -v script >/dev/null; then
	script -qec "COLUMNS=60 '$cairn' doctor '$after'" "$scratch/narrow" >/dev/null 2>&1
	script -qec "COLUMNS=200 '$cairn' doctor '$after'" "$scratch/wide" >/dev/null 2>&1
	sed -i '/^Script /d' "$scratch/narrow" "$scratch/wide"
	[ "$(columns "$scratch/narrow")" -le 60 ] && [ "$(columns "$scratch/wide")" -gt 80 ]
	ok $? 'on a terminal, lines fit its width'
else
	skip 'on a terminal, lines fit its width' 'no script here'
fi
COLUMNS=60 "$cairn" doctor "$after" >"$scratch/text" 2>/dev/null
[ "$(columns "$scratch/text")" -gt 80 ]
ok $? 'a pipe has none'
"$cairn" flame --base "$before" "$after" -o "$scratch/out.svg" 2>/dev/null
like "$(cat "$scratch/out.svg")" '*within the noise of sampling*fill="#dcdad6"*' 'flame --base: noise is grey'
is "$(grep -A4 '>0x9000 (' "$scratch/out.svg" | grep -c dcdad6)" 0 'and what grew is not'
"$cairn" html --base "$before" "$after" -o "$scratch/out.html" 2>/dev/null
python3 tests/e2e/read-page.py "$scratch/out.html" >"$scratch/out"
holds 'html --base: the page knows the weight of a sample' says 'D["facts"]["errors"] and 500000 < max(D["sample"]) / 16 < 524289'

# Everything recorded, and formats that do not say.
json top --errors "$scratch/after-exact.heap"
holds 'where everything was recorded there is no error' says 'all(r["flat_low"] == r["flat"] == r["flat_high"] for r in D["rows"])'
json diff "$scratch/before-exact.heap" "$scratch/after-exact.heap"
holds 'and no noise' says 'not any(r["noise"] for s in ("grown", "shrunk") for r in D[s]["rows"])'
json top --errors tests/fixtures/views/now.pb
holds 'pprof does not say what it rests on: null' says 'all(r["flat_low"] is None and r["cum_high"] is None for r in D["rows"])'
like "$("$cairn" top --errors tests/fixtures/views/now.pb 2>/dev/null)" '*no confidence intervals: pprof*unknown*' 'and in words'
json diff tests/fixtures/views/base.pb tests/fixtures/views/now.pb
holds 'nor is noise' says 'all(r["noise"] is None for r in D["grown"]["rows"])'
printf 'heap profile:      3:     3000 [     5:     5000] @ heapprofile\n     3:     3000 [     5:     5000] @ 0x1000 0x2000\n' >"$scratch/exact.hprof"
like "$("$cairn" top --errors "$scratch/exact.hprof" 2>/dev/null)" '*every allocation was recorded*' 'a profile that is exact says so'
printf 'heap profile:      3:     3000 [     5:     5000] @ heap_v2/524288\n     3:     3000 [     5:     5000] @ 0x1000 0x2000\n' >"$scratch/tcmalloc.heap"
json top --errors "$scratch/tcmalloc.heap"
holds 'samples of tcmalloc are samples' says 'D["rows"][0]["flat_low"] < 0.5 * D["rows"][0]["flat"] and D["rows"][0]["flat_high"] > 2 * D["rows"][0]["flat"]'
done_testing
