#!/usr/bin/env bash
# Names and places of random addresses against llvm-symbolizer, over compilers, optimisation, versions and forms of DWARF. Where
# llvm-symbolizer cannot read a form, it reads the same program in a form it can. GNU addr2line is asked where the two differ.
. tests/e2e/lib.sh
. tests/e2e/agree.sh
need g++ clang++ objcopy llvm-symbolizer python3 nm strip
export CAIRN_JUDGES=1

have() { command -v "$1" >/dev/null; }

for compiler in g++ clang++; do
	for version in 4 5; do
		for level in '-O0' '-O2' '-O3 -flto'; do
			linker=
			case "$compiler $level" in clang*lto) linker=-fuse-ld=lld ;; esac
			[ -z "$linker" ] || have ld.lld || { skip "$compiler $level -gdwarf-$version" 'no ld.lld here'; continue; }
			build sample $compiler $level -gdwarf-$version $linker 2>/dev/null && agrees "$compiler $level -gdwarf-$version" "$scratch/sample"
		done
		build plain $compiler -O2 -gdwarf-$version
		build split $compiler -O2 -gdwarf-$version -gsplit-dwarf
		agrees "$compiler -gdwarf-$version, split, .dwo files" "$scratch/split" "$scratch/plain"
		pack() { have "$1" && (cd "$scratch/split.parts" && "$1" -e ../split -o ../split.dwp) >/dev/null 2>&1; }
		if pack dwp || pack llvm-dwp; then
			rm -f "$scratch"/split.parts/*.dwo
			agrees "$compiler -gdwarf-$version, split, .dwp package" "$scratch/split" "$scratch/plain"
			rm -f "$scratch/split.dwp"
		else
			skip "$compiler -gdwarf-$version, split, .dwp package" 'no dwp here that can make one'
		fi
	done
done

build plain g++ -O2 -g
for way in zlib zlib-gnu zstd; do
	objcopy --compress-debug-sections=$way "$scratch/plain" "$scratch/packed" 2>/dev/null &&
		agrees "compressed: $way" "$scratch/packed" "$scratch/plain" || skip "compressed: $way" 'this objcopy cannot write it'
done
if have dwz; then
	cp "$scratch/plain" "$scratch/dwz" && dwz "$scratch/dwz" && agrees 'dwz, one file' "$scratch/dwz" "$scratch/plain"
	cp "$scratch/plain" "$scratch/one" && cp "$scratch/plain" "$scratch/two" && dwz -m "$scratch/shared" "$scratch/one" "$scratch/two" &&
		agrees 'dwz, parts in a shared file' "$scratch/one" "$scratch/plain"
else
	skip 'dwz' 'no dwz here'
fi
objcopy --only-keep-debug "$scratch/plain" "$scratch/plain.debug" && cp "$scratch/plain" "$scratch/stripped" &&
	strip "$scratch/stripped" && objcopy --add-gnu-debuglink="$scratch/plain.debug" "$scratch/stripped" &&
	agrees 'separate debug file' "$scratch/stripped" "$scratch/plain"
for flags in '-gdwarf64' '-fdebug-types-section' '-gdwarf-2' '-gdwarf-3 -gstrict-dwarf' '-ffunction-sections -Wl,--gc-sections'; do
	build sample g++ -O2 -g $flags && agrees "g++ $flags" "$scratch/sample"
done
have ld.lld && build sample clang++ -O2 -g -ffunction-sections -fuse-ld=lld -Wl,--gc-sections && agrees 'clang++ --gc-sections by lld' "$scratch/sample"
build sample clang++ -O2 -gline-tables-only && agrees 'clang++ -gline-tables-only' "$scratch/sample"

if have aarch64-linux-gnu-g++; then
	build arm aarch64-linux-gnu-g++ -O2 -g && agrees 'aarch64, cross-built' "$scratch/arm"
else
	skip 'aarch64, cross-built' 'no aarch64-linux-gnu-g++ here'
fi
if have rustc; then
	for version in 4 5; do
		rustc -O -g -Z dwarf-version=$version "$fixtures/sample.rs" -o "$scratch/rust" 2>/dev/null ||
			rustc -O -g "$fixtures/sample.rs" -o "$scratch/rust" && agrees "rustc -O -g" "$scratch/rust"
		[ -n "${RUSTC_BOOTSTRAP:-}" ] || break
	done
else
	skip 'rustc' 'no rustc here'
fi
debug_of() {
	local id
	id=$(readelf -n "$1" 2>/dev/null | awk '/Build ID/ { print $3 }')
	echo "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug"
}
libc=$(ldd /bin/sh | awk '/libc\.so/ { print $3 }')
for file in "$(debug_of "$libc")" "$(command -v python3.11-dbg || echo /none)" "$(debug_of "$(command -v ceph-osd || echo /none)")"; do
	case $file in *python*) [ -e "$(debug_of "$file")" ] && file=$(debug_of "$file") ;; esac
	if [ -e "$file" ]; then agrees "$file" "$file"; else skip "$file" 'not installed here'; fi
done
done_testing
