// inside.rs - inside.c in Rust, on the allocator that its features choose: tikv-jemallocator or mimalloc.
// SPDX-License-Identifier: Apache-2.0
use std::{hint::black_box, io::stdin, time::Instant};

#[cfg(feature = "jemalloc")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

// A function of its own, which loads the slots anew each time.
#[inline(never)]
fn time_pairs() -> f64 {
    const PAIRS: u32 = 20_000;
    let start = Instant::now();
    for _ in 0..PAIRS {
        drop(black_box(Box::<[u8; 64]>::new_uninit()));
    }
    start.elapsed().as_nanos() as f64 / PAIRS as f64
}

fn main() {
    for _ in stdin().lines() {
        let best = (0..300).map(|_| time_pairs()).fold(f64::MAX, f64::min); // of short rounds, in some of which nobody else runs
        println!("{best:.2}");
    }
}
