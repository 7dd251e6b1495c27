// service.rs - a small service: requests over channels, worker threads, boxed closures, generic code, panics that are caught.
// SPDX-License-Identifier: Apache-2.0
use std::collections::{BTreeMap, HashMap};
use std::panic;
use std::sync::mpsc;
use std::thread;

trait Handler: Send {
    fn handle(&self, text: &str) -> Vec<String>;
}

struct Split;
impl Handler for Split {
    fn handle(&self, text: &str) -> Vec<String> {
        text.split(' ').map(|word| format!("{}-{}", word, word.len())).collect()
    }
}

struct Count<T: Handler>(T);
impl<T: Handler> Handler for Count<T> {
    fn handle(&self, text: &str) -> Vec<String> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for word in self.0.handle(text) {
            *counts.entry(word).or_insert(0) += 1;
        }
        let sorted: BTreeMap<_, _> = counts.into_iter().collect();
        sorted.into_iter().map(|(word, count)| format!("{word}:{count}")).collect()
    }
}

fn main() {
    panic::set_hook(Box::new(|_| {}));
    let threads: Vec<_> = (0..3)
        .map(|id| {
            let (sender, receiver) = mpsc::channel::<String>();
            let worker = thread::Builder::new().name(format!("worker-{id}")).spawn(move || {
                let handler: Box<dyn Handler> = Box::new(Count(Count(Split)));
                receiver.iter().map(|text| handler.handle(&text).len()).sum::<usize>()
            });
            for i in 0..200 {
                sender.send(format!("request {i} of {id} with some words and some words more")).unwrap();
                if i % 50 == 0 {
                    let result = panic::catch_unwind(|| {
                        let list: Vec<u8> = Vec::with_capacity(300);
                        assert!(list.len() > i, "{}", "no room ".repeat(10));
                    });
                    assert!(result.is_err());
                }
            }
            drop(sender);
            worker.unwrap()
        })
        .collect();
    for worker in threads {
        assert!(worker.join().unwrap() > 0);
    }
}
