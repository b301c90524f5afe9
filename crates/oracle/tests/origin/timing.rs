//! Service times, queues and stalls, judged by the log and by a client's clock.
//!
//! Nothing here asserts that the machine is fast: limits from above are a second wide.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use httpdyno_oracle::{Log, Oracle, OracleConfig, PeriodicStall, Service, monotonic_ns};

const MS_NS: u64 = 1_000_000;
const SLACK: Duration = Duration::from_secs(1);

fn connect(addr: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(addr).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

fn ask(stream: &mut TcpStream, path: &str) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
}

fn answer(stream: &mut TcpStream) -> String {
    let mut bytes = vec![0; 4096];
    let got = stream.read(&mut bytes).unwrap();
    bytes.truncate(got);
    String::from_utf8(bytes).unwrap()
}

fn served_ns(log: &Log) -> Vec<u64> {
    log.arrivals.iter().map(|arrival| arrival.answered_ns.unwrap() - arrival.at_ns).collect()
}

#[test]
fn an_answer_takes_its_service_time_and_the_log_says_when() {
    let oracle = Oracle::start(OracleConfig::default()).unwrap();
    let mut stream = connect(oracle.addr());
    let before_ns = monotonic_ns();
    for _ in 0..5 {
        ask(&mut stream, "/fixed/20ms");
        answer(&mut stream);
    }
    let after_ns = monotonic_ns();
    let log = oracle.log();
    assert!(
        log.arrivals.iter().all(|a| before_ns <= a.at_ns && a.answered_ns.unwrap() <= after_ns)
    );
    assert!(log.arrivals.windows(2).all(|pair| pair[0].answered_ns.unwrap() <= pair[1].at_ns));
    for ns in served_ns(&log) {
        assert!(ns >= 20 * MS_NS && ns < 20 * MS_NS + SLACK.as_nanos() as u64, "{ns}");
    }
}

#[test]
fn requests_are_served_at_once_without_workers_and_in_turn_with_them() {
    // Eight requests of 20 ms each: all together, or four rounds of two.
    for (workers, rounds) in [(None, 1), (NonZeroUsize::new(2), 4)] {
        let service = Service::parse("fixed:20ms").unwrap();
        let config = OracleConfig { workers, service, ..OracleConfig::default() };
        let oracle = Oracle::start(config).unwrap();
        let mut streams: Vec<_> = (0..8).map(|_| connect(oracle.addr())).collect();
        let start = Instant::now();
        for stream in &mut streams {
            ask(stream, "/");
        }
        for stream in &mut streams {
            answer(stream);
        }
        let took = start.elapsed();
        let least = Duration::from_millis(20) * rounds;
        assert!(took >= least && took < least + SLACK, "{took:?} with {workers:?}");
        let log = oracle.log();
        if rounds == 1 {
            assert!(served_ns(&log).iter().all(|ns| *ns >= 20 * MS_NS));
        } else {
            let mut ends: Vec<u64> = log.arrivals.iter().map(|a| a.answered_ns.unwrap()).collect();
            ends.sort_unstable();
            // Never more than two answers within any 20 ms that the server could choose freely.
            for (index, end) in ends.iter().enumerate() {
                let least_ns = 20 * MS_NS * (index as u64 / 2 + 1);
                assert!(end - log.arrivals[0].at_ns >= least_ns, "answer {index}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_service_times() {
    let served = || {
        let service = Service::parse("bimodal:1ms:30ms:0.3").unwrap();
        let config = OracleConfig { service, seed: 9, ..OracleConfig::default() };
        let oracle = Oracle::start(config).unwrap();
        let mut stream = connect(oracle.addr());
        for _ in 0..20 {
            ask(&mut stream, "/");
            answer(&mut stream);
        }
        served_ns(&oracle.log()).iter().map(|ns| *ns >= 30 * MS_NS).collect::<Vec<_>>()
    };
    // A busy machine may make a short one look long, never a long one short. Without a seed, one of
    // ten pairs would be alike in one case of 5,000.
    let mut tries = Vec::new();
    while tries.len() < 10 {
        let both = (served(), served());
        if both.0 == both.1 {
            assert!(both.0.contains(&true) && both.0.contains(&false));
            return;
        }
        tries.push(both);
    }
    panic!("never the same: {tries:?}");
}

#[test]
fn a_stall_freezes_everything_and_a_hold_only_the_answers() {
    let oracle = Oracle::start(OracleConfig::default()).unwrap();
    let mut stream = connect(oracle.addr());
    ask(&mut stream, "/first");
    answer(&mut stream);
    let pause = Duration::from_millis(150);

    let stalled_ns = monotonic_ns();
    oracle.stall(pause);
    ask(&mut stream, "/stalled");
    answer(&mut stream);
    let end_ns = stalled_ns + pause.as_nanos() as u64;
    let log = oracle.log();
    assert!(log.arrivals[1].at_ns >= end_ns, "stamped when it was read, after the stall");
    assert_eq!(log.stalls_ns.len(), 1);
    assert!(log.stalls_ns[0].0 >= stalled_ns && log.stalls_ns[0].1 >= end_ns);

    let held_ns = monotonic_ns();
    oracle.hold(pause);
    ask(&mut stream, "/held");
    let end_ns = held_ns + pause.as_nanos() as u64;
    answer(&mut stream);
    let held = &oracle.log().arrivals[2];
    assert!(held.answered_ns.unwrap() >= end_ns);
    assert!(held.at_ns < held.answered_ns.unwrap() - 50 * MS_NS, "stamped as it came");
}

#[test]
fn stalls_can_be_asked_for_by_path() {
    let oracle = Oracle::start(OracleConfig::default()).unwrap();
    let mut stream = connect(oracle.addr());
    for path in ["/oracle/stall/100ms", "/oracle/hold/100ms"] {
        let start = Instant::now();
        ask(&mut stream, path);
        assert!(answer(&mut stream).contains("until_ns"));
        ask(&mut stream, "/");
        answer(&mut stream);
        assert!(start.elapsed() >= Duration::from_millis(100), "{path}");
    }
    let start = Instant::now();
    ask(&mut stream, "/oracle/stall-accept/100ms");
    answer(&mut stream);
    let mut other = connect(oracle.addr());
    ask(&mut other, "/");
    answer(&mut other);
    assert!(start.elapsed() >= Duration::from_millis(100), "{:?}", start.elapsed());
    assert_eq!((oracle.stats().requests, oracle.stats().control), (3, 3));
}

#[test]
fn periodic_stalls_come_by_themselves() {
    let period = Duration::from_millis(60);
    let stall_every = Some(PeriodicStall { period, duration: Duration::from_millis(20) });
    let oracle = Oracle::start(OracleConfig { stall_every, ..OracleConfig::default() }).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while oracle.log().stalls_ns.len() < 3 {
        assert!(Instant::now() < deadline, "three stalls never came");
        std::thread::yield_now();
    }
    let stalls = oracle.log().stalls_ns;
    // Late waking shortens a stall: its end is by the plan, its length is not asserted.
    assert!(stalls.windows(2).all(|pair| pair[1].0 - pair[0].1 <= SLACK.as_nanos() as u64));
    assert!(stalls.iter().all(|(from, until)| until > from));
}

#[test]
fn a_server_that_does_not_accept_serves_nobody() {
    let config = OracleConfig { accepts: false, backlog: Some(1), ..OracleConfig::default() };
    let oracle = Oracle::start(config).unwrap();
    let mut stream = TcpStream::connect(oracle.addr()).unwrap();
    ask(&mut stream, "/");
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert!(stream.read(&mut [0; 1]).is_err());
    assert_eq!(oracle.stats().connections, 0);
}

#[test]
fn log_and_counts_can_be_read_over_http() {
    let oracle = Oracle::start(OracleConfig::default()).unwrap();
    let mut stream = connect(oracle.addr());
    ask(&mut stream, "/seen");
    answer(&mut stream);
    ask(&mut stream, "/oracle/log");
    let log = answer(&mut stream);
    assert!(log.ends_with(&oracle.log().to_json()), "{log}");
    assert!(log.contains("\"path\":\"/seen\",\"behaviour\":\"plain\""), "{log}");
    let later = monotonic_ns();
    ask(&mut stream, &format!("/oracle/log?since_ns={later}"));
    assert!(answer(&mut stream).contains("{\"arrivals\":[],"));
    ask(&mut stream, "/oracle/stats");
    assert!(answer(&mut stream).contains("\"requests\":1,\"control\":3,"));
}

#[test]
fn a_server_that_is_dropped_ends_its_connections_also_in_a_stall() {
    // A stall may begin while the server waits, or between an answer and the next wait.
    for _ in 0..100 {
        let oracle = Oracle::start(OracleConfig::default()).unwrap();
        let mut stream = connect(oracle.addr());
        ask(&mut stream, "/");
        answer(&mut stream);
        let addr = oracle.addr();
        oracle.stall(Duration::from_secs(1000));
        oracle.stop().unwrap();
        assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
        assert!(TcpStream::connect(addr).is_err());
    }
}
