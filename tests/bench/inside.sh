#!/usr/bin/env bash
# What counting an allocator inside a program costs: a malloc and free of 64 bytes in one process, before attach, with it, and after detach; and
# how long its threads were stopped. Rust's allocators are counted by slots, those of C at the entries of their functions.
. tests/bench/lib.sh
heading 'Allocators inside programs'

# measure NAME WANTED PROGRAM
measure() {
	local bare with after said
	coproc host { exec "$3"; }
	ask() { echo >&"${host[1]}" && read -r -t 120 "$1" <&"${host[0]}"; }
	ask bare && ask bare && said=$("$cairn" attach "$host_PID" 2>&1) && ask with && "$cairn" detach "$host_PID" >/dev/null && ask after
	local status=$?
	kill "$host_PID"
	wait "$host_PID" 2>/dev/null
	[ $status = 0 ] || { without "$1" "${said:-it failed}"; return; }
	awk -v what="$1" -v bare="$bare" -v with="$with" -v after="$after" -v wanted="$2" -v said="$said" 'BEGIN {
		match(said, /by [0-9]+ slots|the entries of [0-9]+ functions/); way = substr(said, RSTART, RLENGTH)
		match(said, /stopped for [0-9.]+ ms/)
		printf "%-32s %+6.2f ns over %6.2f ns  (wanted at most %s: %s)  after detach %+.2f; %s, %s\n", what, with - bare, bare, wanted,
			with - bare <= wanted ? "met" : "NOT MET", after - bare, way, substr(said, RSTART, RLENGTH) }'
}

archive() { ${CC:-cc} -print-file-name="lib$1.a"; }
for allocator in jemalloc_pic tcmalloc_minimal; do
	${CC:-cc} -O2 -c -o "$scratch/inside.o" tests/bench/inside.c -fno-builtin &&
		${CXX:-c++} -o "$scratch/$allocator" "$scratch/inside.o" "$(archive $allocator)" -lm -pthread ||
		{ without "C with lib$allocator.a" 'it does not link'; continue; }
	measure "C with lib$allocator.a" 2 "$scratch/$allocator"
done
if command -v cargo >/dev/null; then
	mkdir -p "$bench/inside-rust/src"
	cp tests/bench/inside.rs "$bench/inside-rust/src/main.rs"
	printf '%s\n' '[package]' 'name = "inside"' 'version = "0.1.0"' 'edition = "2021"' '[features]' 'jemalloc = ["dep:tikv-jemallocator"]' \
		'mimalloc = ["dep:mimalloc"]' '[dependencies]' 'tikv-jemallocator = { version = "0.6", optional = true }' \
		'mimalloc = { version = "0.1", optional = true, default-features = false }' >"$bench/inside-rust/Cargo.toml"
	for allocator in jemalloc mimalloc; do
		(cd "$bench/inside-rust" && cargo build -q --release --features $allocator --target-dir $allocator) 2>"$scratch/log" ||
			{ without "Rust with $allocator" "$(tail -n 1 "$scratch/log")"; continue; }
		measure "Rust with $allocator" 1.5 "$bench/inside-rust/$allocator/release/inside"
	done
else
	without 'Rust' 'no cargo'
fi
