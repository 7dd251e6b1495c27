#!/usr/bin/env bash
# A Rust service on tikv-jemallocator, whose jemalloc is prefixed and built in: names, generics, and the allocator's frames.
. tests/e2e/lib.sh
need cargo rustc cc make go

cp -r tests/e2e-all/rust "$scratch/rust"
dump() { # dump NAME FLAGS: builds with RUSTFLAGS and keeps the program and its dump as NAME
	(cd "$scratch/rust" && RUSTFLAGS=$2 cargo build --release --quiet) >"$scratch/cargo.log" 2>&1 || return 1
	cp "$scratch/rust/target/release/rust-service" "$scratch/$1"
	_RJEM_MALLOC_CONF=prof:true,lg_prof_sample:12,prof_final:true,prof_prefix:$scratch/je "$scratch/$1" >/dev/null
	mv "$scratch"/je.*.f.heap "$scratch/$1.heap"
}
dump legacy '' || skip_all "cargo cannot build it: $(grep -m 1 -E 'error|warning' "$scratch/cargo.log")"
dump v0 '-C symbol-mangling-version=v0'

for name in legacy v0; do
	"$cairn" collapsed --full-names --all-frames "$scratch/$name.heap" >"$scratch/full" 2>"$scratch/notes"
	"$cairn" collapsed "$scratch/$name.heap" >"$scratch/short" 2>/dev/null
	holds "$name: a plain function" grep -q 'rust_service::boxed_pages' "$scratch/full"
	holds "$name: a generic one" grep -q 'rust_service::repeated' "$scratch/full"
	holds "$name: a trait's method, with type and trait" grep -qE '<rust_service::Table<.*> as rust_service::Store>::keep' "$scratch/full"
	holds "$name: a closure" grep -qE 'rust_service::main::\{+closure' "$scratch/full"
	holds "$name: the short form keeps type and trait too" grep -q '<rust_service::Table<...> as rust_service::Store>::keep' "$scratch/short"
	! grep -qE '::h[0-9a-f]{16}|_ZN|_RNv' "$scratch/full"
	ok $? "$name: nothing is left mangled, no hash"
	holds "$name: --all-frames has jemalloc's own" grep -qE 'prof_backtrace|_rjem_' "$scratch/full"
	! grep -qE '_rjem_|prof_backtrace|imalloc|__rust_alloc|__rg_|GlobalAlloc|alloc::alloc::|raw_vec' "$scratch/short"
	ok $? "$name: by default the allocator's frames are gone"
	"$cairn" collapsed --fold-wrappers "$scratch/$name.heap" >"$scratch/folded" 2>/dev/null
	# Its standard library allocates a little before rust_service::main, of which a sample may be: that is under the main of C.
	is "$(sed 's/.*;//; s/ [0-9]*$//' "$scratch/folded" | grep -vE 'rust_service|^main$' | head -n 1)" '' \
		"$name: with wrappers folded, memory is the program's own functions'"
	"$cairn" pprof "$scratch/$name.heap" -o "$scratch/$name.pb.gz" 2>/dev/null
	go tool pprof -top -nodecount=1000 -nodefraction=0 "$scratch/$name.pb.gz" >"$scratch/top" 2>/dev/null
	! awk '$1 != "0" && NR > 6' "$scratch/top" | grep -E '_rjem_|prof_|imalloc|__rust_|GlobalAlloc|raw_vec|do_alloc'
	ok $? "$name: go tool pprof -top shows callers of the allocator, not its frames"
	holds "$name: and has all of them" grep -q 'with_capacity_in' "$scratch/top"
	! grep -q rust-service+0x "$scratch/short"
	ok $? "$name: every address of the program has a name"
done
done_testing
