#!/usr/bin/env bash
# Files that gperftools really writes - heap, sampled heap, growth, CPU, symbolized - against google-pprof's figures per address.
. tests/e2e/lib.sh
need python3 g++ google-pprof

program=$scratch/service
g++ -O1 -g -fno-omit-frame-pointer -o "$program" tests/e2e/tcmalloc.cc -Wl,--no-as-needed -ltcmalloc_and_profiler 2>"$scratch/err" ||
	broken "no gperftools to link: $(head -n 1 "$scratch/err")"

quick_nm
# agrees NAME FILE VALUE SCALE OPTION...: google-pprof with these options shows what cairn read
agrees() {
	local name=$1 file=$2 value=$3 scale=$4
	shift 4
	"$cairn" raw "$file" >"$scratch/raw" 2>"$scratch/err" || sed 's/^/# /' "$scratch/err"
	google-pprof --text --addresses --show_bytes "$@" "$program" "$file" >"$scratch/text" 2>/dev/null
	python3 tests/e2e/compare-google-pprof.py "$scratch/raw" "$value" "$scratch/text" "$scale" >"$scratch/differences"
	ok $? "$name ($(head -n 1 "$scratch/differences"))"
	sed '1d; s/^/#   /' "$scratch/differences"
}

HEAPPROFILE=$scratch/heap "$program" 2>/dev/null
file=$(ls "$scratch"/heap.*.heap | tail -n 1)
like "$("$cairn" raw "$file")" '*format: flat heap profile*' 'the heap profiler'
agrees 'live bytes' "$file" inuse_space 1 --inuse_space
more agrees 'live objects' "$file" inuse_objects 1 --inuse_objects
agrees 'all bytes' "$file" alloc_space 1 --alloc_space
more agrees 'all objects' "$file" alloc_objects 1 --alloc_objects
jeprof --text --show_bytes "$program" "$file" >"$scratch/text" 2>/dev/null &&
	is "$("$cairn" top --json "$file" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])')" "$(awk '/^Total:/ { print $2 }' "$scratch/text")" \
		"jeprof's total"

TCMALLOC_SAMPLE_PARAMETER=65536 "$program" "$scratch/sampled" "$scratch/growth"
like "$(head -n 1 "$scratch/sampled")" '*heap_v2/*' 'the sampled heap'
agrees 'live bytes, un-sampled' "$scratch/sampled" inuse_space 1 --inuse_space
more agrees 'live objects, un-sampled' "$scratch/sampled" inuse_objects 1 --inuse_objects
like "$("$cairn" raw "$scratch/growth")" '*kind: growth*' 'growth'
agrees 'bytes from the system' "$scratch/growth" space 1

CPUPROFILE=$scratch/cpu CPUPROFILE_FREQUENCY=1000 "$program" 2>/dev/null
like "$("$cairn" raw "$scratch/cpu")" '*kind: cpu*period: 1000000 cpu/nanoseconds*' 'the CPU profiler'
agrees 'samples' "$scratch/cpu" samples 1
agrees 'time' "$scratch/cpu" cpu 1000000

google-pprof --raw "$program" "$file" >"$scratch/symbolized" 2>/dev/null
like "$("$cairn" raw "$scratch/symbolized" 2>/dev/null)" "*process: $program*take*fill*main*" 'a symbolized file has its names'
done_testing
