#!/usr/bin/env bash
# Rust services on tikv-jemallocator, with the prefix and without, preloaded and linked.
. tests/e2e/lib.sh
need cargo curl python3
. tests/e2e/agent.sh
export CARGO_TARGET_DIR=$PWD/${CAIRN_BUILD:-build}/rust-embed
cp -r examples/embed-rust "$scratch/embed"
rm -f "$scratch/embed/Cargo.lock"

# build FEATURES: the example with them; the path of the program in `program`
build() {
	(cd "$scratch/embed" && CAIRN_LIB_DIR=$(dirname "$library") cargo build -q --release --features "$1") >"$scratch/cargo.log" 2>&1 || return 1
	program=$scratch/embed-$1
	cp "$CARGO_TARGET_DIR/release/embed" "$program"
}
ask() { curl -s --max-time 20 --unix-socket "$sockets/$1.sock" "http://localhost$2"; }
check() {
	local pid=$1 prefix=$2 what=$3 count
	wait_for 10 ask "$pid" /cairn/status
	has_sample() { ask "$pid" /pprof/heap | grep -q '^ *t\*: [1-9]'; }
	wait_for 10 has_sample
	is "$(ask "$pid" '/cairn/status?format=text' | sed -n 's/^prefix: //p')" "$prefix" "$what: its prefix is '$prefix'"
	count=$(ask "$pid" /pprof/heap | sed -n '2s/ *t\*: \([0-9]*\):.*/\1/p')
	[ "${count:-0}" -gt 0 ]
	ok $? "$what: ${count:-no} samples"
	like "$("$cairn" top "$pid" 2>/dev/null)" '*remember*' "$what: cairn top names its functions"
}

build "" || { broken "the example does not build here: $(tail -n 1 "$scratch/cargo.log")"; }
LD_PRELOAD=$library CAIRN_CONF=listen:unix _RJEM_MALLOC_CONF=prof:true,lg_prof_sample:12 "$program" 60 &
children+=($!)
check $! _rjem_ "with the prefix"
LD_PRELOAD=$library CAIRN_CONF=listen:unix MALLOC_CONF=prof:true "$program" 60 &
children+=($!)
wait_for 10 ask $! /cairn/status
like "$(ask $! '/cairn/status?format=text')" '*engine warning: memory allocated through _rjem_malloc is not seen: *_RJEM_MALLOC_CONF=prof:true*' \
	"the variable that would have been read is named"
LD_PRELOAD=$library CAIRN_CONF=listen:unix,engine:jemalloc MALLOC_CONF=prof:true "$program" 60 &
children+=($!)
wait_for 10 ask $! /cairn/status
like "$(ask $! '/cairn/status?format=text')" '*not enabled*_RJEM_MALLOC_CONF=prof:true*' "also where only jemalloc's profiler is wanted"
build unprefixed
LD_PRELOAD=$library CAIRN_CONF=listen:unix MALLOC_CONF=prof:true,lg_prof_sample:12 "$program" 60 &
children+=($!)
check $! "" "without the prefix"
build linked
_RJEM_MALLOC_CONF=prof:true,lg_prof_sample:12 "$program" 60 &
children+=($!)
check $! _rjem_ "linked and started by a call"
done_testing
