//! A request costs no allocation: ten times the requests allocate no more.
#![allow(unsafe_code, reason = "a global allocator that counts")]
#![allow(clippy::unwrap_used, reason = "a test may panic, its setup too")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use httpdyno_load::{Arm, Arrival, LoadSpec, Request, Run, Users, Window};

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
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
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

fn allocations_of(address: SocketAddr, n_requests: u64, rate_per_s: f64) -> u64 {
    let requests = vec![Request::get("h", "/")];
    let arrival = if rate_per_s > 0.0 { Arrival::constant(rate_per_s) } else { Arrival::Closed };
    let spec = LoadSpec {
        arms: vec![Arm::new(address.to_string(), requests)],
        windows: vec![Window { arm: 0, lead_in_s: 0.0, measure_s: 60.0, n_requests }],
        connections: 4,
        requests_per_connection: 0,
        arrival,
        users: Users::PLAIN,
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
    assert_eq!(run.results()[0].completed, n_requests);
    count
}

/// What starting threads and giving out results may differ by.
const EDGES: u64 = 50;

#[test]
fn a_closed_loop_allocates_nothing_for_a_request() {
    let _turn = TURN.lock();
    let address = server();
    let few = allocations_of(address, 1_000, 0.0);
    let many = allocations_of(address, 10_000, 0.0);
    assert!(many < few + EDGES, "{few} allocations for 1,000 requests, {many} for 10,000");
}

#[test]
fn an_open_loop_allocates_nothing_for_a_request() {
    let _turn = TURN.lock();
    let address = server();
    let few = allocations_of(address, 1_000, 10_000.0);
    let many = allocations_of(address, 10_000, 10_000.0);
    assert!(many < few + EDGES, "{few} allocations for 1,000 requests, {many} for 10,000");
}
