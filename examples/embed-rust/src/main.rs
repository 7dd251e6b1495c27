// main.rs - a Rust service on tikv-jemallocator, with the agent preloaded or linked.
//
//     cargo build --release
//     _RJEM_MALLOC_CONF=prof:true LD_PRELOAD=libcairn.so.1 target/release/embed 60
// SPDX-License-Identifier: Apache-2.0
use std::collections::HashMap;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

#[cfg(feature = "linked")]
mod cairn {
    use std::os::raw::{c_char, c_void};
    extern "C" {
        fn cairn_start(options: *const c_void, error: *mut c_char, size: usize) -> bool;
    }
    pub fn start() -> Result<(), String> {
        let mut error = [0u8; 256];
        // No options: the configuration comes from CAIRN_CONF and CAIRN_CONFIG.
        if unsafe { cairn_start(std::ptr::null(), error.as_mut_ptr().cast(), error.len()) } {
            return Ok(());
        }
        let length = error.iter().position(|&byte| byte == 0).unwrap_or(error.len());
        Err(String::from_utf8_lossy(&error[..length]).into_owned())
    }
}

// Kept out of line, so that it has a name of its own in the profile.
#[inline(never)]
fn remember(cache: &mut HashMap<u64, Vec<u8>>, round: u64) {
    cache.insert(round % 5000, vec![1; 2000]);
}

fn main() {
    #[cfg(feature = "linked")]
    if let Err(error) = cairn::start() {
        eprintln!("no heap profiling: {error}");
    }
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(60);
    let (start, mut cache, mut round) = (Instant::now(), HashMap::new(), 0);
    while start.elapsed() < Duration::from_secs(seconds) {
        for _ in 0..100 {
            remember(&mut cache, round);
            round += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
