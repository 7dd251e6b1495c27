#!/usr/bin/env bash
# cairn timeline: the right figures in the picture and in the page, what the process weighed beside them, restarts; hostile names, and folders
# as people have them.
. tests/e2e/lib.sh
need python3 cc

for kind in leak restart weighed noise; do python3 tests/e2e/make-series.py "$scratch/$kind" $kind 1; done

# json OPTION...: the timeline as JSON
json() { "$cairn" timeline --json "$@" >"$scratch/timeline.json" 2>"$scratch/said"; }
says() { python3 -c "import json, sys; D = json.load(open('$scratch/timeline.json')); L = D['layers']; sys.exit(not ($1))"; }
# picture OPTION...: an SVG that is one, with no script, no reference to anything outside, and nothing that is not a number
picture() {
	"$cairn" timeline -o "$scratch/out.svg" "$@" 2>"$scratch/said" && python3 - "$scratch/out.svg" <<-'E'
		import re, sys, xml.dom.minidom
		text = open(sys.argv[1]).read()
		tree = xml.dom.minidom.parseString(text)
		for node in tree.getElementsByTagName("*"):
		    assert node.tagName not in ("script", "image", "use", "a", "foreignObject"), node.tagName
		    for name, value in node.attributes.items():
		        assert not name.startswith("on") and name not in ("href", "src"), name
		        assert name not in ("d", "x", "y") or not re.search("nan|inf", value), value
		assert re.findall(r"https?://[^\"]*", text) == ["http://www.w3.org/2000/svg"] and not re.search(r"@import|url\(", text)
	E
}
# page OPTION...: the page, read back
page() { "$cairn" timeline -o "$scratch/out.html" "$@" 2>"$scratch/said" && python3 tests/e2e/read-page.py "$scratch/out.html" >"$scratch/page.json"; }
reads() { python3 -c "import json, sys; P = json.load(open('$scratch/page.json')); F = P['facts']['film']; sys.exit(not ($1))"; }

# The figures.
json "$scratch/leak"
for i in 0 11 23; do "$cairn" top --json "$scratch/leak/svc.4242.$i.m$i.heap" 2>/dev/null; done >"$scratch/tops"
holds 'totals are those of each dump' python3 - "$scratch" <<'E'
import json, sys
D = json.load(open(sys.argv[1] + "/timeline.json"))
tops = [json.loads(line) for line in open(sys.argv[1] + "/tops")]
sys.exit(not all(abs(D["total"]["values"][i] - t["total"]) <= 1 for i, t in zip((0, 11, 23), tops)))
E
holds 'layers add up to them' says 'all(abs(sum(l["values"][i] for l in L) - D["total"]["values"][i]) < 20 for i in range(24))'
holds 'the largest are told apart, the rest is one' says 'len(L) == 9 and L[-1]["name"] == "35 other call paths" and {"0x1000", "0x2000", "0x3000"} <= {l["name"] for l in L}'
holds 'times are those of the dumps' says '[round(d["time"]) for d in D["dumps"]] == [1790000000 + 600 * i for i in range(24)] and D["dumps"][0]["resident"] is None'
json -n 3 "$scratch/leak"
holds 'as many as asked for, what grew most first' says '[l["name"] for l in L] == ["0x2000", "0x3000", "0x1000", "40 other call paths"]'
json --errors "$scratch/noise"
holds '--errors: what stays the same is inside nearly always' python3 - "$scratch" <<'E'
import json, sys
layers = json.load(open(sys.argv[1] + "/timeline.json"))["layers"][:-1]
inside = [low <= sum(l["values"]) / 24 <= high for l in layers for low, high in zip(l["low"], l["high"])]
print(sum(inside), "of", len(inside))
sys.exit(not 0.9 < sum(inside) / len(inside) < 1)
E
json "$scratch/weighed"
holds 'the weight of the process and its limit are in the trailers' says 'all(d["resident"] > 1e9 and d["limit"] == 5 << 30 for d in D["dumps"])'
json --objects "$scratch/leak"
holds '--objects counts objects' says 'D["type"] == "inuse_objects" and all(l["values"][5] < 1e6 for l in L)'

# Wrappers belong to their callers in pictures, as on every page.
for n in 1 2 3; do
	printf -- '--- symbol\nbinary=x\n0x10 zmalloc\n0x20 serve\n0x30 strdup\n0x40 parse\n---\n--- heap\nheap profile: 2: %d [2: %d] @ heapprofile\n' \
		$((n * 110)) $((n * 110)) >"$scratch/wrap$n.heap"
	printf '1: %d [1: %d] @ 0x10 0x20\n1: %d [1: %d] @ 0x30 0x40\n' $((n * 100)) $((n * 100)) $((n * 10)) $((n * 10)) >>"$scratch/wrap$n.heap"
done
holds 'a picture of wrappers' picture "$scratch"/wrap?.heap
like "$(grep -o '<title>[^:]*' "$scratch/out.svg" | sort | tr '\n' ' ')" '*>parse *>serve *' 'shows their callers'
"$cairn" timeline -o "$scratch/out.svg" --no-fold "$scratch"/wrap?.heap 2>/dev/null
like "$(grep -o '<title>[^:]*' "$scratch/out.svg" | sort | tr '\n' ' ')" '*>strdup *>zmalloc *' '--no-fold shows them'
json "$scratch"/wrap?.heap
holds 'JSON does as the picture' says '{l["name"] for l in L} == {"parse", "serve"}'
json --no-fold "$scratch"/wrap?.heap
holds 'in both' says '{l["name"] for l in L} == {"zmalloc", "strdup"}'

# The picture.
holds 'a picture' picture "$scratch/leak"
is "$(grep -c '^<path fill="#.*0x' "$scratch/out.svg")" 8 'with its layers'
like "$(cat "$scratch/out.svg")" '*class="legend"*0x2000*All live memory*' 'and a legend'
cp -r "$scratch/weighed" "$scratch/ended"
last=$(ls -v "$scratch"/ended/* | tail -n 1)
sed -i '/^# cairn smaps.rss/d' "$last"
holds 'a picture whose last dump did not measure resident memory' picture "$scratch/ended"
like "$(cat "$scratch/out.svg")" '*Resident memory of the process<tspan class="amount"> [1-9]*' 'shows the last figure that was measured'
holds 'a picture with weight, limit and errors' picture --errors "$scratch/weighed"
like "$(cat "$scratch/out.svg")" '*class="error"*class="resident"*memory of the machine 5.0 GiB*Resident memory*' 'shows them'
holds 'a limit that is far above' picture --limit 100G "$scratch/leak"
like "$(cat "$scratch/out.svg")" '*limit 100.0 GiB, above this picture*' 'is said, not drawn'
holds 'a picture with a restart' picture "$scratch/restart"
is "$(grep -c 'restart</text>' "$scratch/out.svg")" 1 'marks it'
is "$("$cairn" timeline --format svg "$scratch/leak" 2>/dev/null | head -c 5)" '<?xml' 'on standard output too'

# The page.
holds 'a page' page "$scratch/leak"
holds 'holds every dump, to a fraction of one sample' reads 'len(P["dumps"]) == 24 and all(abs(d["total"] - F["totals"][i]) < 20 * 524288 / 32 for i, d in enumerate(P["dumps"]))'
holds 'function by function' python3 - "$scratch" <<'E'
import json, sys
page = json.load(open(sys.argv[1] + "/page.json"))
tops = [json.loads(line) for line in open(sys.argv[1] + "/tops")]
rows = [(r, page["dumps"][i]["functions"]) for i, t in zip((0, 11, 23), tops) for r in t["rows"] if r["flat"]]
sys.exit(not rows or any(abs(r["flat"] - f.get(r["name"], 0)) > 524288 / 32 for r, f in rows))
E
holds 'and how sure that is' reads 'P["facts"]["errors"] and max(P["sample"]) / 16 > 500000'
holds 'weight, limit and runs' page "$scratch/weighed"
holds 'are in the page' reads 'F["resident"][0] > 1e9 and F["limit"][3] == 5 << 30 and F["runs"] == [0] * 24'
holds 'a restart' page "$scratch/restart"
holds 'is in the page' reads 'F["runs"] == [0] * 12 + [1] * 12'
holds 'only part of it' page --focus 0x3000 "$scratch/leak"
holds 'has only that' reads '[l["name"] for l in F["layers"]] == ["0x3000"] and P["total"] > 0'
holds 'few nodes' page --nodes 5 "$scratch/leak"
holds 'hold all of it' reads 'P["nodes"] < 12 and all(abs(d["total"] - F["totals"][i]) < 20 * 524288 / 32 for i, d in enumerate(P["dumps"]))'

# Names from strangers, in files that say nothing of their process.
mkdir "$scratch/hostile"
python3 - "$scratch/hostile" <<'E'
import os, sys
names = ["</script><script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'quoted'&amp", "<!--", "]]>", "caf\u00e9 \u202egnp.exe", "@CHART@", "n" * 5000]
for dump in range(3):
    path = f"{sys.argv[1]}/{dump}.folded"
    with open(path, "w") as out:
        for n, name in enumerate(names):
            out.write(f"main;{name} {100 * dump + n}\n")
        out.write(";".join(names[:7]) + " 7\n")
    os.utime(path, (1_790_000_000 + 86400 * dump,) * 2)
E
holds 'a picture of hostile names' picture --title '</svg><script>x</script>' "$scratch"/hostile/*.folded
holds 'a page of hostile names' page --title '</title><script>x</script>' "$scratch"/hostile/*.folded
holds 'has them as names' reads '"</script><script>alert(1)</script>" in P["dumps"][2]["functions"] and len(F["seconds"]) == 3'
json --errors "$scratch"/hostile/*.folded
holds 'folded text does not say what it rests on: no errors are known' says 'all(v is None for l in L for v in l["low"])'

# Folders as people have them.
mkdir "$scratch/mixed"
cp -p "$scratch"/leak/*.heap "$scratch/mixed"
for i in 1 2 3; do cp "$scratch/noise/svc.4242.$i.m$i.heap" "$scratch/mixed/other.99.$i.m$i.heap"; done
head -c 700 "$scratch/leak/svc.4242.4.m4.heap" >"$scratch/mixed/svc.4242.4.m4.heap"
printf 'heap_v2/nonsense\n' >"$scratch/mixed/svc.4242.5.m5.heap"
touch -r "$scratch/leak/svc.4242.4.m4.heap" "$scratch/mixed/svc.4242.4.m4.heap"
cp -p "$scratch/mixed/svc.4242.9.m9.heap" "$scratch/mixed/svc.4242.99.m99.heap"
json "$scratch/mixed"
holds 'other services, damaged dumps and copies are left out' says 'len(D["dumps"]) == 22 and [d["time"] for d in D["dumps"]] == sorted(d["time"] for d in D["dumps"])'
like "$(cat "$scratch/said")" '*several services*' 'and said'
like "$(cat "$scratch/said")" '*duplicate dumps count once*' 'each of them'
holds 'the page is made' page "$scratch/mixed"
json "$scratch/leak/svc.4242.1.m1.heap"
is $? 1 'one dump has no time'
"$cairn" timeline -o "$scratch/out.pdf" "$scratch/leak" 2>"$scratch/said"
is $? 2 'a picture nobody knows'
[ ! -e "$scratch/out.pdf" ]
ok $? 'and nothing is written'
done_testing
