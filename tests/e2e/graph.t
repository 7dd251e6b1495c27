#!/usr/bin/env bash
# cairn graph: dot text that Graphviz accepts, pictures that are safe to open, and jeprof's call graph as jeprof has it.
. tests/e2e/lib.sh
need python3 cc

cc -O2 -g -pthread examples/leaky/leaky.c -o "$scratch/leaky" -ljemalloc 2>"$scratch/said" || broken 'no jemalloc to link with here'
# A busy machine may leave a short run little to show, so it is tried again, longer.
for seconds in 2 4 8 16 32; do
	rm -f "$scratch"/*.heap
	MALLOC_CONF=prof:true,lg_prof_sample:13,lg_prof_interval:26,prof_final:true,prof_prefix:$scratch/leaky "$scratch/leaky" $seconds 2>/dev/null
	[ "$(ls "$scratch"/*.heap | wc -l)" -lt 4 ] || break
done
newest=$(ls -v "$scratch"/*.heap | tail -n 1) first=$(ls -v "$scratch"/*.heap | head -n 1)
[ -s "$newest" ] || broken 'this jemalloc has no profiler'

"$cairn" graph "$newest" >"$scratch/out.dot" 2>/dev/null
is $? 0 'dot text on standard output'
like "$(cat "$scratch/out.dot")" 'digraph *label="remember_session\\n* -> *' 'has functions and calls'
"$cairn" graph --base "$first" "$newest" -o "$scratch/base.dot" 2>/dev/null
like "$(cat "$scratch/base.dot")" '*red: grew; blue: shrank*' 'with a base it says what the colours mean'
"$cairn" graph -n 2 --nodefraction 0 "$newest" 2>/dev/null >"$scratch/two.dot"
is "$(grep -c '^N[0-9]* \[' "$scratch/two.dot")" 2 '--nodecount bounds the functions'
"$cairn" graph --focus load_page --hide look_up_page --edgefraction 0 "$newest" >"$scratch/out.dot" 2>/dev/null
like "$(cat "$scratch/out.dot")" '*serve_request → load_page*' 'what is hidden is no call'
printf 'a;b;c 900\na;x;c 500\n' >"$scratch/over.folded"
like "$("$cairn" graph -n 2 "$scratch/over.folded")" '*style=dashed*' 'a call over what was left out is dashed'
printf 'main;a 500\nmain;b;d 400\nmain;c;d 3\nmain;e 2\n' >"$scratch/degree.folded"
is "$("$cairn" graph --maxdegree 1 --nodefraction 0 "$scratch/degree.folded" | grep -c ' -> N')" 5 'each function keeps its largest caller, however many there are'

printf 'a;b 0\n' >"$scratch/zero.folded"
like "$("$cairn" graph "$scratch/zero.folded" 2>&1)" '*all values are 0*' 'nothing at all is said to be nothing, not too small'

"$cairn" graph --format nonsense "$newest" >/dev/null 2>"$scratch/said"
is $? 2 'an unknown format is an error'
like "$(cat "$scratch/said")" '*svg*' 'that names the known ones'

python3 - "$scratch" <<'E'
import sys
names = ['</text><script>alert(1)</script>', '"] N9 [label="x', '&lt:b&gt: &#60:', '-->', '\\N\\G\\E', '{a|b}', '<b>bold</b>', 'caf\u00e9 \u202egnp', 'tab\there']
open(sys.argv[1] + "/hostile.folded", "w").write(";".join(names) + " 10\n" + "".join(n + " 5\n" for n in names))
open(sys.argv[1] + "/bytes.folded", "wb").write(b"a;b\xff\xfe\xc0;c\xed\xa0\x80 7\n")
open(sys.argv[1] + "/long.folded", "w").write("main;" + "n" * 100000 + " 3\n")
open(sys.argv[1] + "/deep.folded", "w").write(";".join("f%d" % i for i in range(4000)) + " 5\n")
open(sys.argv[1] + "/negative.folded", "w").write("a;b -4\na;c -6\n")
E
if command -v dot >/dev/null; then
	for name in hostile bytes long deep negative; do
		"$cairn" graph "$scratch/$name.folded" -o "$scratch/$name.dot" && dot -Tcanon "$scratch/$name.dot" >"$scratch/canon" 2>"$scratch/said"
		is "$?$(cat "$scratch/said")" 0 "Graphviz accepts the dot text of $name names"
	done
	for format in svg pdf png ps gif; do "$cairn" graph "$newest" -o "$scratch/out.$format" 2>/dev/null; done
	like "$(head -c 5 "$scratch/out.pdf")" '%PDF-' 'PDF'
	like "$(on_terminal "$cairn" graph --format pdf "$newest" 2>&1 | tail -n 1)" '*binary data to the terminal; name a file with -o*' 'a terminal gets no PDF'
	like "$(on_terminal "$cairn" graph --format dot "$newest" 2>&1)" '*digraph*' 'but dot, which is text to read'
	"$cairn" graph "$newest" -o "$scratch/OUT.SVG" 2>/dev/null && grep -q '<svg' "$scratch/OUT.SVG"
	ok $? 'an ending in capitals is the same format'
	like "$(head -c 4 "$scratch/out.png" | tail -c 3)" 'PNG' 'PNG'
	like "$(head -c 4 "$scratch/out.ps")" '%!PS' 'PostScript'
	like "$(head -c 3 "$scratch/out.gif")" 'GIF' 'GIF'
	"$cairn" graph "$scratch/hostile.folded" --format svg >"$scratch/hostile.svg"
	holds 'SVG of hostile names is XML with no script but our own, and shows them as they are' python3 - "$scratch/hostile.svg" <<'E'
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
text = "\n".join(e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}text"))
scripts = [e.text for e in root.iter() if isinstance(e.tag, str) and e.tag.endswith("script")]
assert scripts == ["\n" + open("src/report/graph.js").read()] or len(scripts) == 1 and "alert" not in scripts[0], scripts
assert not [a for e in root.iter() for a in e.attrib if a.startswith("on")]
for name in ["</text><script>alert(1)</script>", '"] N9 [label="x', "&lt:b&gt: &#60:", "-->", "\\N\\G\\E", "{a|b}", "<b>bold</b>", "caf\u00e9"]:
    assert name in text.replace("\u00a0", " "), name
E
	for name in bytes long negative; do
		"$cairn" graph "$scratch/$name.folded" -o "$scratch/$name.svg"
		holds "SVG of $name names is XML" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$scratch/$name.svg"
	done
else
	skip 'pictures' 'no Graphviz here'
fi
"$cairn" graph "$newest" -o "$scratch/none/out.dot" 2>/dev/null
is $? 1 'output that cannot be written is an error'

if command -v jeprof >/dev/null; then
	quick_nm
	legend() { "$1" ${2:-} --dot --focus=remember "$scratch/leaky" "$newest" 2>/dev/null | sed -n 's/.*\\l\(Total .*Focusing on: [^\\]*\).*/\1/p'; }
	is "$(legend "$cairn" jeprof)" "$(legend jeprof)" 'jeprof --dot --focus: the legend says how much of the total is left, as in jeprof'
	for options in '' --inuse_objects --show_bytes "--base=$first" '--nodecount=3 --nodefraction=0'; do
		"$cairn" jeprof --dot $options "$scratch/leaky" "$newest" >"$scratch/ours" 2>/dev/null
		jeprof --dot $options "$scratch/leaky" "$newest" >"$scratch/theirs" 2>/dev/null
		holds "jeprof --dot $options: the program's functions and calls as jeprof has them" python3 - "$scratch/ours" "$scratch/theirs" <<'E'
import re, sys
own = {"worker", "serve_request", "look_up_page", "load_page", "remember_session", "render_answer"}
def load(path):
    names, nodes, calls = {}, set(), set()
    for line in open(path):
        if found := re.match(r'N(\d+) \[label="(\w+)(.*?)\\r",', line):
            names[found[1]] = found[2]
            if found[2] in own:
                nodes.add((found[2], found[3]))
    for found in re.finditer(r"^N(\d+) -> N(\d+) \[label=([^,]+),", open(path).read(), re.M):
        if names[found[1]] in own and names[found[2]] in own:
            calls.add((names[found[1]], names[found[2]], found[3]))
    return nodes, calls
ours, theirs = map(load, sys.argv[1:])
print("ours only:", ours[0] - theirs[0], ours[1] - theirs[1], "theirs only:", theirs[0] - ours[0], theirs[1] - ours[1])
sys.exit(ours != theirs or not theirs[0])
E
	done
else
	skip 'jeprof --dot' 'no jeprof here'
fi
done_testing
