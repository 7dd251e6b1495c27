#!/usr/bin/env bash
# Names and places of random addresses against llvm-symbolizer: the forms of DWARF that gcc and binutils alone can make.
. tests/e2e/lib.sh
. tests/e2e/agree.sh
need g++ objcopy llvm-symbolizer python3 nm

for flags in '-O0 -gdwarf-4' '-O2 -gdwarf-5' '-O3 -flto -gdwarf-5' '-O2 -g -static'; do
	build sample g++ $flags && agrees "g++ $flags" "$scratch/sample"
done
build plain g++ -O2 -g
objcopy --compress-debug-sections=zlib "$scratch/plain" "$scratch/zlib" && agrees 'sections compressed by zlib' "$scratch/zlib" "$scratch/plain"
objcopy --compress-debug-sections=zlib-gnu "$scratch/plain" "$scratch/zdebug" && agrees '.zdebug sections' "$scratch/zdebug" "$scratch/plain"
if objcopy --compress-debug-sections=zstd "$scratch/plain" "$scratch/zstd" 2>/dev/null; then
	agrees 'sections compressed by zstd' "$scratch/zstd" "$scratch/plain"
else
	skip 'sections compressed by zstd' 'this objcopy cannot write them'
fi
objcopy --remove-section=.debug_aranges "$scratch/plain" "$scratch/bare" && agrees 'without .debug_aranges' "$scratch/bare" "$scratch/plain"
# In the split program llvm-symbolizer 14 shows no inlined frames of plain.c; it reads the twin that is not split.
build split g++ -O2 -g -gsplit-dwarf && agrees 'split DWARF 5 in .dwo files' "$scratch/split" "$scratch/plain"
build plain4 g++ -O2 -gdwarf-4 && build split4 g++ -O2 -gdwarf-4 -gsplit-dwarf &&
	agrees 'split DWARF 4 in .dwo files' "$scratch/split4" "$scratch/plain4"
done_testing
