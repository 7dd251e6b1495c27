// main.rs - a Rust service that keeps as many megabytes as it is told, frees every second object when told "half", and waits.
// SPDX-License-Identifier: Apache-2.0
use std::collections::HashMap;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let megabytes: usize = arguments[1].parse().unwrap();
    let mut cache: HashMap<usize, Vec<u8>> = HashMap::new();
    let mut sum = 0;
    for i in 0.. {
        if sum >= megabytes << 20 {
            break;
        }
        let size = 20 + i * 7919 % 3000;
        cache.insert(i, vec![1; size]);
        sum += size;
    }
    if arguments.get(2).is_some_and(|word| word == "half") {
        cache.retain(|key, _| key % 2 == 0);
    }
    println!("ready {}", cache.len());
    loop {
        std::thread::park();
    }
}
