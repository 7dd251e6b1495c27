# agree.sh - comparing `cairn addr2line` with llvm-symbolizer on one file after another. Sourced after lib.sh.
fixtures=$PWD/tests/fixtures/symbol

# oracle FILE: what llvm-symbolizer says of the addresses on standard input
oracle() { llvm-symbolizer --output-style=GNU --addresses --inlines --demangle --obj="$1" 2>/dev/null; }

# agrees NAME FILE [TWIN]: on 2000 random addresses, the frames of FILE are those llvm-symbolizer finds in FILE, or in its TWIN when FILE
# is of a form that it cannot read
agrees() {
	local name=$1 file=$2 twin=${3:-$2}
	python3 tests/e2e/agree.py addresses "$twin" "${CAIRN_ADDRESSES:-2000}" >"$scratch/addresses"
	oracle "$twin" <"$scratch/addresses" >"$scratch/theirs"
	"$cairn" addr2line -a -f -i -C -e "$file" <"$scratch/addresses" >"$scratch/ours"
	local others=()
	if [ -n "${CAIRN_JUDGES:-}" ]; then
		addr2line -a -f -i -C -e "$twin" <"$scratch/addresses" >"$scratch/gnu" 2>/dev/null && others+=("$scratch/gnu")
	fi
	python3 tests/e2e/agree.py compare "$twin" "$scratch/ours" "$scratch/theirs" "${others[@]}" >"$scratch/said"
	ok $? "$name"
	cat "$scratch/said"
}

# build NAME COMPILER FLAGS...: the sample program, three units, as $scratch/NAME
build() {
	local out=$scratch/$1 compiler=$2
	shift 2
	mkdir -p "$out.parts"
	local c=$compiler
	case $compiler in *clang++*) c=clang ;; *g++*) c=${compiler/g++/gcc} ;; esac
	(cd "$out.parts" && $compiler "$@" -std=c++17 -c "$fixtures/main.cc" "$fixtures/shapes.cc" && $c "$@" -c "$fixtures/plain.c" &&
		$compiler "$@" -o "$out" main.o shapes.o plain.o)
}
