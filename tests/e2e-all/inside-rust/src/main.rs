// A service on the mimalloc crate that counts what its allocator has handed out.
// SPDX-License-Identifier: Apache-2.0
use std::alloc::{GlobalAlloc, Layout};
use std::io::BufRead;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

struct Counting(mimalloc::MiMalloc);
static HELD: AtomicUsize = AtomicUsize::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Relaxed);
        self.0.alloc(layout)
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Relaxed);
        self.0.alloc_zeroed(layout)
    }
    unsafe fn realloc(&self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        HELD.fetch_add(size.wrapping_sub(layout.size()), Relaxed);
        self.0.realloc(object, layout, size)
    }
    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        self.0.dealloc(object, layout)
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting(mimalloc::MiMalloc);

fn main() {
    let mut rows: Vec<Vec<u8>> = Vec::with_capacity(1 << 16);
    let mut lines = std::io::stdin().lock().lines();
    println!("{}", HELD.load(Relaxed));
    while lines.next().is_some() {
        for i in 0..40_000 {
            rows.push(vec![1; 10_000 + i % 1000 * 20]);
            if i % 4 == 3 {
                rows.swap_remove(i / 2);
            }
        }
        println!("{}", HELD.load(Relaxed));
    }
}
