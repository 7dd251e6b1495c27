#!/usr/bin/env bash
# Every option of jeprof: the same run of stock jeprof and of ours on dumps of the demo service, compared field by field.
. tests/e2e/lib.sh
need jeprof python3 addr2line nm objdump
cd "$scratch" || exit 1
demo_dumps
quick_nm
ln -s "$cairn" jeprof

# same KIND ARGUMENTS...: both exit alike, say the same files, and print the same fields. Stock jeprof is slow, so its runs go side
# by side; compare_all then looks at each.
cases=0
same() {
	cases=$((cases + 1))
	mkdir case.$cases
	printf '%s\0' "$@" >case.$cases/arguments
	shift
	[ $cases -le 4 ] || wait -n # four at a time
	{
		"$(command -v jeprof)" "$@" >case.$cases/theirs 2>case.$cases/theirs.err
		echo $? >case.$cases/code
	} &
}
compare_all() {
	wait
	local at kind words
	for at in $(seq $cases); do
		mapfile -d '' -t words <case.$at/arguments
		kind=${words[0]} words=("${words[@]:1}")
		./jeprof "${words[@]}" >case.$at/ours 2>ours.err
		is $? "$(cat case.$at/code)" "${words[*]}: exit code"
		is "$(grep '^Using local file' ours.err)" "$(grep '^Using local file' case.$at/theirs.err | awk '!seen[$0]++')" "${words[*]}: files announced"
		printf '%s\n' "$kind case.$at/theirs case.$at/ours" >>compare
	done
	python3 "$root/tests/e2e/compare-jeprof-text.py" - <compare >compared
	at=0
	while read -r words; do
		at=$((at + 1))
		is "$words" same "$(tr '\0' ' ' <case.$at/arguments): fields"
	done <compared
	is $at $cases 'all were compared'
}

# How rows are made and sorted.
same text --text leaky now.heap
more same text --cum --show_bytes leaky now.heap
same text --lines leaky now.heap
# Of pthread_create stock shows only what is inlined there, so that the bytes of its file are fewer, by more or less than rounding hides.
same text --files --ignore=allocate_stack leaky now.heap
same text --addresses leaky now.heap
# What is counted.
more same text --inuse_space --functions --nocum leaky now.heap
more same text --inuse_objects leaky now.heap
same text --alloc_space --show_bytes leaky now.heap
more same text --alloc_objects leaky now.heap
# Several profiles, and a base, in every spelling; options anywhere.
same text leaky now.heap --base before.heap
more same text --base=before.heap --show_bytes leaky now.heap
more same text -base now.heap --show_by leaky before.heap
same text --text leaky now.heap before.heap --show_bytes
# What is left out.
same text --focus=look_up leaky now.heap
more same text --foc=leaky.c:4 leaky now.heap
more same text --ignore=look_up --show_bytes leaky now.heap
same text --retain='^(worker|load_page)$' leaky now.heap
more same text --exclude=worker leaky now.heap
same text --focus=serve --ignore=look --exclude=clone leaky now.heap
# Threads.
more same text --thread=1 leaky now.heap
same text '--thread=*' --show_bytes leaky now.heap
# Other kinds of output.
same folded --collapsed leaky now.heap
more same folded leaky now.heap --collapse --focus=remember
same listing --list=look_up_page leaky now.heap
more same listing --list='remember|serve' --show_bytes leaky now.heap
same listing --disasm=remember_session leaky now.heap
same calls --callgrind leaky now.heap
# Options that change nothing here are taken.
same text --heapcheck --scale=2 --maxdegree=4 --nodecount=3 --nodefraction=.1 --edgefraction=.1 --text leaky now.heap
same text --lib_prefix=/nowhere,/usr --add_lib=leaky --tools=/usr/bin/ --debug-syms-by-id --seconds=5 --total_delay leaky now.heap
JEPROF_TOOLS=/usr/bin/ same text --text leaky now.heap
# Waiting for locks, at the places of the heap dump.
locks() { # locks HEADER: a contention profile with these first lines
	printf '%s\n' "$@"
	awk '/^@/ { n++; printf "%.0f %d %s\n", 7654321 * n % 99999937 * 1000, n % 7 + 1, $0 } /^MAPPED/ { maps = 1; next } maps' now.heap
}
locks '--- contention:' 'cycles/second = 3000000000' 'sampling period = 100' 'ms since reset = 60000' >locks
locks '--- Stacks:' 'sampling period = 10' 'discarded samples = 3' >old-locks
same text --text leaky locks
same text --cum --total_delay --lines leaky locks
more same text --contentions leaky locks
same text --mean_delay leaky locks
same text --text leaky old-locks
more same text --base old-locks leaky locks
more same listing --list=remember leaky locks

compare_all

# A base that takes everything away.
./jeprof --base now.heap --drop_negative leaky before.heap >ours 2>/dev/null
jeprof --base now.heap --drop_negative leaky before.heap >theirs 2>/dev/null
is "$(cat ours)" "$(cat theirs)" '--drop_negative leaves nothing of what shrank'

# As many profiles as a folder may have.
mkdir many && for i in $(seq 100); do ln -s ../now.heap many/$i.heap; done
many=$(./jeprof --text --show_bytes leaky many/*.heap 2>/dev/null | awk '/^Total/ { print $2 }')
one=$(./jeprof --show_bytes leaky now.heap 2>/dev/null | awk '/^Total/ { print $2 }')
holds 'a hundred profiles are added up' test "$((many / 100))" -ge "$one" -a "$((many / 100))" -le $((one + 1))

# --symbols: a map and addresses on standard input.
(sed -n '/^MAPPED/,$p' now.heap; grep -o '0x[0-9a-f]*' now.heap | sort -u) >wanted
./jeprof --symbols leaky <wanted >ours && jeprof --symbols leaky <wanted >theirs 2>/dev/null
is "$(wc -l <ours)" "$(wc -l <theirs)" '--symbols answers each address'
holds '--symbols: the demo program by name' python3 - <<'P'
pairs = list(zip(open("theirs").read().split("\n"), open("ours").read().split("\n")))
mine = {"load_page", "look_up_page", "remember_session", "serve_request", "worker", "render_answer"}
print(pairs)
assert {o for t, o in pairs if t in mine} == {t for t, o in pairs if t in mine} and all(t == o for t, o in pairs if t in mine)
P
is "$(printf '0x%s\n' "$(nm leaky | awk '$3 == "load_page" { print $1 }')" 0x1 | ./jeprof --symbols leaky | tr '\n' ' ')" 'load_page ?? ' '--symbols without a map: addresses as linked'

echo 'int in_library(void) { return 1; }' >library.c
mkdir -p root/srv && ${CC:-cc} -shared -fPIC library.c -o root/srv/library.so
offset=$(nm root/srv/library.so | awk '$3 == "in_library" { print $1 }')
printf '%s\n' "7f0000000000-7f0000010000 r-xp 00000000 00:00 0 /srv/library.so" "0x7f000000${offset: -4}" >wanted
is "$(./jeprof --symbols --lib_prefix="$PWD/root" leaky <wanted)" in_library '--symbols looks for libraries in --lib_prefix'
is "$(printf '0x%s\n' "$offset" | ./jeprof --symbols --add_lib=root/srv/library.so leaky)" \
	"$(printf '0x%s\n' "$offset" | jeprof --symbols --add_lib=root/srv/library.so leaky 2>/dev/null)" '--symbols takes --add_lib'

# --raw works on local files, and what it writes needs no program.
./jeprof --raw leaky now.heap >raw 2>/dev/null
is $? 0 '--raw on a local file, where stock jeprof gives up'
is "$(head -n 2 raw | tr '\n' ' ')" '--- symbol binary=leaky ' '--raw begins with the names'
./jeprof --text --show_bytes leaky now.heap >theirs 2>/dev/null
mv leaky leaky.away
./jeprof --text --show_bytes raw >ours 2>/dev/null
mv leaky.away leaky
holds '--raw reads back as it was, the program gone' python3 "$root/tests/e2e/compare-jeprof-text.py" text theirs ours
like "$(cat ours)" '*load_page*' '--raw carries the names'
jeprof --text --show_bytes raw 2>/dev/null >theirs
is "$(head -n 1 theirs)" "$(./jeprof --text --show_bytes leaky now.heap 2>/dev/null | head -n 1)" 'stock jeprof reads our --raw'
./jeprof --raw --base before.heap leaky now.heap >raw2 2>/dev/null
near() { python3 -c 'import sys; a, b = (float(x.split()[1]) for x in sys.argv[1:]); sys.exit(abs(a - b) > 50)' "$1" "$2"; }
holds '--raw of a difference' near "$(./jeprof --show_bytes raw2 2>/dev/null | head -n 1)" "$(./jeprof --show_bytes --base before.heap leaky now.heap 2>/dev/null | head -n 1)"

# --callgrind: a name that looks like the number of another is none.
printf 'main;(1) 5\nmain;other 7\n' >odd.folded
"$cairn" pprof odd.folded -o odd.pb.gz
is "$(./jeprof --callgrind odd.pb.gz 2>/dev/null | grep -c '^fn=(1)$')" 0 '--callgrind: no name is taken for a number'

# The program is found wherever the dump says it was.
mkdir -p elsewhere && cp leaky elsewhere/renamed && mv leaky gone
is "$(./jeprof --text elsewhere/renamed now.heap 2>/dev/null | grep -c 'load_page$')" 1 'a program that was moved and renamed is known by its build-id'
mv gone leaky

# What does not go together, or is not there, is a sentence and exit code 1.
refused() { # refused PATTERN ARGUMENTS...
	local pattern=$1
	shift
	local said
	said=$(./jeprof "$@" 2>&1 >/dev/null)
	is $? 1 "$*: refused"
	like "$said" "$pattern" "$*: says why"
}
refused '*one kind of output*' --text --collapsed leaky now.heap
refused '*one of --functions*' --lines --files leaky now.heap
refused '*one of --inuse_space*' --inuse_space --alloc_space leaky now.heap
refused '*ambiguous (*--list*--lines*' --li leaky now.heap
refused '*no option --frobnicate*' --frobnicate leaky now.heap
refused '*--focus*closing parenthesis*' '--focus=(' leaky now.heap
refused '*--list*matches no function*' --list=no_such_function leaky now.heap
refused '*missing PROGRAM*'
refused '*missing PROFILE after the program*' leaky
refused '*missing.heap*' leaky missing.heap
refused '*whole number*' --nodecount=many leaky now.heap
like "$(./jeprof --version)" 'jeprof (*jemalloc 5.*' '--version names what it stands for'
like "$(./jeprof --help)" '*--show_bytes*--drop_negative*' '--help'
like "$("$cairn" jeprof leaky now.heap 2>/dev/null | head -n 1)" 'Total: * MB' 'without a kind of output, and no terminal: --text'
done_testing
