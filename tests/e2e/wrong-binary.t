#!/usr/bin/env bash
# A program or library that is not the one of the dump: it is not taken, and that is said, by every way to name one. Most dumps here have
# no build-ids.
. tests/e2e/lib.sh
need gcc python3 readelf
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

# The loader calls a library by the name that it was found under, the kernel by that of its file; so the trailer has another path for it.
echo 'void *keep(unsigned long); int main(void) { for (int i = 0; i < 1000; i++) keep(10000); }' >keeper.c
build_library() { # build_library NAME: with a function of this name
	printf '#include <stdlib.h>\nstatic __attribute__((noinline)) void *%s(size_t n) { return (char *)malloc(n) + 1; }\nvoid *keep(size_t n) { return (char *)%s(n) + 1; }\n' \
		"$1" "$1" >library.c
	gcc -O1 -g -shared -fPIC -Wl,--build-id -o libkeep.so.1 library.c
}
build_library first_build && gcc -o keeper keeper.c -Wl,--no-as-needed -ljemalloc ./libkeep.so.1
MALLOC_CONF=prof:true,lg_prof_sample:12,prof_final:true,prof_prefix:je ./keeper && mv je.*.f.heap plain.heap
range=$(sed -n 's|^\([^ ]*\) r-xp .*/libkeep\.so\.1$|\1|p' plain.heap) id=$(readelf -n libkeep.so.1 | sed -n 's/.*Build ID: //p')
{
	cat plain.heap
	printf '# cairn trailer 1\n# cairn module %s 1000 %s %s/libkeep.so\n# cairn end\n' "$range" "$id" "$PWD"
} >kept.heap
like "$("$cairn" top kept.heap 2>&1)" "*first_build*" "a library whose trailer has another path for it gives names"
build_library other_build
like "$("$cairn" top --no-cache kept.heap 2>&1)" "*libkeep.so.1 is another build: its build-id is *, the profile's is $id*libkeep.so.1+0x*" \
	"but not if it was built again, and that is told"
like "$("$cairn" top kept.heap 2>&1)" "*first_build*" "unless its names were found before"
like "$("$cairn" top plain.heap 2>&1)" "*other_build*" "which would have been taken by its path"
done_testing
