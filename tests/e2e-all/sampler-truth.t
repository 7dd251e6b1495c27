#!/usr/bin/env bash
# The truth, often: a program that knows what it holds runs 100 times on each allocator, with realloc, aligned and zeroed memory and frees by
# other threads; how often each call site lies within its 95 % interval is counted. Of 100 intervals that are right, 95 hold the truth on
# average, and fewer than 84 do in one of 30,000 cases. SAMPLER_TRUTH_RUNS sets the number of runs.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
runs=${SAMPLER_TRUTH_RUNS:-100}
for allocator in libc tcmalloc_minimal mimalloc jemalloc; do
	libraries=$([ $allocator = libc ] || echo "-Wl,--no-as-needed -l$allocator")
	# shellcheck disable=SC2086 # a list
	${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/sampler-truth.c -o "$scratch/truth" -pthread -ldl $libraries || { ok 1 "$allocator is there"; continue; }
	rm -f "$scratch"/*.heap "$scratch"/*.json
	for run in $(seq "$runs"); do
		LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:16K timeout 120 "$scratch/truth" "$scratch/$run.heap" >"$scratch/sites" &&
			"$cairn" top --json --errors -n 0 "$scratch/$run.heap" >"$scratch/$run.json" 2>"$scratch/err" || { sed 's/^/# /' "$scratch/sites" "$scratch/err"; break; }
		rm -f "$scratch/$run.heap"
	done
	result=$(python3 - "$scratch" "$runs" <<'P'
import json, os, sys
folder, runs = sys.argv[1], int(sys.argv[2])
sites = {p[1]: float(p[3]) for p in (line.split() for line in open(folder + "/sites")) if p[:1] == ["site"]}
inside, sums, seen = dict.fromkeys(sites, 0), dict.fromkeys(sites, 0.0), 0
for run in range(1, runs + 1):
    path = f"{folder}/{run}.json"
    if not os.path.exists(path) or os.path.getsize(path) == 0: break
    seen += 1
    rows = {r["name"]: r for r in json.load(open(path))["rows"]}
    for name, true in sites.items():
        row = rows.get(name, {"cum": 0, "cum_low": 0, "cum_high": 0})
        inside[name] += row["cum_low"] <= true <= row["cum_high"]
        sums[name] += row["cum"] / true
print(f"of {seen} runs: " + ", ".join(f"{n.removeprefix('site_')} {c} (mean {sums[n] / max(seen, 1):.3f})" for n, c in inside.items()))
share = sum(inside.values()) / max(seen * len(sites), 1)
sys.exit(seen < runs or len(sites) != 7 or min(inside.values()) < 0.84 * runs or share < 0.91)
P
	)
	ok $? "$allocator: within its interval, $result"
done
done_testing
