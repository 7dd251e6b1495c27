#!/usr/bin/env bash
# Where debug information may lie: every place is found, and a file of another build is refused with a sentence.
. tests/e2e/lib.sh
need cc objcopy strip readelf nm xz

jemalloc=$(ldconfig -p | sed -n 's/.*libjemalloc\.so\.2 .*=> //p' | head -n 1)
[ -n "$jemalloc" ] || broken 'no libjemalloc.so.2 here'
mkdir -p "$scratch/run" "$scratch/keep"
program=$scratch/run/program

# profile NAME FLAGS...: builds the program, and keeps it and a dump of it as NAME
profile() {
	local name=$1
	shift
	cc -O1 -rdynamic "$@" tests/e2e/finding.c -o "$program" || return 1
	(cd "$scratch/run" && LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:$scratch/run/je "$program")
	mv "$scratch"/run/je.*.f.heap "$scratch/keep/$name.heap" && cp "$program" "$scratch/keep/$name"
}
# lines OPTION...: what is under main in the dump, by line, without a cache
lines() { "$cairn" collapsed --lines --no-cache "$@" "$heap" 2>"$scratch/notes" | grep -o ';main [^ ]*[ ;].*' | tr '\n' ' '; }
# fresh: the folder has nothing but the program as it is in the dump
fresh() { rm -rf "$scratch/run" && mkdir "$scratch/run" && cp -p "$scratch/keep/$which" "$program"; }
both='*hold_in_static */finding.c:10*hold_in_exported */finding.c:16*'

which=plain heap=$scratch/keep/plain.heap
profile plain -g || broken 'the program cannot be built'
[ -s "$heap" ] || broken 'this jemalloc has no profiler'
like "$(lines)" "$both" 'DWARF in the file itself'

id=$(readelf -n "$program" | sed -n 's/.*Build ID: //p') first=${id:0:2} rest=${id:2}
objcopy --only-keep-debug "$program" "$scratch/keep/program.debug"
strip -g "$program"
like "$(lines)" '*hold_in_static*hold_in_exported*' 'a symbol table alone names functions'
[[ $(lines) != *finding.c* ]]
ok $? 'but no lines'

stripped() { fresh && strip "$program"; }
stripped
[[ $(lines) == *program+0x*hold_in_exported* && $(lines) != *hold_in_static* ]]
ok $? 'stripped: what is exported has a name, the rest none'
like "$(cat "$scratch/notes")" "*program: no debug file for build-id $id (stripped, dynamic symbols only)*% of bytes*" 'and the note says why, and how much that is'

objcopy --add-gnu-debuglink="$scratch/keep/program.debug" "$program"
cp "$program" "$scratch/keep/linked"
[[ $(lines) != *finding.c* ]]
ok $? 'a debug link to a file that is not there'
cp "$scratch/keep/program.debug" "$scratch/run/program.debug"
like "$(lines)" "$both" 'the debug file beside it, by debug link'
mkdir "$scratch/run/.debug" && mv "$scratch/run/program.debug" "$scratch/run/.debug/"
like "$(lines)" "$both" 'the debug file in .debug'
rm -r "$scratch/run/.debug"
mkdir -p "$scratch/symbols" && cp "$scratch/keep/program.debug" "$scratch/symbols/"
like "$(lines --symbols "$scratch/symbols")" "$both" '--symbols: by debug link'
stripped
rm -r "$scratch/symbols" && mkdir -p "$scratch/symbols/.build-id/$first" && cp "$scratch/keep/program.debug" "$scratch/symbols/.build-id/$first/$rest.debug"
like "$(lines --symbols "$scratch/symbols")" "$both" '--symbols: .build-id/xx/yyyy.debug'
mv "$scratch/symbols/.build-id/$first" "$scratch/symbols/"
like "$(lines --symbols "$scratch/symbols")" "$both" '--symbols: xx/yyyy.debug'
rm -r "$scratch/symbols" && mkdir "$scratch/symbols" && cp "$scratch/keep/plain" "$scratch/symbols/program"
like "$(lines --symbols "$scratch/symbols")" "$both" '--symbols: the unstripped binary by its name'
mkdir -p "$scratch/root$scratch/run" "$scratch/root/usr/lib/debug/.build-id/$first" && cp "$program" "$scratch/root$program"
cp "$scratch/keep/program.debug" "$scratch/root/usr/lib/debug/.build-id/$first/$rest.debug"
rm "$program"
like "$(lines --sysroot "$scratch/root")" "$both" '--sysroot: binary and debug file of another machine'
[[ $(lines) != *hold_in_* ]]
ok $? 'a binary that is gone has no names'
like "$(cat "$scratch/notes")" '*program: the file is gone*' 'and the note says so'
cp "$scratch/keep/plain" "$scratch/elsewhere"
like "$(lines --binary "$scratch/elsewhere")" "$both" '--binary: a copy under another name stands for the program'
like "$(lines --binary "$scratch/keep/program.debug")" "$both" '--binary: so does its debug file alone'

fresh
sed 's|\(/run/program\)$|\1 (deleted)|' "$heap" >"$scratch/deleted.heap"
heap=$scratch/deleted.heap
[[ $(lines) != *hold_in_* ]]
ok $? 'a program deleted while it ran: the file of its name may be another, so it is not taken'
like "$(cat "$scratch/notes")" '*program: it was deleted or replaced while it ran, and the profile has no build-id to recognize it by*' 'and the note says so'
like "$(lines --binary "$scratch/elsewhere")" "$both" 'unless a person points at it'
heap=$scratch/keep/plain.heap
touch -d 'next year' "$program"
like "$(lines)" "$both" 'a file newer than the profile is taken'
like "$(cat "$scratch/notes")" '*program is newer than the profile; if it was rebuilt since, its names are wrong*' 'with a warning'

# A profile that has build-ids proves which file is meant.
fresh
"$cairn" pprof --no-symbols -o "$scratch/program.pb.gz" "$heap" 2>/dev/null
heap=$scratch/program.pb.gz
like "$(lines)" "$both" 'a profile with build-ids'
cc -O1 -g -rdynamic -DANOTHER -Wl,-z,separate-code -Wl,--hash-style=sysv tests/e2e/finding.c -o "$program"
[[ $(lines) != *hold_in_* ]]
ok $? 'a program replaced by another build is refused'
like "$(cat "$scratch/notes")" "*program: $program is another build: its build-id is ?*, the profile's is $id*" 'and the note says so'
like "$(lines --binary "$scratch/elsewhere")" "$both" '--binary: the right build by its build-id'
[[ $(lines --binary "$program") != *hold_in_* ]]
ok $? '--binary: another build is refused'
rm -r "$scratch/symbols" && mkdir -p "$scratch/symbols/.build-id/$first" && cp "$scratch/keep/program.debug" "$scratch/symbols/.build-id/$first/$rest.debug"
like "$(lines --symbols "$scratch/symbols")" "$both" '--symbols: the debug file alone, by build-id, when the binary was replaced'
heap=$scratch/keep/plain.heap

# A program that is always loaded where it was linked needs no memory map.
which=fixed heap=$scratch/keep/fixed.heap
profile fixed -g -no-pie || broken 'a program at fixed addresses cannot be built'
like "$(lines)" "$both" 'a program at fixed addresses'
sed -i '/^MAPPED_LIBRARIES/,$d' "$heap"
[[ $(lines) != *hold_in_* ]]
ok $? 'a dump without a memory map does not say which program it is of'
like "$(lines --binary "$program")" "$both" '--binary does'
like "$(lines --binary "$(realpath --relative-to=. "$program")")" "$both" 'by a relative path, too'
printf 'MAPPED_LIBRARIES:\n7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]\n' >>"$heap"
like "$(lines --binary "$program")" "$both" 'and where the map lacks the program'
"$cairn" pprof --no-symbols -o "$scratch/fixed.pb.gz" "$heap" 2>/dev/null
heap=$scratch/fixed.pb.gz
like "$(lines --binary "$program")" "$both" 'in pprof, too'
[[ $(lines --binary "$scratch/keep/plain") != *hold_in_* ]]
ok $? 'but not of a program that is loaded anywhere'

# Without a build-id the checksum of the link decides.
which=nameless heap=$scratch/keep/nameless.heap
profile nameless -g -Wl,--build-id=none
objcopy --only-keep-debug "$program" "$scratch/run/program.debug"
strip "$program" && (cd "$scratch/run" && objcopy --add-gnu-debuglink=program.debug program)
like "$(lines)" "$both" 'no build-id: the debug link with its checksum'
printf x >>"$scratch/run/program.debug"
[[ $(lines) != *finding.c* ]]
ok $? 'a debug file with another checksum is refused'
like "$(cat "$scratch/notes")" '*program: no debug file, and no build-id to find one by*' 'and the note says what is missing'

# One note, whatever is missing; nothing where only a little is, or what lies beneath main.
python3 - >"$scratch/keep/many.heap" <<'PYTHON'
print("heap_v2/1\n  t*: 100: 1000 [0: 0]")
for k, (objects, size) in enumerate([(50, 500), (30, 300), (17, 170), (3, 30)]):
    print(f"@ 0x{k + 1}00010 0xa00010 0xb00010\n  t*: {objects}: {size} [0: 0]")
print("\nMAPPED_LIBRARIES:")
for k, name in enumerate(["one", "two", "three", "four"]):
    print(f"{k + 1}00000-{k + 1}10000 r-xp 00000000 00:00 0 /nowhere/lib{name}.so")
print("a00000-b10000 r-xp 00000000 00:00 0 /nowhere/libstart.so")
PYTHON
"$cairn" top "$scratch/keep/many.heap" >/dev/null 2>"$scratch/notes"
is "$(grep -c 'of bytes' "$scratch/notes")" 1 'several files without names: one note'
like "$(cat "$scratch/notes")" '*libone.so: *50.0 % of bytes*; names are missing from 2 more files*cairn doctor DUMP*' 'about the heaviest, with the number of others'
like "$("$cairn" doctor "$scratch/keep/many.heap")" '*debug files*libone.so: *libtwo.so: *libthree.so: *libfour.so: *' 'doctor lists all'

# A process that still runs has its files, whatever became of their names.
which=plain
fresh
FINDING_WAITS=1 LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,lg_prof_sample:0,lg_prof_interval:19,prof_prefix:$scratch/run/je "$program" &
children+=($!)
dumped() { heap=$(ls -v "$scratch"/run/je.*.heap | tail -n 1) && grep -q '/run/program$' "$heap"; }
if wait_for 10 dumped && readlink "/proc/${children[0]}/map_files/"* >/dev/null 2>&1; then
	rm "$program"
	like "$(lines)" '*hold_in_static */finding.c:10*' 'a program that was deleted, but still runs'
else
	skip 'a program that was deleted, but still runs' 'its files cannot be reached through /proc here'
fi
kill "${children[0]}" && wait "${children[0]}" 2>/dev/null
children=()
[[ $(lines) != *hold_in_static* ]]
ok $? 'once it has ended, its file is gone'

# A mini symbol table, as Fedora puts into its binaries.
which=plain heap=$scratch/keep/plain.heap
fresh
nm -D "$program" --format=posix --defined-only | awk '{print $1}' | sort >"$scratch/dynamic"
nm "$program" --format=posix --defined-only | awk '$2 == "t" || $2 == "T" {print $1}' | sort | comm -13 "$scratch/dynamic" - >"$scratch/wanted"
objcopy -S --remove-section .comment --keep-symbols="$scratch/wanted" "$scratch/keep/program.debug" "$scratch/mini" 2>/dev/null
xz -f "$scratch/mini" && strip "$program" && objcopy --add-section .gnu_debugdata="$scratch/mini.xz" "$program"
like "$(lines)" '*hold_in_static*' 'a mini symbol table in .gnu_debugdata'

for form in '' -5; do
	what="shared parts in a file of dwz${form:+ $form}"
	command -v dwz >/dev/null || { skip "$what" 'no dwz here'; continue; }
	fresh
	# without the symbol, only the debug information has the name, and that in the shared file
	objcopy --strip-symbol=hold_in_static "$program"
	cc -O1 -g -DTWIN tests/e2e/finding.c -o "$scratch/run/twin"
	if (cd "$scratch/run" && dwz $form -m shared.debug -r program twin 2>"$scratch/dwz") && [ -s "$scratch/run/shared.debug" ]; then
		like "$(lines)" "$both" "$what"
		rm "$scratch/run/shared.debug"
		lines >/dev/null
		like "$(cat "$scratch/notes")" '*shared.debug, which holds shared debug information, is missing*' 'a note when that file is missing'
	else
		skip "$what" "dwz would not: $(head -n 1 "$scratch/dwz")"
	fi
done
if command -v dwp >/dev/null; then
	which=split heap=$scratch/keep/split.heap
	root=$PWD
	(cd "$scratch/run" && cp "$root/tests/e2e/finding.c" . && cc -O1 -rdynamic -gdwarf-4 -gsplit-dwarf -c finding.c && cc -rdynamic finding.o -o program &&
		LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:$scratch/run/je ./program)
	mv "$scratch"/run/je.*.f.heap "$heap"
	# whole OPTION...: names and lines are there, and nothing is said of a file that is missing: names are in the symbol table too
	whole() { lines "$@" && ! grep -q 'finding.dwo' "$scratch/notes" && echo 'whole'; }
	like "$(whole)" "$both*whole" 'split DWARF in .dwo files'
	# kept: what a run with the cache has to say of the split file
	kept() { XDG_CACHE_HOME=$scratch/kept "$cairn" collapsed "$heap" 2>&1 >/dev/null | grep -c 'finding.dwo'; }
	mkdir "$scratch/away" && cp -p "$scratch/run/finding.dwo" "$scratch/away/" && rm "$scratch/run/finding.dwo"
	is "$(kept)" 1 'a .dwo that is missing is told of'
	cp -p "$scratch/away/finding.dwo" "$scratch/run/"
	is "$(kept)" 0 'and no more once it is there, although answers without it were kept'
	(cd "$scratch/away" && cp "$root/tests/e2e/finding.c" . && echo 'int another_build;' >>finding.c && cc -O1 -gdwarf-4 -gsplit-dwarf -c finding.c -o other.o) &&
		cp "$scratch/away/other.dwo" "$scratch/run/finding.dwo"
	lines >/dev/null
	like "$(cat "$scratch/notes")" '*finding.dwo: made for another build*' 'a .dwo of another build is refused'
	mkdir "$scratch/moved" && cp -p "$program" "$scratch/away/finding.dwo" "$scratch/moved/"
	like "$(whole --binary "$scratch/moved/program")" "$both*whole" 'and passed over for the right one beside the binary'
	like "$(whole --symbols "$scratch/away")" "$both*whole" 'or for the right one in the folder of --symbols'
	rm "$scratch/run/finding.dwo"
	like "$(whole --symbols "$scratch/away")" "$both*whole" 'a .dwo in the folder of --symbols'
	mkdir "$scratch/wrong" && cp "$scratch/away/other.dwo" "$scratch/wrong/finding.dwo"
	lines --symbols "$scratch/wrong" >/dev/null
	like "$(cat "$scratch/notes")" '*finding.dwo: made for another build*' 'one of another build is refused there'
	cp -p "$scratch/away/finding.dwo" "$scratch/run/"
	if (cd "$scratch/run" && dwp -e program -o program.dwp 2>"$scratch/dwp"); then
		rm "$scratch"/run/*.dwo
		like "$(whole)" "$both*whole" 'split DWARF in FILE.dwp'
		mkdir "$scratch/packages" && mv "$scratch/run/program.dwp" "$scratch/packages/"
		like "$(whole --symbols "$scratch/packages")" "$both*whole" 'or in the folder of --symbols'
	else
		skip 'split DWARF in FILE.dwp' "dwp would not: $(head -n 1 "$scratch/dwp")"
	fi
else
	skip 'split DWARF in FILE.dwp' 'no dwp here'
fi
done_testing
