#!/usr/bin/env bash
# Estimates and their errors against the truth: known live bytes at four places, 1,000 profiles by jemalloc. Each mean is within five standard errors
# and half a percent of the truth (jemalloc rounds what a sample of about a period stands for), and the intervals of --errors hold it 95 % of the time, to within two points.
. tests/e2e/lib.sh
need cc python3
cc -O1 -g tests/e2e/unsample.c -o "$scratch/unsample" -ljemalloc 2>"$scratch/cc" || broken "cannot build against jemalloc: $(head -n 1 "$scratch/cc")"
trials=1000
mkdir "$scratch/trials"
MALLOC_CONF=prof:true,lg_prof_sample:12 "$scratch/unsample" "$scratch/trials" $trials >"$scratch/truth" || broken 'this jemalloc has no profiler'
# All of them as if they were a series: one reading, and every path of every dump with its interval.
"$cairn" timeline --json --errors -n 100 "$scratch/trials" >"$scratch/estimates" 2>/dev/null
cat >"$scratch/check.py" <<'E'
"""check.py ESTIMATES TRIALS TRUTH...: the mean of each place, and how often its interval holds the truth. Chance alone moves the share of one place
by 0.7 points, that of all four together by 0.3."""
import json, math, sys
layers, trials, covered = json.load(open(sys.argv[1]))["layers"], int(sys.argv[2]), []
good = True
for line in open(sys.argv[3]):
    name, truth = line.split()[0], float(line.split()[1])
    [layer] = [l for l in layers if name in l["stack"]]
    values = layer["values"]
    mean = sum(values) / len(values)
    error = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))
    held = [low <= truth <= high for low, high in zip(layer["low"], layer["high"])]
    covered += held
    share = 100 * sum(held) / len(held)
    print(f"# {name}: {len(values)} profiles, mean {mean:.0f}, truth {truth:.0f}, standard error {error:.0f}, {share:.1f} % covered")
    good &= len(values) == trials and error > 0 and abs(share - 95) <= 4
    print(("ok" if error > 0 and abs(mean - truth) < 5 * error + truth / 200 else "bad"), name, "is right on average")
share = 100 * sum(covered) / len(covered)
print("ok" if good and abs(share - 95) <= 2 else "bad", f"{share:.1f} % of {len(covered)} intervals hold the truth")
E
python3 "$scratch/check.py" "$scratch/estimates" $trials "$scratch/truth" >"$scratch/found"
is "$(grep -c '^ok\|^bad' "$scratch/found")" 5 'four places and all of them together'
while read -r word rest; do
	case $word in
	'#') echo "# $rest" ;;
	*) is "$word" ok "$rest" ;;
	esac
done <"$scratch/found"
done_testing
