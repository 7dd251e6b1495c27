#!/usr/bin/env bash
# A program that is not the one of the dump, which has no build-ids: it is not taken, and that is said, by every way to name one.
. tests/e2e/lib.sh
need gcc python3
cd "$scratch" || exit 1
demo_dumps
cat >other.c <<'C'
#include <stdio.h>
int serve_request(int x) { return x + 1; }
int main(int count, char **arguments) { printf("%s\n", arguments[count - 1]); return serve_request(count); }
C
gcc -O1 -g -o other other.c
{
	cat "$root/examples/leaky/leaky.c"
	for i in {1..300}; do echo "int added_$i(int x) { return x * $i + (x >> 3) * ${i}1; }"; done
} >longer.c
gcc -O2 -g -pthread longer.c -o longer -ljemalloc
"$cairn" collapsed now.heap >right.txt 2>notes.txt
is "$(grep -c 'another build' notes.txt)" 0 "the right one is taken without a word"
like "$(cat right.txt)" "*load_page*" "and gives names"

mv leaky elsewhere
refuses() { # refuses PROGRAM DUMP WHY
	"$cairn" collapsed --binary "$1" "$2" >wrong.txt 2>notes.txt
	like "$(cat notes.txt)" "*$1 is another build: $3*" "--binary $1 is refused, with the reason"
	! grep -qE 'load_page|serve_request|added_|plain_' wrong.txt
	ok $? "and gives no names"
	"$cairn" jeprof --text "$1" "$2" >wrong.txt 2>notes.txt
	like "$(cat notes.txt)" "*$1 is another build*" "so does jeprof $1"
	! grep -qE 'load_page|serve_request|added_|plain_' wrong.txt
	ok $? "which gives no names either"
}
refuses other now.heap '* addresses of the profile lie beyond the end of its code'
"$cairn" collapsed --binary longer now.heap >wrong.txt 2>notes.txt
like "$(cat notes.txt)" \
	"*longer may be another build, with wrong names: its code is the bytes 0x* to 0x* of the file, the process had 0x* to 0x* mapped*" \
	"one with more code than was mapped is doubted"
MALLOC_CONF=prof:true,lg_prof_sample:12,prof_final:true,prof_prefix:je ./longer 2 >/dev/null # of two seconds at least one is whole
mv je.*.f.heap longer.heap
mv longer away
refuses elsewhere longer.heap 'its code is the bytes 0x* to 0x* of the file, the process had 0x* to 0x* mapped'
mv away longer
"$cairn" collapsed --binary elsewhere now.heap >moved.txt 2>/dev/null
holds "the right one from elsewhere is taken" cmp right.txt moved.txt
strip -o stripped elsewhere && strip --only-keep-debug -o elsewhere.debug elsewhere
"$cairn" collapsed --binary elsewhere.debug now.heap >moved.txt 2>notes.txt
is "$(grep -c 'another build' notes.txt)" 0 "a debug file, which has no code, is not doubted"
cp -p elsewhere leaky
"$cairn" collapsed --binary other now.heap >moved.txt 2>notes.txt
holds "a wrong one does not keep the right one, at its own place, from being found" cmp right.txt moved.txt
like "$(cat notes.txt)" "*other is another build*" "and is still told of"
cp -p longer leaky && touch -r now.heap leaky
like "$("$cairn" top now.heap 2>&1)" "*leaky may be another build*" "the program was built again since, with more code"
cp -p elsewhere longer && touch -r longer.heap longer
like "$("$cairn" top longer.heap 2>&1)" "*longer is another build*" "or with less"
like "$("$cairn" doctor longer.heap)" "*wrong*longer is another build*" "doctor says so"
cp -p elsewhere leaky && touch -r now.heap leaky
like "$("$cairn" doctor now.heap)" "*it has no build-ids for * of them, whose code is as long as what was mapped*" \
	"doctor says what it compared"
python3 - <<'P'
import re
text = open("now.heap").read()
open("bare.heap", "w").write(re.sub(r"(?m)^([0-9a-f]+-[0-9a-f]+ r-xp) [0-9a-f]+", r"\1 00000000", text))
P
said=$("$cairn" doctor bare.heap 2>&1)
like "$said" "*here, but * of them may be of another build*" "and where there was nothing to compare, that"
! grep -q 'in the same build' <<<"$said"
ok $? "not that they are the same"
done_testing
