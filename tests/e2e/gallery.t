#!/usr/bin/env bash
# A folder of dumps as pictures: names, changes, the page, and what cannot be read.
. tests/e2e/lib.sh
need python3
mkdir "$scratch/dumps"
for i in 1 2 10; do sed "s/^  t\*: /&$i/" tests/fixtures/small.heap >"$scratch/dumps/service-$i.gprof"; done
echo 'not a dump' >"$scratch/dumps/notes.txt"
"$cairn" gallery "$scratch/dumps" >"$scratch/out" 2>/dev/null
is "$?" 0 'a folder of dumps'
is "$(ls "$scratch/dumps/flamegraphs" | sort -V | paste -sd' ')" 'index.html service-1.collapse service-1.svg service-1_vs_service-2_diff.collapse service-1_vs_service-2_diff.svg service-2.collapse service-2.svg service-2_vs_service-10_diff.collapse service-2_vs_service-10_diff.svg service-10.collapse service-10.svg' 'has the files of gen_flamegraph.sh and a page'
is "$(cat "$scratch/out")" "$scratch/dumps/flamegraphs/index.html" 'and the page is named'
bad=
for picture in "$scratch"/dumps/flamegraphs/*.svg; do python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' "$picture" || bad+="$picture "; done
is "$bad" '' 'every picture is XML'
is "$("$cairn" collapsed --fold-wrappers "$scratch/dumps/service-2.gprof" 2>/dev/null | sort)" "$(sort "$scratch/dumps/flamegraphs/service-2.collapse")" 'the folded text is that of the picture: cairn collapsed --fold-wrappers'
is "$("$cairn" collapsed --fold-wrappers --base "$scratch/dumps/service-1.gprof" "$scratch/dumps/service-2.gprof" 2>/dev/null | sort)" "$(sort "$scratch/dumps/flamegraphs/service-1_vs_service-2_diff.collapse")" 'and so is that of a change'
is "$(grep -o '<h2>[^<]*' "$scratch/dumps/flamegraphs/index.html" | paste -sd' ')" '<h2>service-1 <h2>service-2 <h2>service-10' 'the page is in the order of time'

# The script of GreptimeDB, by its name: arguments, lines and exit codes.
rm -r "$scratch/dumps/flamegraphs" && ln -s "$cairn" "$scratch/gen_flamegraph.sh"
cp tests/fixtures/small.heap "$scratch/dumps/of-another-tool.heap"
cd "$scratch" || exit 1
is "$(./gen_flamegraph.sh /bin/true dumps 2>/dev/null)" "Generating flamegraphs in dumps/flamegraphs
Generating collapse file for dumps/service-1.gprof -> dumps/flamegraphs/service-1.collapse
Generating flamegraph for dumps/service-1.gprof -> dumps/flamegraphs/service-1.svg
Generating collapse file for dumps/service-2.gprof -> dumps/flamegraphs/service-2.collapse
Generating flamegraph for dumps/service-2.gprof -> dumps/flamegraphs/service-2.svg
Generating diff collapse file for dumps/service-1.gprof vs dumps/service-2.gprof -> dumps/flamegraphs/service-1_vs_service-2_diff.collapse
Generating diff flamegraph for dumps/service-1.gprof vs dumps/service-2.gprof -> dumps/flamegraphs/service-1_vs_service-2_diff.svg
Generating collapse file for dumps/service-10.gprof -> dumps/flamegraphs/service-10.collapse
Generating flamegraph for dumps/service-10.gprof -> dumps/flamegraphs/service-10.svg
Generating diff collapse file for dumps/service-2.gprof vs dumps/service-10.gprof -> dumps/flamegraphs/service-2_vs_service-10_diff.collapse
Generating diff flamegraph for dumps/service-2.gprof vs dumps/service-10.gprof -> dumps/flamegraphs/service-2_vs_service-10_diff.svg
Flamegraph generation complete." 'gen_flamegraph.sh BINARY DIR says what it makes, of the files called .gprof'
is "$(ls dumps/flamegraphs | wc -l)" 11 'and that is there'
script() { ./gen_flamegraph.sh "$@" 2>&1; echo "$?"; }
mkdir none
is "$(script)" $'Usage: ./gen_flamegraph.sh <binary_path> <gprof_directory>\n1' 'its usage'
is "$(script ./nothing dumps)" $'Error: Binary file not found at ./nothing\n1' 'a program that is not there'
is "$(script /bin/true nowhere)" $'Error: gprof directory not found at nowhere\n1' 'a folder that is not there'
is "$(script /bin/true none)" $'Generating flamegraphs in none/flamegraphs\nNo .gprof files found in none\n0' 'a folder without such files'
mkdir mixed && : >mixed/greptime-1.gprof && echo '<html>404</html>' >mixed/greptime-2.gprof && cp dumps/service-1.gprof mixed/greptime-3.gprof
like "$(script /bin/true mixed)" $'*cairn: mixed/greptime-1.gprof: *\n*cairn: mixed/greptime-2.gprof: *\n*mixed/flamegraphs/greptime-3.svg\n*complete.\n1' 'files that are no dumps are named, and the rest is drawn'
is "$(ls mixed/flamegraphs | paste -sd' ')" 'greptime-3.collapse greptime-3.svg index.html' 'alone'
cd "$root" || exit 1

mkdir "$scratch/odd" && cp tests/fixtures/small.heap "$scratch/odd/a<b>\"&.heap" && printf 'heap_v2/524288\nbroken' >"$scratch/odd/cut.heap"
"$cairn" gallery "$scratch/odd" >/dev/null 2>"$scratch/error"
holds 'odd names are escaped on the page' grep -q '<h2>a&lt;b&gt;&quot;&amp;</h2>' "$scratch/odd/flamegraphs/index.html"
holds 'and in links' grep -q 'href="a%3Cb%3E%22%26.svg"' "$scratch/odd/flamegraphs/index.html"
mkdir "$scratch/empty"
"$cairn" gallery "$scratch/empty" 2>"$scratch/error"
like "$? $(cat "$scratch/error")" '1 *no heap dump in this folder*' 'an empty folder is a clear error'
"$cairn" gallery 2>/dev/null
is "$?" 2 'no folder is a wrong use'
"$cairn" gallery --base tests/fixtures/small.heap "$scratch/odd" 2>"$scratch/error" >/dev/null
like "$? $(cat "$scratch/error")" '2 *compares each dump with the previous one*' 'a base is refused: each dump is compared with the one before'
"$cairn" gallery --tree "$scratch/odd" 2>"$scratch/error" >/dev/null
like "$? $(cat "$scratch/error")" "2 *compares each dump with the previous one*--tree work with 'cairn flame'" 'and so is a tree of processes'
is "$("$cairn" gallery --help | grep -cE '^ *--(base|normalize|sum|tree)')" 0 '--help lists none of these'
mkdir "$scratch/two" && cp tests/fixtures/small.heap "$scratch/two/api.1.0.i0.heap" && cp tests/fixtures/small.heap "$scratch/two/web.2.0.i0.heap"
"$cairn" gallery --service web "$scratch/two" >/dev/null 2>&1
is "$? $(ls "$scratch/two/flamegraphs" | paste -sd' ')" '0 index.html web.2.0.i0.collapse web.2.0.i0.svg' 'of several services, --service draws one'
"$cairn" gallery --service none "$scratch/two" >/dev/null 2>"$scratch/error"
like "$? $(cat "$scratch/error")" '1 *no dump is of service none; there are dumps of *' 'one that is not there is said'
done_testing
