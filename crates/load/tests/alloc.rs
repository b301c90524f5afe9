//! A request costs no allocation: ten times the requests allocate no more.
#![allow(unsafe_code, reason = "a global allocator that counts")]
#![allow(clippy::unwrap_used, reason = "a test may panic, its setup too")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use httpdyno_load::{Arm, Arrival, LoadSpec, Request, Run, Step, Users, Window};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: hands everything on to the system's allocator, unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's contract is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The tests share the counter, so they run one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Answer every request on `stream`, without allocating.
fn serve(mut stream: TcpStream) {
    let answer = b"HTTP/1.1 200 OK\r\nSet-Cookie: sid=0123456789abcdef; Path=/\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
        // In two pieces, so that answers are cut inside a line.
        let (first, second) = answer.split_at(30);
        if stream.write_all(first).and_then(|()| stream.write_all(second)).is_err() {
            break;
        }
    }
}

fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// The simplest request, and what varies most: a weighted mix with cookies and texts.
fn plain(address: SocketAddr) -> (Arm, Users) {
    (Arm::new(address.to_string(), vec![Request::get("h", "/")]), Users::PLAIN)
}

fn varied(address: SocketAddr) -> (Arm, Users) {
    let request = |number: usize| Request {
        method: "POST".to_owned(),
        headers: vec![("Host".to_owned(), "h".to_owned()), ("X".to_owned(), "{user}".to_owned())],
        body: br#"{"n": {n}, "random": "{random}"}"#.to_vec(),
        ..Request::get("h", &format!("/{number}?{{n}}"))
    };
    let step = |request: usize| Step { weight: request as f64 + 1.0, ..Step::request(request) };
    let arm = Arm {
        steps: (0..10).map(step).collect(),
        ..Arm::new(address.to_string(), (0..10).map(request).collect())
    };
    (arm, Users { has_cookies: true, ..Users::PLAIN })
}

/// How often a run allocated, and how many intervals its result has: each of these has its own
/// distribution, which is given out as a list.
fn allocations_of((arm, users): (Arm, Users), n_requests: u64, arrival: Arrival) -> (u64, u64) {
    let spec = LoadSpec {
        arms: vec![arm],
        windows: vec![Window { arm: 0, lead_in_s: 0.0, measure_s: 60.0, n_requests, credit: None }],
        connections: 4,
        requests_per_connection: 0,
        arrival,
        users,
        connections_per_s: 0.0,
        slow: None,
        timeout_s: 30.0,
        drain_s: 30.0,
        threads: 1,
        cpus: Vec::new(),
        seed: 0,
        spin_s: 0.0,
        n_traced: 0,
    };
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let run = Run::start(&spec, None).unwrap();
    assert!(run.wait(Duration::from_secs(60)).unwrap());
    let count = ALLOCATIONS.load(Ordering::Relaxed) - before;
    let result = &run.results()[0];
    assert_eq!(result.completed, n_requests);
    (count, result.batches.offered.len() as u64)
}

/// What starting threads, first uses of buffers and giving out results may differ by.
const EDGES: u64 = 80;
/// A list for an interval may grow so often.
const PER_INTERVAL: u64 = 8;

/// Ten times the requests allocate no more, but for a longer result.
fn allocates_nothing_for_a_request(kind: fn(SocketAddr) -> (Arm, Users), arrival: &Arrival) {
    let _turn = TURN.lock();
    let address = server();
    let (few, _) = allocations_of(kind(address), 1_000, arrival.clone());
    let (many, n_intervals) = allocations_of(kind(address), 10_000, arrival.clone());
    let allowed = few + EDGES + PER_INTERVAL * n_intervals;
    assert!(allowed < 2_500, "a bound that 9,000 allocations cannot hide behind: {allowed}");
    assert!(many < allowed, "{few} allocations for 1,000 requests, {many} for 10,000");
}

#[test]
fn a_closed_loop_allocates_nothing_for_a_request() {
    allocates_nothing_for_a_request(plain, &Arrival::Closed);
}

#[test]
fn an_open_loop_allocates_nothing_for_a_request() {
    allocates_nothing_for_a_request(plain, &Arrival::constant(10_000.0));
}

#[test]
fn cookies_and_texts_that_vary_allocate_nothing_either() {
    allocates_nothing_for_a_request(varied, &Arrival::Closed);
}
