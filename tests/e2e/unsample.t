#!/usr/bin/env bash
# The estimates are right on average: known live bytes at three places, 200 profiles, each mean within three standard errors of the truth.
. tests/e2e/lib.sh
need cc python3
cc -O1 -g tests/e2e/unsample.c -o "$scratch/unsample" -ljemalloc 2>"$scratch/cc" || skip_all "cannot build against jemalloc: $(head -n 1 "$scratch/cc")"
trials=200
MALLOC_CONF=prof:true,lg_prof_sample:12 "$scratch/unsample" "$scratch" $trials >"$scratch/truth" || skip_all 'this jemalloc has no profiler'
for i in $(seq 0 $((trials - 1))); do "$cairn" top --cum --json "$scratch/trial.$i.heap"; done >"$scratch/estimates" 2>/dev/null
while read -r name truth; do
	holds "$name: $truth bytes" python3 - "$scratch/estimates" "$name" "$truth" <<-'E'
		import json, math, sys
		name, truth = sys.argv[2], float(sys.argv[3])
		values = [sum(r["cum"] for r in json.loads(line)["rows"] if r["name"] == name) for line in open(sys.argv[1])]
		mean = sum(values) / len(values)
		error = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values))
		print(f"{len(values)} profiles: mean {mean:.0f}, truth {truth:.0f}, standard error {error:.0f}")
		sys.exit(not (len(values) == 200 and error > 0 and abs(mean - truth) < 3 * error))
	E
done <"$scratch/truth"
done_testing
