//! The engine's cookie jar beside `cookie_store`: what an answer with a cookie and the next request
//! cost, as a ratio of pairs that alternate.
//!
//!     cargo run --release --manifest-path benches/jar/Cargo.toml
#![allow(dead_code, reason = "the engine uses the rest")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use cookie_store::CookieStore;
use url::Url;

#[path = "../../../crates/load/src/http/cookie_date.rs"]
mod cookie_date;
#[path = "../../../crates/load/src/http/jar.rs"]
mod jar;

const N_ROUNDS: usize = 41;
const N_EACH: u32 = 20_000;
const NOW_MS: u64 = 1_700_000_000_000;
const TARGET: &str = "/list?page=2";
const SET: [&str; 3] = [
    "session=0123456789abcdef0123456789abcdef; Path=/; HttpOnly; SameSite=Lax",
    "csrf=fedcba9876543210; Path=/; Max-Age=3600",
    "seen=42; Path=/list; Expires=Wed, 09 Jun 2100 10:18:14 GMT",
];

fn main() {
    let answers: Vec<&str> = SET.iter().copied().cycle().take(N_EACH as usize).collect();
    let url = Url::parse(&format!("http://site.test{TARGET}")).expect("it is one");
    for (what, sets) in [("each answer sets a cookie", true), ("no answer sets one", false)] {
        let (mut taken, mut ratios) = (Vec::new(), Vec::new());
        for _ in 0..N_ROUNDS {
            let (ours, theirs) = (of_jar(&answers, sets), of_store(&answers, &url, sets));
            taken.push((ours / N_EACH, theirs / N_EACH));
            ratios.push(ours.as_secs_f64() / theirs.as_secs_f64());
        }
        taken.sort();
        ratios.sort_by(f64::total_cmp);
        let middle = N_ROUNDS / 2;
        println!(
            "{what}: ours takes {:.3} of cookie_store's time (medians of {N_ROUNDS}: {:?} for a \
             request with its answer)",
            ratios[middle], taken[middle],
        );
    }
}

fn of_jar(answers: &[&str], sets: bool) -> Duration {
    let mut jar = jar::Jar::default();
    for each in SET {
        jar.take(each.as_bytes(), TARGET.as_bytes(), NOW_MS);
    }
    let mut line = Vec::with_capacity(512);
    let begun = Instant::now();
    for each in answers {
        if sets {
            jar.take(black_box(each.as_bytes()), TARGET.as_bytes(), NOW_MS);
        }
        line.clear();
        jar.write_header(black_box(TARGET.as_bytes()), false, &mut line);
        black_box(&line);
    }
    begun.elapsed()
}

fn of_store(answers: &[&str], url: &Url, sets: bool) -> Duration {
    let mut store = CookieStore::default();
    for each in SET {
        store.parse(each, url).expect("it is a cookie");
    }
    let mut line = String::with_capacity(512);
    let begun = Instant::now();
    for each in answers {
        if sets {
            let _ = black_box(store.parse(black_box(each), url));
        }
        line.clear();
        line.push_str("Cookie: ");
        for (name, value) in store.get_request_values(black_box(url)) {
            line.push_str(name);
            line.push('=');
            line.push_str(value);
            line.push_str("; ");
        }
        black_box(&line);
    }
    begun.elapsed()
}
