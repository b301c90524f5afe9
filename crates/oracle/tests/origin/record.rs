//! What the logs tell of arrivals, connections and requests, held against what a client did.

use std::io::Write;
use std::time::Duration;

use crate::client::{MS_NS, ask, connect, expect_answer, read_answer, start, wait_for, whole};
use httpdyno_oracle::{Arrival, Oracle, OracleConfig, body, monotonic_ns};

fn last(oracle: &Oracle) -> Arrival {
    oracle.log().arrivals.pop().unwrap()
}

#[test]
fn every_instant_of_a_request_lies_between_those_of_the_client() {
    let oracle = start();
    let mut instants = vec![monotonic_ns()];
    let mut stream = connect(oracle.addr());
    wait_for(|| oracle.stats().connections == 1);
    instants.push(monotonic_ns());
    stream.write_all(b"POST /drip/10/5/5ms HTTP/1.1\r\n").unwrap();
    // Long enough for the server to read it, however busy the machine.
    std::thread::sleep(Duration::from_millis(150));
    instants.push(monotonic_ns());
    stream.write_all(b"Content-Length: 3\r\n\r\nab").unwrap();
    std::thread::sleep(Duration::from_millis(20));
    instants.push(monotonic_ns());
    stream.write_all(b"c").unwrap();
    let (_, body) = read_answer(&mut stream);
    assert_eq!(body, b"0123456789");
    instants.push(monotonic_ns());

    let arrival = last(&oracle);
    let written_ns = arrival.first_written_ns.unwrap();
    let answered_ns = arrival.answered_ns.unwrap();
    let [before, connected, half, nearly, end] = instants[..] else { unreachable!() };
    assert!(before <= arrival.accepted_ns && arrival.accepted_ns <= connected);
    assert!(connected <= arrival.first_byte_ns && arrival.first_byte_ns <= half);
    assert!(nearly <= arrival.at_ns, "the last byte was sent after that");
    assert!(arrival.at_ns <= written_ns && written_ns <= answered_ns);
    assert!(answered_ns - arrival.at_ns >= 10 * MS_NS, "two pieces, each after a pause");
    assert!(answered_ns <= end);
    assert!(arrival.transfer_ns() >= 20 * MS_NS, "{}", arrival.transfer_ns());
    assert_eq!(arrival.bytes, (30 + 21 + 3) as u64);
    assert!(arrival.is_on_new_connection());

    ask(&mut stream, "GET", "/again");
    expect_answer(&mut stream, &whole());
    let again = last(&oracle);
    assert!(!again.is_on_new_connection() && again.accepted_ns == arrival.accepted_ns);
    assert_eq!((again.first_byte_ns, again.transfer_ns()), (again.at_ns, 0), "one read had it all");
    assert_eq!(again.first_written_ns, again.answered_ns, "one write had it all");
    assert!(again.first_byte_ns > answered_ns);
}

#[test]
fn the_stamps_of_requests_that_were_ready_together_are_their_own() {
    let oracle = start();
    let mut streams: Vec<_> = (0..32).map(|_| connect(oracle.addr())).collect();
    wait_for(|| oracle.stats().connections == 32);
    // All are there when the server looks again, so that one wait returns them all.
    oracle.stall(Duration::from_millis(100));
    let asked_ns = monotonic_ns();
    for stream in &mut streams {
        ask(stream, "GET", "/bytes/60000");
    }
    for stream in &mut streams {
        read_answer(stream);
    }
    let log = oracle.log();
    let stall_end_ns = log.stalls_ns[0].1;
    assert!(log.arrivals[0].at_ns >= stall_end_ns && stall_end_ns >= asked_ns);
    // Each was read after the answer before it was written, and its stamp says so.
    let pairs = log.arrivals.windows(2);
    assert!(pairs.clone().all(|pair| pair[1].at_ns > pair[0].answered_ns.unwrap()));
    assert_eq!(pairs.count(), 31);
}

#[test]
fn pipelined_requests_have_the_stamp_of_their_read_and_their_own_service() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    let request = "GET /fixed/20ms HTTP/1.1\r\n\r\n";
    stream.write_all(request.repeat(3).as_bytes()).unwrap();
    for _ in 0..3 {
        expect_answer(&mut stream, &whole());
    }
    let arrivals = oracle.log().arrivals;
    for (turn, arrival) in arrivals.iter().enumerate() {
        assert_eq!(arrival.bytes, request.len() as u64);
        let took_ns = arrival.answered_ns.unwrap() - arrival.at_ns;
        assert!(took_ns >= 20 * MS_NS * (turn as u64 + 1), "{turn}: {took_ns}");
    }
    assert_eq!(arrivals.len(), 3);
}

#[test]
fn a_slow_reader_is_seen_in_the_answer_and_nobody_else_is() {
    let send_buffer_bytes = Some(128 << 10);
    let oracle =
        Oracle::start(OracleConfig { send_buffer_bytes, ..OracleConfig::default() }).unwrap();
    let mut slow = connect(oracle.addr());
    // Far more than both buffers hold, however the kernel has sized the client's.
    let length = 16 << 20;
    ask(&mut slow, "GET", &format!("/bytes/{length}"));
    wait_for(|| oracle.stats().requests == 1);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(last(&oracle).answered_ns, None);
    let mut other = connect(oracle.addr());
    ask(&mut other, "GET", "/");
    expect_answer(&mut other, &whole());
    let resumed_ns = monotonic_ns();
    let (_, got) = read_answer(&mut slow);
    let end_ns = monotonic_ns();
    assert!(got == body(length), "the known content over its whole length");
    let arrivals = oracle.log().arrivals;
    let answered_ns = arrivals[0].answered_ns.unwrap();
    assert!(arrivals[0].first_written_ns.unwrap() < resumed_ns - 100 * MS_NS);
    assert!(resumed_ns < answered_ns && answered_ns < end_ns);
    assert!(arrivals[1].answered_ns.unwrap() < resumed_ns);
    // The last byte went out when the client had made room for it: near the end of its reading.
    assert!(answered_ns - resumed_ns > (end_ns - resumed_ns) / 2, "{answered_ns} of {end_ns}");
}

#[test]
fn a_slow_writer_is_seen_in_the_arrival() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    stream.write_all(b"POST / HTTP/1.1\r\nContent-Length: 5000\r\n\r\n").unwrap();
    for _ in 0..10 {
        std::thread::sleep(Duration::from_millis(5));
        stream.write_all(&[b'x'; 500]).unwrap();
    }
    expect_answer(&mut stream, &whole());
    let arrival = last(&oracle);
    // The client took 50 ms. The server's first look may come late, by a few of the ten pauses.
    assert!(arrival.transfer_ns() >= 20 * MS_NS, "{}", arrival.transfer_ns());
    assert_eq!(arrival.bytes, 41 + 5000);
}

#[test]
fn connections_are_counted_and_logged_as_they_come_and_go() {
    let config = OracleConfig { connection_log_capacity: 4, ..OracleConfig::default() };
    let oracle = Oracle::start(config).unwrap();
    let before_ns = monotonic_ns();
    let mut streams: Vec<_> = (0..5).map(|_| connect(oracle.addr())).collect();
    wait_for(|| oracle.connections().opened == 5);
    let after_ns = monotonic_ns();
    for path in ["/", "/a", "/oracle/stats"] {
        ask(&mut streams[1], "GET", path);
        read_answer(&mut streams[1]);
    }
    streams.remove(1);
    wait_for(|| oracle.connections().open == 4);
    streams.push(connect(oracle.addr()));
    wait_for(|| oracle.connections().opened == 6);
    let log = oracle.connections();
    assert_eq!((log.open, log.opened, log.most_open), (5, 6, 5));
    assert_eq!(log.connections.len(), 4, "as many as there is room for");
    assert!(log.connections.is_sorted_by_key(|connection| connection.accepted_ns));
    assert!(log.connections.iter().all(|c| (before_ns..=after_ns).contains(&c.accepted_ns)));
    let closed: Vec<_> = log.connections.iter().map(|c| c.closed_ns.is_some()).collect();
    assert_eq!(closed, [false, true, false, false]);
    assert!(log.connections[1].closed_ns.unwrap() >= after_ns);
    assert_eq!(log.connections[1].requests, 2, "those to the oracle itself do not count");

    ask(&mut streams[0], "GET", "/oracle/connections");
    let (_, json) = read_answer(&mut streams[0]);
    assert_eq!(String::from_utf8(json).unwrap(), oracle.connections().to_json());
    assert_eq!((oracle.stats().most_open, oracle.stats().open), (5, 5));
}

#[test]
fn requests_are_kept_whole_as_many_as_was_asked_for() {
    let oracle =
        Oracle::start(OracleConfig { keep_requests: 2, ..OracleConfig::default() }).unwrap();
    let mut stream = connect(oracle.addr());
    let head = "POST /x HTTP/1.1\r\nCookie: a=b; c=\"d\"\r\nContent-Length: 100000\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    std::thread::sleep(Duration::from_millis(10));
    stream.write_all(&body(100_000)).unwrap();
    read_answer(&mut stream);
    for path in ["/oracle/stats", "/second", "/third"] {
        ask(&mut stream, "GET", path);
        read_answer(&mut stream);
    }
    let kept = oracle.kept_requests();
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[0].head, head.as_bytes());
    assert_eq!(kept[0].field("cookie").unwrap(), "a=b; c=\"d\"");
    assert_eq!(kept[0].field("none"), None);
    assert!(kept[0].body == body(100_000) && kept[0].body_bytes == 100_000);
    assert_eq!((kept[1].connection, kept[1].request, kept[1].body_bytes), (0, 1, 0));
    assert!(kept[1].head.starts_with(b"GET /second "));
    ask(&mut stream, "GET", "/oracle/requests");
    let json = String::from_utf8(read_answer(&mut stream).1).unwrap();
    assert!(
        json.starts_with("{\"requests\":[{\"connection\":0,\"request\":0,\"body_bytes\":100000,")
    );
    assert!(json.contains("Cookie: a=b; c=\\\"d\\\"\\u000d\\u000a"), "{}", &json[..200]);
}

#[test]
fn the_log_as_json_tells_every_instant() {
    let oracle = start();
    let mut stream = connect(oracle.addr());
    ask(&mut stream, "GET", "/x");
    read_answer(&mut stream);
    let arrival = last(&oracle);
    let answered_ns = arrival.answered_ns.unwrap();
    let expected = format!(
        "{{\"arrivals\":[{{\"at_ns\":{},\"answered_ns\":{answered_ns},\"connection\":0,\
         \"request\":0,\"path\":\"/x\",\"behaviour\":\"plain\",\"accepted_ns\":{},\"is_new\":true,\
         \"first_byte_ns\":{},\"first_written_ns\":{answered_ns},\"bytes\":28}}],\"dropped\":0,\
         \"stalls_ns\":[]}}",
        arrival.at_ns, arrival.accepted_ns, arrival.at_ns
    );
    assert_eq!(oracle.log().to_json(), expected);
}
