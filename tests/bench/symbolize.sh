#!/usr/bin/env bash
# Names for addresses: cairn addr2line against gimli's, llvm-symbolizer and GNU's, inlines on, all addresses in one run.
. tests/bench/lib.sh

# Peers. gimli's program (CAIRN_GIMLI, when it is there already) is built once where cargo is, with debug information of its own: it is
# the Rust program measured below.
gimli=${CAIRN_GIMLI:-$bench/gimli/bin/addr2line}
if [ ! -x "$gimli" ] && command -v cargo >/dev/null; then
	CARGO_PROFILE_RELEASE_DEBUG=2 CARGO_PROFILE_RELEASE_STRIP=none cargo install -q --root "$bench/gimli" addr2line --features bin >/dev/null 2>&1
fi

# The program under test is the same for all: addresses on standard input, functions, inlines, demangled.
ask_cairn() { "$cairn" addr2line -f -i -C -e "$1" <"$2"; }
ask_gimli() { "$gimli" -f -i -C -e "$1" <"$2"; }
ask_llvm() { llvm-symbolizer --output-style=GNU --inlines --demangle --obj="$1" <"$2"; }
ask_gnu() { addr2line -f -i -C -e "$1" <"$2"; }
have() {
	case $1 in
	gimli) [ -x "$gimli" ] ;;
	llvm) command -v llvm-symbolizer >/dev/null ;;
	gnu) command -v addr2line >/dev/null ;;
	esac
}
# peak of a function in a shell of its own
peak_of() {
	export -f "ask_$1"
	export cairn gimli
	peak_mb bash -c "exec 3>&1; ask_$1 \"\$0\" \"\$1\"" "$2" "$3"
}

# compare FILE ADDRESSES RUNS [PEER-RUNS [MOST-MB TIMES]]: a row for each peer, which runs once unless told; wanted are that much memory at
# most, and to be so many times faster than gimli
compare() {
	local file=$1 addresses=$2 runs=$3 peer_runs=${4:-1} most=${5:-} ours peer peak verdict=
	ours=$(seconds "$runs" ask_cairn "$file" "$addresses")
	peak=$(peak_of cairn "$file" "$addresses")
	[ -z "$most" ] || verdict="  (wanted at most $most MB: $([ "$peak" -le "$most" ] && echo met || echo 'NOT MET'))"
	printf '%-44s %9.3f s, %s MB%s\n' "cairn" "$ours" "$peak" "$verdict"
	for peer in gimli llvm gnu; do
		if have $peer; then
			local wanted=
			case $peer in gimli) wanted=${6:-3} ;; gnu) wanted=8 ;; esac
			row "  against $peer ($(peak_of $peer "$file" "$addresses") MB)" "$ours" $peer "$(seconds "$peer_runs" ask_$peer "$file" "$addresses")" $wanted
		else
			without "  against $peer" 'not on this machine'
		fi
	done
}

cold() {
	rm -rf "$XDG_CACHE_HOME"
	"$cairn" collapsed "$1"
}
# fold PROGRAM DUMP COLD WARM: a dump to folded text, with no cache and with one, and what is wanted
fold() {
	local theirs
	theirs=$(seconds 1 jeprof --collapsed "$1" "$2")
	row 'cairn collapsed, empty cache' "$(seconds 3 cold "$2")" 'jeprof --collapsed' "$theirs" "$3"
	row 'cairn collapsed, warm cache' "$(seconds 7 "$cairn" collapsed "$2")" 'jeprof --collapsed' "$theirs" "$4"
}

describe() { printf '%s: %s MB, %s\n' "$1" "$(($(stat -Lc %s "$2") >> 20))" "$3"; }

ceph=$(command -v ceph-osd || true)
if [ -n "$ceph" ]; then
	id=$(readelf -n "$ceph" 2>/dev/null | awk '/Build ID/ { print $3 }')
	packed=/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug
else
	packed=/none
fi
if [ -e "$packed" ]; then
	[ -s "$bench/ceph.20000" ] || python3 tests/e2e/agree.py addresses "$packed" 20000 >"$bench/ceph.20000"
	[ -s "$bench/ceph.plain" ] || objcopy --decompress-debug-sections "$packed" "$bench/ceph.plain"
	heading 'Symbolizing 20,000 random addresses of ceph-osd, compressed debug file'
	describe 'ceph-osd.debug' "$packed" 'zlib, .debug_info of 380 MB'
	compare "$packed" "$bench/ceph.20000" 3 3 250 4
	heading 'The same, uncompressed'
	describe 'ceph-osd.debug' "$bench/ceph.plain" 'C++, not compressed'
	compare "$bench/ceph.plain" "$bench/ceph.20000" 3
	heading 'A dump of ceph-osd to folded text'
	if ! command -v jeprof >/dev/null; then
		without 'against jeprof' 'not on this machine'
	elif ceph_dump; then
		fold "$ceph" "$bench/ceph.heap" 10 200
		heading 'The same, the debug file uncompressed'
		# Both find it by its name in the program, which has no build-id any more.
		objcopy --remove-section .note.gnu.build-id --remove-section .gnu_debuglink --add-gnu-debuglink="$bench/ceph.plain" "$ceph" "$bench/ceph-osd"
		sed "s#$ceph\$#$bench/ceph-osd#" "$bench/ceph.heap" >"$bench/ceph-plain.heap"
		fold "$bench/ceph-osd" "$bench/ceph-plain.heap" 30 200
	else
		without 'a dump of ceph-osd' 'ceph-osd left none'
	fi
else
	without 'ceph-osd' 'ceph-osd and ceph-osd-dbg are not installed'
fi

if [ -x "$gimli" ]; then
	# rustc of today writes .debug_aranges for some units, earlier ones for none.
	heading "Symbolizing 20,000 random addresses of a Rust program (gimli's own, in release mode with debug information, without .debug_aranges)"
	[ "$bench/rust.plain" -nt "$gimli" ] || objcopy --remove-section .debug_aranges "$gimli" "$bench/rust.plain"
	describe 'addr2line' "$bench/rust.plain" 'Rust'
	[ -s "$bench/rust.20000" ] || python3 tests/e2e/agree.py addresses "$gimli" 20000 >"$bench/rust.20000"
	compare "$bench/rust.plain" "$bench/rust.20000" 9 5
else
	without 'a Rust program' 'no cargo here to build one'
fi

if [ -e "$packed" ]; then
	heading 'How the time grows with the number of addresses (seconds; ceph-osd)'
	printf '%12s %14s %14s\n' addresses compressed uncompressed
	[ -s "$bench/ceph.100000" ] || python3 tests/e2e/agree.py addresses "$packed" 100000 >"$bench/ceph.100000"
	for count in 100 1000 10000 100000; do
		head -n $count "$bench/ceph.100000" >"$scratch/some"
		printf '%12s %14.3f %14.3f\n' $count "$(seconds 3 ask_cairn "$packed" "$scratch/some")" "$(seconds 3 ask_cairn "$bench/ceph.plain" "$scratch/some")"
	done
fi

heading 'How the time grows with the size of the binary (10,000 addresses)'
printf '%-28s %10s %12s\n' binary MB seconds
libc=$(ldd /bin/sh | awk '/libc\.so/ { print $3 }')
id=$(readelf -n "$libc" | awk '/Build ID/ { print $3 }')
for file in "$cairn" "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" "$gimli" "$bench/ceph.plain"; do
	[ -e "$file" ] || continue
	python3 tests/e2e/agree.py addresses "$file" 10000 >"$scratch/some"
	printf '%-28s %10.1f %12.3f\n' "$(basename "$file" | cut -c1-28)" "$(stat -Lc %s "$file" | awk '{ print $1 / 1048576 }')" "$(seconds 3 ask_cairn "$file" "$scratch/some")"
done
