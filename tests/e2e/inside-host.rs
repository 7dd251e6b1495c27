// inside-host.rs - inside-host.cc in Rust: a program whose global allocator is a linked-in jemalloc, called as the crate does that brings one.
// SPDX-License-Identifier: Apache-2.0
use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::io::{stdin, BufRead, Write};
use std::{mem::forget, thread, time::Duration};

extern "C" {
    fn _rjem_malloc(size: usize) -> *mut c_void;
    fn _rjem_calloc(count: usize, size: usize) -> *mut c_void;
    fn _rjem_mallocx(size: usize, flags: c_int) -> *mut c_void;
    fn _rjem_realloc(object: *mut c_void, size: usize) -> *mut c_void;
    fn _rjem_rallocx(object: *mut c_void, size: usize, flags: c_int) -> *mut c_void;
    fn _rjem_sdallocx(object: *mut c_void, size: usize, flags: c_int);
}

struct Jemalloc;

fn flags(layout: &Layout) -> c_int {
    if layout.align() <= 16 { 0 } else { layout.align().trailing_zeros() as c_int }
}

unsafe impl GlobalAlloc for Jemalloc {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let flags = flags(&layout);
        (if flags == 0 { _rjem_malloc(layout.size()) } else { _rjem_mallocx(layout.size(), flags) }) as *mut u8
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let flags = flags(&layout);
        (if flags == 0 { _rjem_calloc(1, layout.size()) } else { _rjem_mallocx(layout.size(), flags | 0x40) }) as *mut u8
    }
    unsafe fn realloc(&self, object: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let flags = flags(&layout);
        (if flags == 0 { _rjem_realloc(object as _, size) } else { _rjem_rallocx(object as _, size, flags) }) as *mut u8
    }
    unsafe fn dealloc(&self, object: *mut u8, layout: Layout) {
        _rjem_sdallocx(object as _, layout.size(), flags(&layout))
    }
}

#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

#[repr(align(4096))]
struct Page(#[allow(dead_code)] [u8; 8192]);

#[inline(never)]
fn hold_small() -> Vec<u8> { black_box(vec![1; 1024]) }
#[inline(never)]
fn hold_zeroed() -> Vec<u8> { black_box(vec![0; 8192]) }
#[inline(never)]
fn hold_aligned() -> Box<Page> { black_box(Box::new(Page([1; 8192]))) }
#[inline(never)]
fn hold_new() -> Box<[u8; 8192]> { black_box(Box::new([1; 8192])) }
#[inline(never)]
fn hold_grown() -> Vec<u8> {
    let mut all = Vec::with_capacity(64);
    while all.len() < 65536 { all.push(1); }
    black_box(all)
}

fn churn() {
    for i in 0.. {
        black_box(vec![1u8; 16 + i % 2000]);
        if i % 1000 == 0 { thread::sleep(Duration::from_millis(1)); }
    }
}

fn answer(word: &str) {
    println!("{word}");
    std::io::stdout().flush().unwrap();
    if stdin().lock().read_line(&mut String::new()).unwrap_or(0) == 0 { std::process::exit(0) }
}

fn main() {
    const EACH: usize = 8 << 20;
    thread::spawn(churn);
    thread::spawn(churn);
    answer("ready");
    let mut small: Vec<_> = Vec::with_capacity(EACH / 1024);
    small.extend((0..EACH / 1024).map(|_| Some(hold_small())));
    for _ in 0..EACH / 8192 { forget(hold_zeroed()); forget(hold_aligned()); forget(hold_new()); }
    for _ in 0..EACH / 65536 { forget(hold_grown()); }
    answer("holds");
    for one in small.iter_mut().step_by(2) { *one = None; }
    answer("freed");
    loop { thread::sleep(Duration::from_secs(1)); }
}
