#!/usr/bin/env bash
# The views of a series of dumps, leaks, timeline and the page: what they show is what their filters and options choose, by the names that
# the other views have.
. tests/e2e/lib.sh
need python3

# Twenty dumps, ten minutes apart, of a service whose thread `worker` leaks through a wrapper, beside the steady memory of `main`. One more
# stack frees what it allocates before any dump (prof_accum), and so never holds a byte.
python3 - "$scratch/dumps" <<'P'
import os, sys
folder = sys.argv[1]
os.mkdir(folder)
names = {0x1001: "malloc", 0x2001: "zmalloc", 0x3001: "cache_put", 0x4001: "main", 0x5001: "steady", 0x6001: "parse"}
def counts(objects, ever=0):
    return f"{objects}: {objects * 4096} [{ever}: {ever * 4096}]"
for i in range(20):
    leak, rest = 100 + 60 * i, 3000
    path = f"{folder}/svc.42.{i}.m{i}.heap"
    with open(path, "w") as out:
        out.write("--- symbol\nbinary=/srv/shop\n" + "".join(f"{a:#018x} {n}\n" for a, n in names.items()) + "---\n--- heap\nheap_v2/524288\n")
        out.write(f"  t*: {counts(leak + rest, leak + rest + 500)}\n  t1: {counts(leak, leak)} worker\n  t2: {counts(rest, rest)} main\n")
        out.write(f"@ 0x1002 0x2002 0x3002 0x4002\n  t*: {counts(leak, leak)}\n  t1: {counts(leak, leak)}\n")
        out.write(f"@ 0x1002 0x5002 0x4002\n  t*: {counts(rest, rest)}\n  t2: {counts(rest, rest)}\n")
        out.write(f"@ 0x1002 0x6002 0x4002\n  t*: {counts(0, 25 * (i + 1))}\n  t2: {counts(0, 25 * (i + 1))}\n\nMAPPED_LIBRARIES:\n")
    os.utime(path, (1790000000 + 600 * i,) * 2)
P
dumps=$scratch/dumps


# says EXPRESSION COMMAND...: of the JSON that the command writes about the dumps, D
says() {
	local expression=$1
	shift
	"$cairn" "$@" --json "$dumps" >"$scratch/out.json" 2>"$scratch/said" || { cat "$scratch/said"; return 1; }
	python3 -c "import json, sys; D = json.load(open('$scratch/out.json')); sys.exit(not ($expression))" || { head -c 600 "$scratch/out.json"; echo; return 1; }
}
# page OPTION...: makes the page of all dumps and reads it back; of_page EXPRESSION: of that page, P and what grows on it, G
page() { "$cairn" html -o "$scratch/page.html" "$@" "$dumps" 2>"$scratch/said" && python3 tests/e2e/read-page.py "$scratch/page.html" >"$scratch/page.json"; }
of_page() { python3 -c "import json, sys; P = json.load(open('$scratch/page.json')); G = P['facts']['series']['growth']; print(G); sys.exit(not ($1))"; }

# What grows is called by the function that wanted the memory.
holds 'leaks folds wrappers' says '[r["stack"] for r in D["rows"]][0] == ["cache_put", "main"] and D["summary"].startswith("cache_put ")' leaks
holds '--no-fold shows them' says '[r["stack"] for r in D["rows"]][0] == ["zmalloc", "cache_put", "main"]' leaks --no-fold
holds '--keep-wrappers is the same' says '[r["stack"] for r in D["rows"]][0] == ["zmalloc", "cache_put", "main"]' leaks --keep-wrappers

# So do tables, whatever the shape of their rows.
first='[r["name"] for r in D["rows"]][0]'
holds 'top folds them, too' says "$first == 'cache_put'" top --focus cache_put
holds 'by line' says "$first.startswith('cache_put')" top --lines --focus cache_put
holds 'top --no-fold shows them' says "$first == 'zmalloc'" top --no-fold --focus cache_put
holds 'in a difference' says '[r["name"] for r in D["grown"]["rows"]] == ["cache_put"]' diff "$dumps/svc.42.0.m0.heap"
holds 'in a difference with --no-fold' says '[r["name"] for r in D["grown"]["rows"]] == ["zmalloc"]' diff --no-fold "$dumps/svc.42.0.m0.heap"

# Labels choose in a series what they choose in one dump, and what --thread chooses.
worker='[r["name"] for r in D["rows"] if r["now"] > 0] == ["cache_put"] and D["rows"][0]["verdict"] == "growing"'
main='[r["name"] for r in D["rows"] if r["now"] > 0] == ["steady"] and D["rows"][0]["verdict"] == "steady"'
holds 'leaks --thread worker: the leak' says "$worker" leaks --thread worker
holds 'leaks --tagfocus thread=worker: the same' says "$worker" leaks --tagfocus thread=worker
holds 'leaks --tagignore thread=worker: the rest' says "$main" leaks --tagignore thread=worker
layers='{l["name"].split(" ")[0]: l["values"][-1] for l in D["layers"] if l["values"][-1] > 0}'
holds 'timeline --tagfocus thread=main: its memory alone' says "list($layers) == ['steady'] and D['total']['values'][0] == D['total']['values'][-1]" \
	timeline --tagfocus thread=main
holds 'timeline --tagignore thread=main: the leak' says "list($layers) == ['cache_put'] and D['total']['values'][-1] > 5 * D['total']['values'][0]" \
	timeline --tagignore thread=main
"$cairn" leaks --tagfocus thread=nobody "$dumps" >/dev/null 2>"$scratch/said"
is $? 1 'a label that no dump has is an error'
like "$(cat "$scratch/said")" "*--tagfocus 'thread=nobody' matches no label*" 'which says so'

# A stack that never held a byte is no call path of the series.
holds 'leaks judges what held something' says '[r["name"] for r in D["rows"]] == ["cache_put", "steady"] and "too early" not in str(D)' leaks
holds 'and nothing else' says '[r["name"] for r in D["rows"]] == ["steady"] and D["summary"] == "nothing keeps growing"' leaks --focus steady
holds 'timeline has a layer for it' says "sorted($layers) == ['cache_put', 'steady'] and len(D['layers']) == 2" timeline
holds 'where it is all there is, it is steady' says '[(r["name"], r["verdict"]) for r in D["rows"]] == [("parse", "steady")]' leaks --focus parse

# With a filter, everything is about the stacks that it keeps.
holds 'leaks --focus: the total and its verdict are those of the rows' \
	says 'D["verdict"] == "steady" and D["bytes_per_hour"] == 0 and D["total"] == sum(r["now"] for r in D["rows"]) == D["rows"][0]["now"]' leaks --focus steady
holds 'without it, those of the process' says 'D["verdict"] == "growing" and D["total"] == sum(r["now"] for r in D["rows"]) and len(D["rows"]) == 2' leaks
like "$("$cairn" leaks --focus steady "$dumps" 2>/dev/null)" '*, 1.5 GiB now*' 'in text, too'

# Options that make one profile of several have no meaning for a series.
for command in leaks timeline; do
	for option in --sum --normalize --tree "--base $dumps/svc.42.0.m0.heap"; do
		"$cairn" $command $option --json "$dumps" >"$scratch/out" 2>"$scratch/said"
		is "$? $(cat "$scratch/said")" "2 cairn: 'cairn $command' compares the dumps of a series with each other; --base, --normalize, --sum and --tree work with 'cairn top'" \
			"$command ${option%% *} is refused"
	done
	is "$("$cairn" $command --help | grep -cE -- '--(base|normalize|sum|tree|drop-negative)|sums and differences')" 0 "$command --help lists none of these"
done

# The page of several dumps: what grows has the names of the page, and is chosen as the page is.
holds 'a page of all dumps' page
holds 'names what grows as it names functions' of_page '[g["name"] for g in G] == ["cache_put"] and all(g["name"] in P["functions"] for g in G)'
holds 'a page that keeps wrappers' page --no-fold
holds 'does, too' of_page '[g["name"] for g in G] == ["zmalloc"] and all(g["name"] in P["functions"] for g in G)'
holds 'a page of one thread, by label' page --tagignore thread=worker
holds 'has nothing that grows' of_page 'G == [] and "cache_put" not in P["functions"] and "steady" in P["functions"]'
holds 'a page of the other' page --tagfocus thread=worker
holds 'has the leak' of_page '[g["name"] for g in G] == ["cache_put"] and "steady" not in P["functions"]'

# A call path without frames has a name wherever it is shown.
python3 - "$scratch/bare" <<'P'
import os, sys
os.mkdir(sys.argv[1])
for i in range(12):
    path = f"{sys.argv[1]}/svc.42.{i}.m{i}.heap"
    with open(path, "w") as out:
        out.write("heap_v2/524288\n")
        for stack, objects in ("@", 100 + 60 * i), ("@ 0x1002", 3000):
            out.write(f"{stack}\n  t*: {objects}: {objects * 4096} [0: 0]\n")
        out.write("\nMAPPED_LIBRARIES:\n")
    os.utime(path, (1790000000 + 600 * i,) * 2)
P
dumps=$scratch/bare
holds 'leaks names it' says '"[no stack] keeps growing" in D["summary"] and D["rows"][0]["name"] == "[no stack]"' leaks
holds 'a page of it' page
holds 'names it, too' of_page '[g["name"] for g in G] == ["[no stack]"]'

# The formats' names are not followed by what they end with.
printf 'main;a 5\n' >"$scratch/a.folded"
"$cairn" top --sum "$scratch/dumps/svc.42.0.m0.heap" "$scratch/a.folded" >/dev/null 2>"$scratch/said"
like "$(cat "$scratch/said")" '*profiles of two kinds cannot be put together: symbolized heap profile and folded text*' 'profiles of two kinds are refused'
done_testing
