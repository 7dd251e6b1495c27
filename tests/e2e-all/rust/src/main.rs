// A service on tikv-jemallocator: memory held by a plain function, a generic one, a trait's method, a closure and a thread.
// SPDX-License-Identifier: Apache-2.0
use std::collections::HashMap;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

trait Store {
    fn keep(&mut self, count: usize);
}

struct Table<K> {
    rows: HashMap<K, Vec<u8>>,
}

impl Store for Table<u64> {
    #[inline(never)]
    fn keep(&mut self, count: usize) {
        for key in 0..count as u64 {
            self.rows.insert(key, vec![1; 4096]);
        }
    }
}

#[inline(never)]
fn boxed_pages(count: usize) -> Vec<Box<[u8; 8192]>> {
    (0..count).map(|_| Box::new([1u8; 8192])).collect()
}

#[inline(never)]
fn repeated<T: Clone>(value: T, count: usize) -> Vec<T> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(value.clone());
    }
    all
}

fn main() {
    let mut table = Table { rows: HashMap::new() };
    table.keep(200);
    let pages = boxed_pages(100);
    let words = repeated(String::from("a string that lives on the heap"), 20000);
    let by_closure: Vec<Vec<u64>> = (0..50).map(|n| (0..n * 100).collect()).collect();
    let by_thread = std::thread::spawn(|| repeated([7u64; 16], 5000)).join().unwrap();
    let total = table.rows.len() + pages.len() + words.len() + by_closure.len() + by_thread.len();
    println!("{total}");
    std::mem::forget((table, pages, words, by_closure, by_thread));
}
