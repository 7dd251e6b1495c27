// hold.rs - keeps small boxes under two functions.
#[inline(never)]
fn inner_hold(kept: &mut Vec<Vec<u8>>) {
    kept.push(vec![1; 1000]);
}

#[inline(never)]
fn outer_hold(kept: &mut Vec<Vec<u8>>) {
    for _ in 0..20000 {
        inner_hold(kept);
    }
}

fn main() {
    let mut kept = Vec::new();
    outer_hold(&mut kept);
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    println!("{}", kept.len());
}
