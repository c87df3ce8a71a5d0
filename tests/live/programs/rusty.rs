// SPDX-License-Identifier: Apache-2.0
//! Generics, closures, trait objects and a thread; the same promises as zoo.h.
use std::hint::black_box;
use std::time::{Duration, Instant};

#[inline(never)]
fn spin(n: u32) {
    for i in 0..n {
        black_box(i);
    }
}

trait Work {
    fn work(&self) -> u32;
}

struct Burner<T>(T);

impl<T: Copy + Into<u64>> Work for Burner<T> {
    #[inline(never)]
    fn work(&self) -> u32 {
        spin(black_box(400_000));
        black_box(self.0.into() as u32)
    }
}

#[inline(never)]
fn call_dyn(work: &dyn Work) -> u32 {
    black_box(work.work())
}

#[inline(never)]
fn apply<F: Fn(u32) -> u32>(f: F) -> u32 {
    black_box(f(3))
}

#[inline(never)]
fn with_closure() -> u32 {
    black_box(apply(
        #[inline(never)]
        |x| {
            spin(black_box(400_000));
            black_box(x + 1)
        },
    ))
}

#[inline(never)]
fn run_until(end: Instant) {
    while Instant::now() < end {
        black_box(call_dyn(black_box(&Burner(1u32))));
        black_box(with_closure());
    }
}

fn main() {
    let seconds: f64 = std::env::args().nth(1).and_then(|s| s.parse().ok()).unwrap_or(1.0);
    println!("STACK *spin *Burner<T>*Work>::work *call_dyn *run_until *main ...");
    println!("STACK *spin *with_closure::*closure* *apply *with_closure *run_until *main ...");
    println!("STACK *spin *Burner<T>*Work>::work *call_dyn *run_until *in_thread ...");
    println!("STACK *spin *with_closure::*closure* *apply *with_closure *run_until *in_thread ...");
    println!("MAY ?VDSO ?LIBC ?*::now *run_until *main|*in_thread ...");
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    #[inline(never)]
    fn in_thread(end: Instant) {
        run_until(end);
        black_box(());
    }
    let thread = std::thread::spawn(move || in_thread(end));
    run_until(end);
    thread.join().unwrap();
}
