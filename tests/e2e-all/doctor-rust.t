#!/usr/bin/env bash
# The doctor on Rust services on tikv-jemallocator, whose jemalloc has a prefix: the right variable, the wrong one, and one built without profiling.
. tests/e2e/lib.sh
need cargo strip
. tests/e2e/agent.sh
export CARGO_TARGET_DIR=$PWD/${CAIRN_BUILD:-build}/rust-bill
cp -r tests/e2e-all/bill "$scratch/bill"
build() { (cd "$scratch/bill" && cargo build -q --release "$@") >"$scratch/cargo.log" 2>&1; }
doctor() { "$cairn" doctor "$1" 2>&1 | tr -s ' '; }
# start VARIABLE: the service with it; its number is in `pid`
start() {
	: >"$scratch/out"
	env "$@" "$program" 60 >"$scratch/out" 2>&1 &
	pid=$!
	children+=("$pid")
	wait_for 30 grep -q ready "$scratch/out"
}
build || skip_all "the service does not build here: $(tail -n 1 "$scratch/cargo.log")"
program=$CARGO_TARGET_DIR/release/bill
like "$(doctor "$program")" '*right allocator *with the prefix _rjem_*right built to profile *right environment *_RJEM_MALLOC_CONF*note enabled *-> _RJEM_MALLOC_CONF=prof:true *' 'the file says which variable it reads'
start _RJEM_MALLOC_CONF=prof:true,lg_prof_sample:15
like "$(doctor "$pid")" '*cannot tell in use *right environment *right enabled *read from its memory*right active *read from its memory*right period *32.0 KiB*' 'without an agent its state is read from its memory'
start MALLOC_CONF=prof:true
like "$(doctor "$pid")" '*wrong environment *MALLOC_CONF is set, but this jemalloc reads _RJEM_MALLOC_CONF*-> *_RJEM_MALLOC_CONF=prof:true*enabled *without prof:true*' 'the variable without the prefix'
start LD_PRELOAD="$library" _RJEM_MALLOC_CONF=prof:true,lg_prof_sample:15
like "$(doctor "$pid")" '*right agent *right in use *right enabled *the agent says so*right samples *live*' 'with an agent'
strip -o "$scratch/stripped" "$program"
like "$(doctor "$scratch/stripped")" '*wrong allocator *without symbols*right built to profile *right environment *_RJEM_MALLOC_CONF*wrong names *' 'stripped'
build --no-default-features
like "$(doctor "$program")" '*right allocator *wrong built to profile *to do: tikv-jemallocator = * features = \["profiling"\] } in Cargo.toml*' 'built without profiling'
start _RJEM_MALLOC_CONF=prof:true
like "$(doctor "$pid")" '*built to profile *it ignores prof:true*' 'which prof:true does not change'
done_testing
