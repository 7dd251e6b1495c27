#!/usr/bin/env bash
# Flame graphs: the trees of other projects' pictures, the options of flamegraph.pl, differences, hostile names, outputs.
. tests/e2e/lib.sh
need python3
conformance=$shared/conformance
tree() { python3 tests/e2e/flame-tree.py "$@"; }
# frames FILE: "name start weight" of each frame, sorted
frames() { python3 - "$1" <<'END'; }
import re, sys, xml.etree.ElementTree as tree
for group in tree.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}g"):
    rect, title = (group.find("{http://www.w3.org/2000/svg}" + part) for part in ("rect", "title"))
    if rect is not None and title is not None:
        at = [rect.get("{http://github.com/jonhoo/inferno}" + key) for key in "xw"]
        print(title.text.rsplit(" (", 1)[0], *at, rect.get("fill"))
END
is_xml() { python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' "$1"; }
script=$scratch/bin/flamegraph.pl
mkdir "$scratch/bin" && ln -s "$cairn" "$script"

# The tree: integers that nest.
printf 'a;b;c 5\na;b 2\na;b;d 3\na(x) 1\na 4\n' >"$scratch/small.folded"
"$cairn" flame "$scratch/small.folded" -o "$scratch/small.svg"
is "$(frames "$scratch/small.svg" | cut -d' ' -f1-3 | sort | paste -sd,)" 'a 0 14,a(x) 14 1,all 0 15,b 4 10,c 6 5,d 11 3' 'starts and weights are as the lines sort'
is "$("$cairn" flame <"$scratch/small.folded" | md5sum)" "$("$cairn" flame "$scratch/small.folded" | md5sum)" 'without a source standard input is read; the picture is the same every time'
"$cairn" flame --reverse "$scratch/small.folded" -o "$scratch/reverse.svg"
like "$(frames "$scratch/reverse.svg" | cut -d' ' -f1-3 | paste -sd,)" '*c * 5*' 'reversed, the leaves are at the root'
printf 'a;b 5\na;c 1\na;b 2\n' | "$cairn" flame --flamechart -o "$scratch/chart.svg"
is "$(frames "$scratch/chart.svg" | cut -d' ' -f1-3 | sort | paste -sd,)" 'a 0 8,all 0 8,b 0 5,b 6 2,c 5 1' 'a flame chart keeps the order of time'
printf 'a 1\n' | "$cairn" flame --total 100 -o "$scratch/total.svg"
like "$(frames "$scratch/total.svg")" 'all 0 100 *' 'the total can be given'

if [ -d "$conformance/flame" ]; then
	"$cairn" flame "$conformance/flame/differential.txt" -o "$scratch/differential.svg"
	holds 'the differential has the tree of its golden' tree "$scratch/differential.svg" "$conformance/flame/differential.svg"
	# The golden of vertx was drawn from one sample more (286, the text has 285): its frames beside the stack of that sample must be ours.
	"$cairn" flame "$conformance/flame/vertx.txt" -o "$scratch/vertx.svg"
	holds 'the tree of vertx is that of its golden without the one sample that the text does not have' python3 - "$scratch/vertx.svg" "$conformance/flame/vertx.svg" <<-'END'
		import sys, runpy
		sys.argv = ["flame-tree.py", sys.argv[1], sys.argv[2]]
		source = open("tests/e2e/flame-tree.py").read().split("first, second =")[0]
		exec(source)
		ours, golden = (frames(path) for path in sys.argv[1:3])
		key = lambda frame: (frame["depth"], frame["name"], int(frame["start"]), int(frame["weight"]))
		mine, theirs = {key(frame) for frame in ours}, {key(frame) for frame in golden}
		# The path of the extra sample, from its deepest frames up: frames around it weigh one more, frames after it start one later.
		extra = max((frame for frame in golden if frame["name"] == "skb_release_data.part.45"), key=lambda frame: frame["depth"])
		at = int(extra["start"])
		def without(frame):
		    start, weight = int(frame["start"]), int(frame["weight"])
		    weight -= start <= at < start + weight
		    return (frame["depth"], frame["name"], start - (start > at), weight)
		expected = {without(frame) for frame in golden if without(frame)[3] > 0}
		print(len(mine), len(expected), sorted(mine ^ expected)[:6])
		sys.exit(mine != expected)
	END
else
	skip 'trees of the goldens' 'no ../shared/conformance here'
fi

# Lines that are no stacks, as flamegraph.pl takes them; chains of wakers.
junk=('junk\n# note\na;b 200\n\n\n' 'a;b 200\na;b -5\na;c 1e3\na;d 5\n' '\x7fELF\na;b 200\n' 'heap_v2/524288\na;b 200\n' '{"json": 1}\na;b 120\n' 'a;b x\n-- --\na;b;c 150\na;b;d   7\n'
	'main;x 100 200\nmain;y 7 5\nnothing\n' 'a;b 120\r\nc;d 5\n')
chains=('w1;w2;--;r1;r2 100\nw1;w3;--;r1 50\nplain;stack 30\n' 'w1;w2;--;r1;r2;--;z 100\nw1;w2 50\n')
printf "${junk[0]}" | "$script" >"$scratch/junk.svg" 2>"$scratch/said"
is "$? $(frames "$scratch/junk.svg" | cut -d' ' -f1-3 | sort | paste -sd,)" '0 a 0 200,all 0 200,b 0 200' 'flamegraph.pl ignores lines that are no stacks, however many'
is "$(cat "$scratch/said")" 'Ignored 4 lines with invalid format' 'and says how many, in the words of the original'
printf "${chains[0]}" | "$script" --colors=chain >"$scratch/chain.svg"
is "$(frames "$scratch/chain.svg" | cut -d' ' -f1-3 | sort | paste -sd,)" '-- 0 30,-- 130 50,-- 30 100,all 0 180,plain 0 30,r1 130 50,r1 30 100,r2 30 100,stack 0 30,w1 30 150,w2 30 100,w3 130 50' \
	'a chain ends in its mark'
printf 'a;b 200 \n' | "$script" >"$scratch/none.svg" 2>/dev/null
is $? 2 'without a single stack it fails'
: | "$script" >"$scratch/none.svg" 2>"$scratch/said"
like "$? $(cat "$scratch/said")" '2 cairn: standard input: it is empty*' 'and so it does without any input, of which it says what it is'
: >"$scratch/empty.collapse"
"$script" "$scratch/empty.collapse" >"$scratch/none.svg" 2>"$scratch/said"
like "$(cat "$scratch/said")" "cairn: $scratch/empty.collapse: it is empty*" 'or of an empty file'

# flamegraph.pl itself, where it can be had.
original=${FLAMEGRAPH_PL:-$scratch/original.pl}
[ -s "$original" ] || git --git-dir="$PWD/../.mirror/brendangregg+FlameGraph/repo" show HEAD:flamegraph.pl >"$original" 2>/dev/null
if [ -s "$original" ] && command -v perl >/dev/null; then
	python3 tests/bench/make-folded.py 1 >"$scratch/made.folded"
	for option in --title=x --reverse --inverted --flamechart --minwidth=5 --minwidth=1% --hash --color=mem --colors=java --subtitle=y '-countname=bytes --width=800' '--height=20 --fontsize=14' --factor=2; do
		perl "$original" $option "$scratch/made.folded" >"$scratch/theirs.svg" 2>/dev/null
		"$script" $option "$scratch/made.folded" >"$scratch/ours.svg"
		holds "the same tree as flamegraph.pl $option" tree "$scratch/ours.svg" "$scratch/theirs.svg"
	done
	compared=0 different=
	for lines in "${junk[@]}" "${chains[@]}"; do
		options=--title=x
		[[ $lines == w1* ]] && options=--colors=chain
		printf "$lines" >"$scratch/lines"
		perl "$original" $options "$scratch/lines" >"$scratch/theirs.svg" 2>/dev/null
		"$script" $options "$scratch/lines" >"$scratch/ours.svg" 2>/dev/null
		tree "$scratch/ours.svg" "$scratch/theirs.svg" >/dev/null 2>&1 || different+="$lines; "
		# Changes have colours of our own.
		[[ $lines == main* ]] || tree --colors "$scratch/ours.svg" "$scratch/theirs.svg" >/dev/null 2>&1 || different+="colours of $lines; "
		compared=$((compared + 1))
	done
	is "$compared $different" '10 ' 'flamegraph.pl draws the same boxes in the same colours of ten inputs with other lines between the stacks, and of chains'
	for palette in hot mem io java js perl red green blue aqua yellow purple orange wakeup '--hash hot' '--hash io'; do
		options="--colors=${palette##* }"
		[[ $palette == --hash* ]] && options+=' --hash'
		perl "$original" $options "$scratch/made.folded" >"$scratch/theirs.svg" 2>/dev/null
		"$script" $options "$scratch/made.folded" >"$scratch/ours.svg"
		holds "functions have the colours that flamegraph.pl gives them with $options" tree --colors "$scratch/ours.svg" "$scratch/theirs.svg"
	done
else
	skip 'the same tree as flamegraph.pl' 'no flamegraph.pl here; FLAMEGRAPH_PL may name one'
fi

# Under its name.
"$script" --title 'T & <t>' "$scratch/small.folded" >"$scratch/title.svg"
holds 'a title with marks is escaped' grep -q 'T &amp; &lt;t&gt;' "$scratch/title.svg"
printf '' | "$script" >"$scratch/empty.svg" 2>"$scratch/error"
is "$?" 2 'flamegraph.pl exits with 2 when there is no input'
like "$(cat "$scratch/empty.svg")" '*ERROR: No valid input provided to flamegraph.pl.*' 'and prints a picture that says so'
holds 'which is XML' is_xml "$scratch/empty.svg"
cp "$scratch/small.folded" "$scratch/again.folded"
"$script" "$scratch/small.folded" "$scratch/again.folded" >"$scratch/two.svg"
like "$(frames "$scratch/two.svg")" 'all 0 30 *' 'several files are one input'
(cd "$scratch" && "$script" --cp small.folded >cp.svg && sed -i 's/^b->.*/b->rgb(1,2,3)/' palette.map && "$script" --cp small.folded >cp.svg)
like "$(frames "$scratch/cp.svg")" '*b 4 10 #010203*' 'palette.map keeps colours'
printf 'b\thref=https://example.org/?a=1&b=2\ttitle=hello\nc\thref=javascript:alert(1)\n' >"$scratch/attributes"
"$script" --nameattr "$scratch/attributes" "$scratch/small.folded" >"$scratch/linked.svg"
holds 'links of functions are drawn' grep -q '<a xlink:href="https://example.org/?a=1&amp;b=2" target="_top"><title>hello' "$scratch/linked.svg"
is "$(grep -c 'javascript:' "$scratch/linked.svg")" 0 'but not to scripts'

# Differences.
printf 'm;w;grow 100\nm;w;same 500\nm;w;gone 300\nm;idle 50\n' >"$scratch/before"
printf 'm;w;grow 700\nm;w;same 500\nm;w;new 400\nm;idle 20\n' >"$scratch/after"
"$cairn" flame --base "$scratch/before" "$scratch/after" -o "$scratch/change.svg"
got=$(frames "$scratch/change.svg")
like "$got" '*gone * 300 *' 'a stack that vanished is there, as wide as it was'
is "$(grep -c '^same ' <<<"$got")" 0 'what did not change is not'
holds 'grown and shrunk are in the title' grep -q 'grown by 1,000 samples, shrunk by 330 samples' "$scratch/change.svg"
is "$(awk '$1 == "grow" { print substr($4, 2, 2) } $1 == "gone" { print substr($4, 6, 2) }' <<<"$got" | paste -sd,)" ff,ff 'what grew is red and what shrank is blue'
"$cairn" flame --widths after --base "$scratch/before" "$scratch/after" -o "$scratch/size.svg"
is "$(frames "$scratch/size.svg" | awk '/^(same|gone|grow|new|idle) /{print $1, $3}' | sort | paste -sd,)" 'gone 300,grow 700,idle 20,new 400,same 500' 'widths can be what there is after'
"$cairn" collapsed --base "$scratch/before" "$scratch/after" >"$scratch/signed"
is "$(sort "$scratch/signed" | paste -sd,)" 'm;idle -30,m;w;gone -300,m;w;grow 600,m;w;new 400' 'folded text of a difference has signs'
"$cairn" flame "$scratch/signed" -o "$scratch/signed.svg"
is "$(frames "$scratch/signed.svg" | sort)" "$(sort <<<"$got")" 'and is drawn as the difference is'
printf 'a;b -5\na;c -7\n' | "$cairn" flame -o "$scratch/negative.svg"
like "$(frames "$scratch/negative.svg")" '*c 5 7 *' 'only negative values are drawn'
if [ -d "$conformance/folded" ]; then
	cd "$conformance/folded" || exit
	is "$("$cairn" collapsed --two-columns --base before.txt after.txt | sort)" "$(sort diff-default.txt)" 'two columns are those of difffolded.pl'
	is "$("$cairn" collapsed --two-columns --normalize --base before.txt after.txt | sort)" "$(sort diff-normalize.txt)" 'and so they are normalized'
	cd "$OLDPWD" || exit
else
	skip 'two columns' 'no ../shared/conformance here'
fi

# Hostile names.
python3 - "$scratch/hostile.folded" <<'END'
import sys
names = [b'<script>alert(1)</script>', b'"onload="alert(1)', b"'&amp;]]>", b'\x01\x02\x1b[31m\x7f', 'שלום\u202eevil'.encode(), b'\xff\xfe\xc0\x80bad', b'x' * 100000,
         '\ufffe\uffff\U0001F600'.encode(), b'a\tb', b'--', b'-', b'</title></g></svg>', b'<![CDATA[']
with open(sys.argv[1], 'wb') as out:
    for name in names:
        out.write(b'root;' + name + b' 10\n')
    out.write(b';'.join([b'deep'] * 4000) + b' 50\n')
END
for option in '' --inverted --reverse --color=module --color=java --hash; do
	"$cairn" flame $option "$scratch/hostile.folded" -o "$scratch/hostile.svg" 2>/dev/null
	holds "hostile names give XML ($option)" is_xml "$scratch/hostile.svg"
done
is "$(python3 -c '
import sys, xml.etree.ElementTree as t
root = t.parse(sys.argv[1]).getroot()
print(sum(e.tag.endswith("}script") for e in root.iter()), sum(k.lower().startswith("on") for e in root.iter() for k in e.attrib))' "$scratch/hostile.svg")" '1 0' 'with our one script and no handler'
holds 'a title, a note, a font and a count name are no way in either' bash -c '
	"$0" flame --title "</text><script>1</script>" --subtitle "\"><" --notes "--><script>" --font-type "x}</style><script>" --count-name "</title>" --name-type "\"onclick=\"x" "$1" -o "$2" &&
	python3 -c "import sys, xml.etree.ElementTree as t; sys.exit(sum(e.tag.endswith(\"}script\") for e in t.parse(sys.argv[1]).getroot().iter()) != 1)" "$2"' "$cairn" "$scratch/small.folded" "$scratch/options.svg"

# Outputs.
"$cairn" flame "$scratch/small.folded" -o "$scratch/no/such/folder.svg" 2>"$scratch/error"
is "$?" 1 'a file that cannot be written is a failure'
like "$(cat "$scratch/error")" '*folder.svg*' 'and the message names it'
printf 'a;b 0\n' | "$cairn" flame -o "$scratch/nothing.svg" 2>"$scratch/error"
is "$? $([ -e "$scratch/nothing.svg" ] && echo there)" '1 ' 'nothing to draw is a failure and leaves no file'
holds '/dev/null is written, not replaced' bash -c '"$0" flame "$1" -o /dev/null && [ -c /dev/null ]' "$cairn" "$scratch/small.folded"
# A descriptor of ours may lead to a file others write to as well, such as a log.
for place in /dev/stdout /dev/fd/1 /proc/self/fd/1; do
	(echo before && "$cairn" flame "$scratch/small.folded" -o $place && echo after) >"$scratch/log"
	is "$(sed -n '1p; $p' "$scratch/log" | tr '\n' ' ')$(grep -c '</svg>' "$scratch/log")" 'before after 1' "-o $place leaves what is there"
done
ln -sf "$cairn" "$scratch/flamegraph.pl"
(echo before && "$scratch/flamegraph.pl" --help) >"$scratch/log" 2>&1
like "$(cat "$scratch/log")" $'before\n*usage: *' "and so does the help of flamegraph.pl"
"$cairn" flame --color=nosuch "$scratch/small.folded" 2>"$scratch/error" >/dev/null
like "$? $(cat "$scratch/error")" "2 *--color takes hot,*not 'nosuch'*" 'a palette that is none is a clear error'
for size in width=1e300 width=0.1 height=1e300 font-size=1e300 font-width=1e-300; do
	"$cairn" flame --$size "$scratch/small.folded" 2>"$scratch/error" >"$scratch/none.svg"
	like "$? $(wc -c <"$scratch/none.svg") $(cat "$scratch/error")" "2 0 *--${size%=*} takes a number from *" "--$size cannot be drawn, and is a clear error"
done
like "$("$cairn" flame --width 0.5 "$scratch/small.folded" 2>&1)" '*--width takes a number from 1 to 1000000, not 0.5' 'the limits are numbers as people write them'
for size in width height font-size font-width factor; do
	"$cairn" flame --$size 0 "$scratch/small.folded" 2>"$scratch/error" >"$scratch/none.svg"
	is "$? $(wc -c <"$scratch/none.svg") $(cat "$scratch/error")" "2 0 cairn: --$size takes a number greater than 0, not '0'" "--$size 0 is not the default"
done
"$cairn" flame tests/fixtures/small.heap -o "$scratch/heap.svg" 2>/dev/null
holds 'a heap dump says its objects' grep -q ' objects\? of ' "$scratch/heap.svg"
done_testing
