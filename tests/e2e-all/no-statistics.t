#!/usr/bin/env bash
# A jemalloc that was built without statistics, as tikv-jemallocator builds it by default: what cannot be known is said, and not shown as 0.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cargo cc make curl
export CARGO_TARGET_DIR=$PWD/${CAIRN_BUILD:-build}/rust-no-statistics
cp -r tests/e2e-all/rust "$scratch/rust"
cat >"$scratch/rust/src/main.rs" <<'RUST'
#[global_allocator]
static GLOBAL: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[inline(never)]
fn remember(kept: &mut Vec<Vec<u8>>) {
    kept.push(vec![1; 1000]);
}

fn main() {
    let mut kept = Vec::new();
    for _ in 0..20000 {
        remember(&mut kept);
    }
    println!("ready");
    loop {
        std::thread::sleep(std::time::Duration::from_secs(1));
        remember(&mut kept);
    }
}
RUST
(cd "$scratch/rust" && cargo build --release --quiet) >"$scratch/cargo.log" 2>&1 || skip_all "cargo cannot build it: $(grep -m 1 -E 'error|warning' "$scratch/cargo.log")"
port=$(free_port)
LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$port _RJEM_MALLOC_CONF=prof:true,lg_prof_sample:12 "$CARGO_TARGET_DIR/release/rust-service" >"$scratch/out" 2>&1 &
pid=$!
children+=($pid)
wait_for 20 grep -q ready "$scratch/out"
wait_for 20 "$cairn" status "$pid"
like "$("$cairn" status "$pid")" '*statistics: *' 'the status says so'
metrics=$(curl -s "http://127.0.0.1:$port/metrics")
like "$metrics" '*jemalloc_statistics 0*' '/metrics says so'
holds 'and has no number of jemalloc that it does not know' bash -c '! grep -qE "^(sys_)?jemalloc_(allocated|resident|active|mapped)" <<<"$1"' x "$metrics"
like "$("$cairn" rss "$pid")" '*note: only the kernel*built without statistics*' 'rss says so'
holds 'and has no lines of the allocator' bash -c '! grep -qE "live objects|dirty pages" <<<"$1"' x "$("$cairn" rss "$pid")"
like "$("$cairn" doctor "$pid")" '*note *statistics *built without statistics*"stats"*' 'doctor says so, and what to do'
timeout 5 "$cairn" watch --interval 1M -o "$scratch" "$pid" >"$scratch/watched" 2>&1
like "$(<"$scratch/watched")" '*built without statistics, so --interval cannot tell*' 'watch --interval says so'
is "$(grep -c 'without statistics' "$scratch/watched")" 1 'once'
like "$("$cairn" top "$pid" 2>&1)" '*remember*' 'and the profile is there all the same'
done_testing
