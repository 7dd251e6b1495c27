#!/usr/bin/env bash
# cairn html: one file with the right figures in it, safe to open whatever the names are.
. tests/e2e/lib.sh
need python3 cc

# page SOURCE...: makes the page and reads it back
page() {
	rm -f "$scratch/page.html"
	"$cairn" html -o "$scratch/page.html" "$@" 2>"$scratch/said" && python3 tests/e2e/read-page.py "$scratch/page.html" >"$scratch/page.json"
}
# says EXPRESSION: of the page just read, P
says() { python3 -c "import json, sys; P = json.load(open('$scratch/page.json')); sys.exit(not ($1))"; }

cc -O2 -g -pthread examples/leaky/leaky.c -o "$scratch/leaky" -ljemalloc 2>"$scratch/said" || broken 'no jemalloc to link with here'
mkdir "$scratch/dumps"
# A busy machine may leave a short run little to show, so it is tried again, longer.
for seconds in 2 4 8 16 32; do
	rm -f "$scratch"/dumps/*
	MALLOC_CONF=prof:true,lg_prof_sample:13,lg_prof_interval:25,prof_final:true,prof_prefix:$scratch/dumps/leaky "$scratch/leaky" $seconds 2>/dev/null
	[ "$(ls "$scratch/dumps" | wc -l)" -lt 8 ] || break
done
newest=$(ls -v "$scratch"/dumps/*.heap | tail -n 1) first=$(ls -v "$scratch"/dumps/*.heap | head -n 1)
[ -s "$newest" ] || broken 'this jemalloc has no profiler'

# The page tells threads apart, the table does not: what a function holds may not depend on that. A page folds wrappers by default, of which
# pthread_create is one, whose allocations are sampled now and then.
holds 'a page is made of a dump, and is what it should be' page "$newest"
"$cairn" top --json -n 0 "$newest" >"$scratch/top.json" 2>/dev/null
compare() {
	python3 - "$scratch" <<-'E'
		import json, sys
		page, top = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("page", "top"))
		bad = [r for r in top["rows"] for f in [page["functions"].get(r["name"], {"self": 0, "total": 0})]
		       if abs(f["self"] - r["flat"]) > 8 or abs(f["total"] - r["cum"]) > 8]
		print(len(top["rows"]), "functions, different:", [(r, page["functions"].get(r["name"])) for r in bad[:3]])
		sys.exit(bool(bad) or not top["rows"] or abs(page["total"] - top["total"]) > 8)
	E
}
holds 'self and total of every function are those of cairn top' compare
holds 'threads and sizes add up to the total' says 'all(abs(sum(P[k].values()) - P["total"]) <= 8 for k in ("threads", "sizes")) and len(P["threads"]) > 3'
holds 'it says of what and how' says 'P["facts"]["process"].endswith("/leaky") and P["facts"]["period"] == 8192 and P["facts"]["samples"] > 100 and "leaky" in P["title"]'
holds 'and where functions are' says 'any(f.endswith("leaky.c") for f in P["files"])'

MALLOC_CONF=prof:true,lg_prof_sample:13,prof_accum:true,prof_final:true,prof_prefix:$scratch/all "$scratch/leaky" 1 2>/dev/null
all=$(ls "$scratch"/all*.heap | tail -n 1)
holds 'a page of a dump that counts what was freed' page "$all"
for value in inuse_space inuse_objects alloc_space alloc_objects; do
	total=$("$cairn" top --json -n 1 --value "$value" "$all" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])')
	holds "it has $value, as cairn top has it" says "abs(P['values']['$value'] - $total) <= 8"
done
counted() { "$cairn" top --json -n 1 "$@" "$all" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["samples"])'; }
all_samples=$(python3 -c 'import re, sys; print(sum(int(n) for n in re.findall(r"@.*\n  t\*: \d+: \d+ \[(\d+):", open(sys.argv[1], errors="replace").read())))' "$all")
off=$(($(counted --alloc) - all_samples)) more=$(($(counted --alloc) - $(counted)))
# jemalloc rounds its counts by up to six percent, which is put right when they are read.
[ $((${off#-} * 100)) -le $((all_samples * 7)) ] && [ "$more" -gt 0 ]
ok $? "top --alloc counts all samples, not only the live ones: $all_samples, $off off, $more more than live"
holds 'functions whose memory was all freed are there too' says 'any(row["total"] == 0 for row in P["functions"].values())'

holds 'a page of what changed' page --base "$first" "$newest"
"$cairn" top --json -n 0 --base "$first" "$newest" >"$scratch/top.json" 2>/dev/null
holds 'the changes are those of cairn top' compare
holds 'and what there was before is known' says 'P["facts"]["base"] and P["functions"]["remember_session"]["base"] > 0'

# Which of its call paths a real service is sure to leak depends on how evenly the machine let it run. A made-up series has one truth.
python3 tests/e2e/make-series.py "$scratch/series" leak 1
holds 'a page of a folder' page "$scratch/series"
holds 'names the leak first' says '[g["name"] for g in P["facts"]["series"]["growth"]] == ["0x1000"]'

holds 'a small page tells the large nodes apart' page --nodes 4 "$newest"
holds 'all of it is still there' says 'P["nodes"] < 12 and abs(P["total"] - P["facts"]["total"]) <= 8 and P["facts"]["folded"] > 0'
"$cairn" top --json -n 0 "$newest" >"$scratch/top.json" 2>/dev/null
holds 'and every function keeps its figures' python3 - "$scratch" <<'E'
import json, sys
page, top = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("page", "top"))
rows = {r["name"]: r for r in top["rows"] if r["flat"] > 0.01 * top["total"]}
sys.exit(not rows or any(abs(page["exact"][n]["self"] - r["flat"]) > 8 or abs(page["exact"][n]["total"] - r["cum"]) > 8 for n, r in rows.items()))
import json, sys
page, top = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("page", "top"))
rows = {r["name"]: r for r in top["rows"] if r["flat"] > 0.01 * top["total"]}
sys.exit(not rows or any(abs(page["exact"][n]["self"] - r["flat"]) > 8 or abs(page["exact"][n]["total"] - r["cum"]) > 8 for n, r in rows.items()))
E

# Names from strangers.
python3 - "$scratch" <<'E'
import sys
names = ['</script><script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "'quoted'&amp:&lt:", '<!--', ']]>', 'caf\u00e9 \u202egnp.exe', '\u2028line', '@FACTS@']
lines = [";".join(names) + " 10"] + [n + " %d" % (i + 1) for i, n in enumerate(names)]
open(sys.argv[1] + "/hostile.folded", "w").write("\n".join(lines) + "\n")
open(sys.argv[1] + "/bytes.folded", "wb").write(b"a;b\xff\xfe\xc0;c\xed\xa0\x80 7\n")
open(sys.argv[1] + "/long.folded", "w").write("main;" + "n" * 100000 + " 3\n")
open(sys.argv[1] + "/deep.folded", "w").write(";".join("f%d" % i for i in range(4000)) + " 5\n")
open(sys.argv[1] + "/negative.folded", "w").write("a;b -4\na;c -6\n")
open(sys.argv[1] + "/title", "w").write('</title><script>x</script>"&')
E
holds 'names that look like HTML' page "$scratch/hostile.folded"
holds 'are names and nothing else' says '"</script><script>alert(1)</script>" in P["functions"] and P["total"] == 46'
holds 'characters that turn text around are not kept' says 'not any("\u202e" in name for name in P["functions"])'
holds 'bytes that are not UTF-8' page "$scratch/bytes.folded"
holds 'a name of 100 KB' page "$scratch/long.folded"
holds 'is cut' says 'max(map(len, P["functions"])) < 5000'
holds 'a stack 4,000 deep' page "$scratch/deep.folded"
holds 'keeps every level' says 'P["depth"] == 4000'
holds 'only negative values' page "$scratch/negative.folded"
holds 'are a change' says 'P["total"] == -10 and P["facts"]["change"]'
holds 'a title that looks like HTML' page --title "$(cat "$scratch/title")" "$scratch/hostile.folded"
holds 'is a title' says 'P["facts"]["title"].startswith("</title>") and P["title"].startswith("</title>")'

# Output.
"$cairn" html -o "$scratch/none/page.html" "$newest" 2>"$scratch/said"
is $? 1 'a folder that is not there is an error'
like "$(cat "$scratch/said")" '*none*' 'which names it'
"$cairn" html -o /dev/null "$newest" 2>/dev/null && [ -c /dev/null ]
is $? 0 '/dev/null stays what it is'
printf 'heap_v2/524288\n  t*: 0: 0 [0: 0]\n' >"$scratch/empty.heap"
"$cairn" html -o "$scratch/empty.html" "$scratch/empty.heap" 2>"$scratch/said"
is $? 1 'a dump without samples is an error'
[ ! -e "$scratch/empty.html" ]
is $? 0 'and leaves no half file'
done_testing
