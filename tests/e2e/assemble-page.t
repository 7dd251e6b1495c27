#!/usr/bin/env bash
# scripts/assemble-page: modules become one script, each a function that sees its own names and what it imports; comments go, and nothing that only looks like one.
. tests/e2e/lib.sh
need python3
mkdir "$scratch/page"
cd "$scratch/page" || exit 1
assemble=$OLDPWD/scripts/assemble-page
printf '<html>\n<!-- file -->\n<p>one file</p>\n<!-- /file -->\n<!-- live -->\n<p>live</p>\n<!-- /live -->\n<style>\n@STYLE@</style>\n<script>@SCRIPT@</script>\n' >page.html
cat >style.css <<'E'
/* a comment */
.a::before { content: "/* kept */"; } /* gone */
E
cat >words.mjs <<'E'
// @ts-check
/* words.mjs - what is hard to read.
 * SPDX */
export const open = "/* kept */", quote = 'it\'s // kept', address = "http://x"; // gone
/** gone @param {string} text */
export function find(text) {
	/* gone */
	const half = text.length / 2, other = half / 3; // gone /
	return /[/*]\/\*"'`/.test(text) ? `// kept ${/* gone too */ half + `/* kept ${other} */`} \` /* kept */` : text.replace(/"/g, "'");
}
const own = 1;
export class Word { own = own; }
E
cat >main.mjs <<'E'
import {find, open, Word} from "./words.mjs";
import {more,
	most} from "./more.mjs";
const own = 2, export_ = {export: 1, import: 2};
export async function start() { return [find(open), new Word(), own, more, most]; }
start();
E
printf 'export const more = 1, second = 2;\nexport const most = 3;\n' >more.mjs
assemble() { "$assemble" "$1" out.txt out.d page.html style.css "${2:-main.mjs}" 2>error.txt; }
holds 'modules become a script' assemble script
like "$(cat out.txt)" '"use strict";*const $words = (() => {*return {open, find, Word};*})();*const $more = *const $main = (() => {*const {find, open, Word} = $words;*const {more, most} = $more;*' 'in the order in which they need each other'
is "$(grep -o 'kept' out.txt | wc -l)-$(grep -c 'gone$\|@param\|SPDX' out.txt)" 5-0 'without comments, but with what only looks like one'
like "$(cat out.txt)" '*/\[/\*\]\\/\\\*"*' 'and with regular expressions'
is "$(cat out.d)" 'out.txt: page.html style.css words.mjs more.mjs main.mjs' 'and what it was made of is known'
if command -v node >/dev/null; then
	cp out.txt out.cjs
	printf '%s' "; console.log(Object.keys(globalThis).filter((name) => name.startsWith('\$') || name === 'own').length, typeof own)" >>out.cjs
	is "$(node out.cjs)" '0 undefined' 'no name is everybody'\''s'
fi
holds 'the page in one file' assemble file
like "$(cat out.txt)" '*<p>one file</p>*.a::before { content: "/\* kept \*/"; }*"use strict";*' 'has its own part, style and script'
unlike() { case $1 in $2) false ;; esac; ok $? "$3"; }
unlike "$(cat out.txt)" '*<p>live*' 'and nothing of the other'
refused() { # refused WORDS MODULE-TEXT: a module that is not taken, and why
	printf '%s\n' "$2" >wrong.mjs
	assemble script wrong.mjs
	is "$?-$(cat error.txt)" "1-assemble-page: $1" "refused: $2"
}
refused 'wrong.mjs: words.mjs does not export nothing' 'import {nothing} from "./words.mjs";'
refused 'wrong.mjs: words.mjs does not export own' 'import {own} from "./words.mjs";'
refused 'wrong.mjs: exports other than a class, const or function: export let shared = 1 ;' 'export let shared = 1;'
refused "wrong.mjs: imports otherwise than {name} from \"./module.mjs\": import * as all from \"./words.mjs\"" 'import * as all from "./words.mjs";'
refused 'wrong.mjs: a template without an end' 'const x = `never;'
refused 'wrong.mjs: brackets that do not match' 'function x() { {'
refused 'the script has what would end it early' 'const x = "</script>";'
printf 'import {b} from "./circle.mjs";\nexport const a = 1;\n' >wrong2.mjs
printf 'import {a} from "./wrong2.mjs";\nexport const b = 1;\n' >circle.mjs
assemble script wrong2.mjs
is "$(cat error.txt)" 'assemble-page: modules import one another: wrong2.mjs, circle.mjs, wrong2.mjs' 'refused: a circle'
done_testing
