# changes.sh - sourced by tests that put snapshots a minute apart into a store: only what changed is stored, and answers stay the same.
# The caller has `store`, `rows` (prints how many rows of samples the store has) and `scratch`.

# check_changes: 25 snapshots, the collector being another one after twelve
check_changes() {
	local file part
	python3 tests/e2e/make-series.py "$scratch/minutes" weighed 7 25 60
	for part in '1,12' '13,25' '20,22'; do # the last ones a second time
		spool=$scratch/spool-$part collect
		ls -v "$scratch"/minutes/*.heap | sed -n "${part}p" | while read -r file; do post_all 'service=minutes&version=1&host=m' "$file"; done
		wait_for 60 emptied
		stop
	done
	local stored whole
	stored=$(rows) whole=$(grep -h '^@' "$scratch"/minutes/*.heap | wc -l)
	is "$((stored * 3 < whole))" 1 "of $whole rows, $stored are stored"
	is "$("$cairn" fleet services --store "$store" --service minutes --from 1789000000 --json | of_json 'r["services"][0]["snapshots"]')" 25 'every snapshot is there, once'
	python3 - "$cairn" "$store" "$scratch"/minutes/*.heap >"$scratch/compared" 2>&1 <<'P'
import json, math, re, subprocess, sys
cairn, store, *files = sys.argv[1:]
def ask(*words):
    r = json.loads(subprocess.run([cairn, *words, "--json", "-n", "0"], capture_output=True).stdout)
    return r["total"], {row["name"]: row["flat"] for row in r["rows"]}, r["period"]
bad, exact = [], 0
for name in files:
    at = re.search("cairn time (\\d+)", open(name).read())[1]
    total, rows, period = ask("top", name)
    stored, stored_rows, _ = ask("fleet", "top", "--store", store, "--service", "minutes", "--from", at, "--to", at)
    exact += total == stored
    if abs(total - stored) > math.sqrt(total * period) / 2 + 2:
        bad.append((at, total, stored))
    for key in set(rows) | set(stored_rows):
        a, b = rows.get(key, 0), stored_rows.get(key, 0)
        if abs(a - b) > 1.97 * math.sqrt(max(a, b) * period) + 2:
            bad.append((at, key, a, b))
print("bad", bad[:3], "exact", exact)
P
	like "$(cat "$scratch/compared")" 'bad [[][]] exact *' 'each total is that of its dump within half a standard error, and each row within its error bar'
	is "$(sed 's/.*exact //' "$scratch/compared")" 3 'and every ten minutes it is exact, whichever collector wrote it'
}
