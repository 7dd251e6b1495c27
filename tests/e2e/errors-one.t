#!/usr/bin/env bash
# Error bars come from one place: of a line, of merged dumps, of a change within one process and across two, of a normalised base, in bytes
# and in objects they fit each other.
. tests/e2e/lib.sh
need python3
cd "$scratch"
# Forty lines of 400 samples of one size; in the second dump of the process a tenth of them came and went.
python3 - <<'E'
import os
quantiles = [-1.64, -1.04, -0.67, -0.39, -0.13, 0.13, 0.39, 0.67, 1.04, 1.64]
def dump(name, counts, time):
    total = sum(counts)
    line = lambda n: f"  t*: {n}: {n * 4096} [0: 0]\n  t0: {n}: {n * 4096} [0: 0]\n"
    stacks = "".join(f"@ 0x{0x9000 + 16 * i:x} 0xf000\n{line(n)}" for i, n in enumerate(counts))
    open(name, "w").write(f"heap_v2/524288\n{line(total)}{stacks}\nMAPPED_LIBRARIES:\n"
                          "00001000-00100000 r-xp 00000000 00:00 0 /nowhere/service\n")
    os.utime(name, (time, time))
later = [400 + round(quantiles[i % 10] * 80 ** 0.5) for i in range(40)]
dump("svc.4242.0.i0.heap", [400] * 40, 1700000000)
dump("svc.4242.1.i1.heap", later, 1700000600)
dump("svc.5353.0.i0.heap", [400] * 40, 1700000000)
E
before=svc.4242.0.i0.heap after=svc.4242.1.i1.heap other=svc.5353.0.i0.heap
for unit in bytes objects; do
	flag=$([ $unit = objects ] && echo --inuse-objects || echo --inuse-space)
	"$cairn" top -n 0 $flag --errors --json "$after" >one-$unit 2>/dev/null
	"$cairn" top -n 0 $flag --errors --json --sum "$after" "$other" >merged-$unit 2>/dev/null
	"$cairn" diff -n 0 $flag --errors --json "$before" "$after" >within-$unit 2>/dev/null
	"$cairn" diff -n 0 $flag --errors --json "$other" "$after" >across-$unit 2>/dev/null
	"$cairn" diff -n 0 $flag --errors --json --normalize "$before" "$after" >normalised-$unit 2>/dev/null
done
cat >read.py <<'P'
import json, statistics, sys
def width(name):
    D = json.load(open(name))
    if "rows" in D:
        return statistics.median(r["flat_high"] - r["flat_low"] for r in D["rows"] if r["flat"])
    rows = [r for s in ("grown", "shrunk") for r in D[s]["rows"]]
    return statistics.median(r["change_high"] - r["change_low"] for r in rows)
kinds = "one", "merged", "within", "across", "normalised"
W = {(kind, unit): width(f"{kind}-{unit}") for kind in kinds for unit in ("bytes", "objects")}
near = lambda a, b: abs(a / b - 1) < 0.06
print(W)
sys.exit(not eval(sys.argv[1]))
P
fits() { holds "$1" python3 read.py "$2"; }
fits 'in objects they are as in bytes, apart from the size' 'all(near(W[k, "bytes"], 4096 * W[k, "objects"]) for k in kinds)'
fits 'the variances of two processes add up when they are merged' 'near(W["merged", "bytes"], 2 ** 0.5 * W["one", "bytes"])'
fits 'and when they are subtracted' 'near(W["across", "bytes"], 2 ** 0.5 * W["one", "bytes"])'
fits 'within one process only a tenth of the samples is random' '0.25 < W["within", "bytes"] / W["across", "bytes"] < 0.42'
fits 'a normalised base counts as another process' 'near(W["normalised", "bytes"], W["across", "bytes"])'
done_testing
