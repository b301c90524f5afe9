//! Whole runs against small servers in this process.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc;
use std::time::Duration;

use super::*;
use crate::wire::deaf_port;
use crate::{Arm, Arrival, ErrorKind, LimitedBy, Request, Step, Users};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const NOT_FOUND: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy)]
enum Reply {
    Answer(&'static [u8]),
    AnswerAndClose(&'static [u8]),
    Close,
    Silence,
}

/// Serve for the rest of the test process: `reply` is asked with the number of the request on its
/// connection, from 0.
fn server(reply: impl Fn(usize) -> Reply + Send + Copy + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                for number in 0.. {
                    if !stream.read(&mut buffer).is_ok_and(|count| count > 0) {
                        return;
                    }
                    match reply(number) {
                        Reply::Answer(bytes) => stream.write_all(bytes).unwrap_or(()),
                        Reply::AnswerAndClose(bytes) => {
                            return stream.write_all(bytes).unwrap_or(());
                        }
                        Reply::Close => return,
                        Reply::Silence => {}
                    }
                }
            });
        }
    });
    address
}

pub(super) fn spec(addresses: &[SocketAddr], windows: &[Window]) -> LoadSpec {
    let arm = |address: &SocketAddr| Arm::new(address.to_string(), vec![Request::get("h", "/")]);
    LoadSpec {
        arms: addresses.iter().map(arm).collect(),
        windows: windows.to_vec(),
        connections: 3,
        requests_per_connection: 0,
        arrival: Arrival::Closed,
        users: Users::PLAIN,
        connections_per_s: 0.0,
        slow: None,
        timeout_s: 10.0,
        drain_s: 10.0,
        threads: 2,
        cpus: Vec::new(),
        seed: 0,
        spin_s: 0.0,
        n_traced: 0,
    }
}

pub(super) fn counted(n_requests: u64) -> Window {
    Window { arm: 0, lead_in_s: 0.0, measure_s: f64::INFINITY, n_requests, credit: None }
}

pub(super) fn timed(arm: usize, lead_in_s: f64, measure_s: f64) -> Window {
    Window { arm, lead_in_s, measure_s, n_requests: 0, credit: None }
}

pub(super) fn finished(run: &Run) -> Vec<Arc<WindowResult>> {
    assert!(run.wait(PATIENCE).unwrap());
    let results = run.results();
    for result in &results {
        conserves(result);
    }
    results
}

/// Nothing vanishes, wherever it is counted.
fn conserves(result: &WindowResult) {
    assert_eq!(result.offered, result.completed + result.errors.total(), "{result:?}");
    assert_eq!(result.series.completed.iter().sum::<u64>(), result.completed);
    assert_eq!(result.series.errors.iter().sum::<u64>(), result.errors.total());
    assert!(result.measured_offered <= result.offered);
    assert!(result.measured_completed <= result.completed);
    assert!(result.opened_ns <= result.measure_start_ns);
    assert!(result.measure_start_ns <= result.measure_end_ns);
    assert!(result.latency.count <= result.measured_offered);
}

pub(super) fn only(spec: &LoadSpec) -> Arc<WindowResult> {
    let results = finished(&Run::start(spec, None).unwrap());
    assert_eq!(results.len(), 1);
    Arc::clone(&results[0])
}

#[test]
fn a_counted_closed_loop_completes_just_that_many() {
    let result = only(&spec(&[server(|_| Reply::Answer(OK))], &[counted(1000)]));
    assert_eq!((result.offered, result.completed), (1000, 1000));
    assert!((1..=3).contains(&result.sockets.connects));
    assert_eq!((result.measured_offered, result.latency.count), (1000, 1000));
    assert_eq!(result.statuses, [(200, 1000)].into());
    assert_eq!(result.sockets.bytes_received, 1000 * OK.len() as u64);
    assert_eq!(result.lateness.count, 0);
    assert!(result.evidence.busy_connections > 0.0 && result.client_cpu_s > 0.0);
}

#[test]
fn an_open_loop_offers_what_the_rate_says_lead_in_included() {
    let mut spec = spec(&[server(|_| Reply::Answer(OK))], &[timed(0, 0.1, 0.2)]);
    spec.arrival = Arrival::constant(500.0);
    let result = only(&spec);
    assert_eq!((result.offered, result.measured_offered), (150, 100));
    assert_eq!(result.completed + result.errors.of(ErrorKind::Unsent), 150);
    assert_eq!(result.lateness.count, result.latency.count);
}

#[test]
fn a_counted_open_loop_sends_each_of_them() {
    let mut spec = spec(&[server(|_| Reply::Answer(OK))], &[counted(101)]);
    spec.arrival = Arrival::constant(2000.0);
    spec.spin_s = 0.0001;
    let result = only(&spec);
    assert_eq!((result.offered, result.completed), (101, 101));
}

#[test]
fn windows_alternate_between_arms_without_reconnecting() {
    let addresses = [server(|_| Reply::Answer(OK)), server(|_| Reply::Answer(OK))];
    let windows: Vec<_> = (0..6).map(|index| Window { arm: index % 2, ..counted(200) }).collect();
    let (edges_in, edges) = mpsc::channel();
    let observer: Observer = Box::new(move |window, is_opening| {
        edges_in.send((window, is_opening, sys::monotonic_ns())).unwrap();
        ControlFlow::Continue(())
    });
    let results = finished(&Run::start(&spec(&addresses, &windows), Some(observer)).unwrap());
    for arm in [0, 1] {
        let connects: u64 = results.iter().skip(arm).step_by(2).map(|r| r.sockets.connects).sum();
        // One thread may have sent all before the other woke up.
        assert!((1..=3).contains(&connects), "{connects} connections to arm {arm}");
    }
    let edges: Vec<_> = edges.iter().collect();
    for (result, pair) in results.iter().zip(edges.chunks(2)) {
        let &[(opening, true, before_ns), (closing, false, after_ns)] = pair else { panic!() };
        assert_eq!((opening, closing), (result.index, result.index));
        assert!(before_ns <= result.opened_ns && result.closed_ns <= after_ns);
        assert_eq!((result.completed, result.errors.total()), (200, 0));
        assert_eq!(result.arm, result.index % 2);
    }
}

#[test]
fn without_keep_alive_each_request_has_its_own_connection() {
    let mut spec = spec(&[server(|_| Reply::AnswerAndClose(OK))], &[counted(50)]);
    spec.requests_per_connection = 1;
    let result = only(&spec);
    assert_eq!((result.completed, result.sockets.connects), (50, 50));
}

#[test]
fn an_answer_of_another_status_is_not_completed() {
    let result = only(&spec(&[server(|_| Reply::Answer(NOT_FOUND))], &[counted(10)]));
    assert_eq!((result.completed, result.errors.of(ErrorKind::WrongStatus)), (0, 10));
    assert_eq!(result.statuses, [(404, 10)].into());
    assert_eq!((result.measured_errors, result.latency.count), (10, 0));
    assert!(result.sockets.connects <= 3, "a wrong status costs no connection");
}

#[test]
fn patience_ends_in_the_latency_distribution() {
    let mut spec = spec(&[server(|_| Reply::Silence)], &[counted(6)]);
    spec.timeout_s = 0.05;
    let result = only(&spec);
    assert_eq!(result.errors.of(ErrorKind::Timeout), 6);
    assert_eq!((result.latency.count, result.service_time.count), (6, 6));
    assert!(result.latency.max_ns >= 50_000_000);
}

#[test]
fn in_an_open_loop_waiting_for_a_connection_counts_against_the_patience() {
    let mut spec = spec(&[server(|_| Reply::Silence)], &[timed(0, 0.0, 0.3)]);
    (spec.arrival, spec.timeout_s) = (Arrival::constant(100.0), 0.1);
    let result = only(&spec);
    assert_eq!((result.offered, result.completed), (30, 0));
    let (timeouts, unsent) =
        (result.errors.of(ErrorKind::Timeout), result.errors.of(ErrorKind::Unsent));
    assert_eq!(timeouts + unsent, 30);
    assert!(timeouts >= 18, "{result:?}");
    assert_eq!(result.latency.count, 30);
    // Where nothing right came nobody is named.
    assert_eq!(result.limited_by, LimitedBy::Nobody, "{result:?}");
}

#[test]
fn a_dead_server_is_no_busy_loop() {
    let (_held, closed) = deaf_port();
    let result = only(&spec(&[closed], &[timed(0, 0.0, 0.2)]));
    assert_eq!(result.errors.of(ErrorKind::Refused), result.offered);
    // Three connections: at 0, 1, 3, 7, ... 127 ms.
    assert!((3..=24).contains(&result.offered), "{}", result.offered);
}

#[test]
fn what_is_in_flight_when_the_run_is_stopped_is_unfinished() {
    let (opened_in, opened) = mpsc::channel();
    let address = server(|_| Reply::Silence);
    let windows = [timed(0, 0.0, 3600.0), timed(0, 0.0, 1.0)];
    let observer: Observer = Box::new(move |window, is_opening| {
        opened_in.send((window, is_opening)).unwrap();
        ControlFlow::Continue(())
    });
    let run = Run::start(&spec(&[address], &windows), Some(observer)).unwrap();
    assert_eq!(opened.recv().unwrap(), (0, true));
    assert!(!run.wait(Duration::from_millis(50)).unwrap());
    run.stop();
    run.stop();
    let results = finished(&run);
    assert_eq!(results.len(), 1);
    assert_eq!(results[0].errors.of(ErrorKind::Unfinished), results[0].offered);
    assert!(results[0].offered <= 3);
    assert_eq!(opened.iter().collect::<Vec<_>>(), [(0, false)]);
}

#[test]
fn the_drain_is_bounded() {
    let mut spec = spec(&[server(|_| Reply::Silence)], &[timed(0, 0.0, 0.2)]);
    spec.drain_s = 0.05;
    let result = only(&spec);
    assert!((1..=3).contains(&result.offered));
    assert_eq!(result.errors.of(ErrorKind::Unfinished), result.offered);
}

#[test]
fn an_idle_connection_that_the_server_closed_is_reopened_without_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (closed_in, closed) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            stream.write_all(OK).unwrap();
            drop(stream);
            closed_in.send(()).unwrap_or(());
        }
    });
    let observer: Observer = Box::new(move |_, is_opening| {
        if !is_opening {
            closed.recv_timeout(PATIENCE).unwrap();
        }
        ControlFlow::Continue(())
    });
    let mut spec = spec(&[address], &[counted(1); 5]);
    (spec.connections, spec.arrival) = (1, Arrival::constant(100.0));
    let results = finished(&Run::start(&spec, Some(observer)).unwrap());
    assert_eq!(results.len(), 5);
    for result in results {
        assert_eq!((result.completed, result.sockets.connects), (1, 1), "{result:?}");
        assert_eq!(result.evidence.retries.to_bits(), 0);
    }
}

#[test]
fn a_server_that_takes_a_request_and_closes_is_an_error_and_no_stale_connection() {
    let second_closes = |number| if number == 0 { Reply::Answer(OK) } else { Reply::Close };
    let result = only(&spec(&[server(second_closes)], &[counted(40)]));
    assert_eq!(result.evidence.retries.to_bits(), 0);
    assert_eq!(result.completed + result.errors.of(ErrorKind::Reset), 40);
    assert!(result.errors.of(ErrorKind::Reset) >= 18, "{result:?}");
}

#[test]
fn bytes_that_nobody_asked_for_cost_the_connection_and_not_the_answer() {
    let surplus = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more";
    let result = only(&spec(&[server(|_| Reply::Answer(surplus))], &[counted(30)]));
    assert_eq!((result.completed, result.errors.total()), (30, 0));
    assert!(result.evidence.surplus_answers > 0.0);
}

#[test]
fn an_observer_that_breaks_ends_the_run() {
    let address = server(|_| Reply::Answer(OK));
    let windows = [timed(0, 0.0, 0.01), timed(0, 0.0, 0.01), timed(0, 0.0, 0.01)];
    for (break_at, n_results) in [((0, true), 0), ((0, false), 1), ((1, true), 1)] {
        let observer: Observer = Box::new(move |window, is_opening| {
            if (window, is_opening) == break_at {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        let run = Run::start(&spec(&[address], &windows), Some(observer)).unwrap();
        assert_eq!(finished(&run).len(), n_results);
    }
}

#[test]
fn a_cpu_that_is_not_there_is_an_error_of_the_run() {
    let mut spec = spec(&[server(|_| Reply::Answer(OK))], &[timed(0, 0.0, 0.01)]);
    spec.cpus = vec![1023];
    let run = Run::start(&spec, None).unwrap();
    let error = run.wait(PATIENCE).unwrap_err().to_string();
    assert!(error.starts_with("sched_setaffinity"), "{error}");
}

#[test]
fn every_request_of_an_arm_is_sent_by_however_many_threads() {
    for arrival in [Arrival::Closed, Arrival::constant(2000.0)] {
        let mut spec = spec(&[server(|_| Reply::Answer(OK))], &[counted(120)]);
        let long = Request::get("h", "/a-target-of-40-bytes-aaaaaaaaaaaaaaaaaaaa");
        spec.arms[0].requests.push(long);
        spec.arms[0].steps.push(Step::request(1));
        (spec.arrival, spec.connections) = (arrival.clone(), 2);
        let result = only(&spec);
        let short_bytes = 28 * 120;
        let extra_bytes = result.sockets.bytes_sent - short_bytes;
        assert!((58 * 39..=62 * 39).contains(&extra_bytes), "{extra_bytes} of {arrival:?}");
    }
}
