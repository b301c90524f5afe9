//! Ways in: IPv6, Unix sockets, delays before a connection is served, and bad receptions.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::client::{
    End, MS_NS, PATIENCE, ask, connect, expect_answer, read_answer, read_to_end, start,
};
use crate::client::{end_of_connecting, wait_for, whole};
use httpdyno_oracle::{Door, Oracle, OracleConfig, Place, Reception};

fn with_doors(doors: Vec<Door>) -> Oracle {
    Oracle::start(OracleConfig { doors, ..OracleConfig::default() }).unwrap()
}

fn tcp(oracle: &Oracle, door: usize) -> SocketAddr {
    match &oracle.doors()[door].place {
        Place::Tcp(addr) => *addr,
        Place::Unix(path) => panic!("{} is no address", path.display()),
    }
}

fn unix_path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("httpdyno-oracle-{}-{name}", std::process::id()))
}

#[test]
fn ipv6_is_listened_on_like_ipv4() {
    let listen = "[::1]:0".parse().unwrap();
    let oracle = Oracle::start(OracleConfig { listen, ..OracleConfig::default() }).unwrap();
    assert!(oracle.addr().is_ipv6() && oracle.addr().port() != 0);
    assert_eq!(oracle.doors()[0].place.to_string(), format!("[::1]:{}", oracle.addr().port()));
    crate::client::check(&oracle, ("GET", "/"), &whole(), End::Open);
}

#[test]
fn a_unix_socket_serves_as_tcp_does_and_is_taken_away_at_the_end() {
    let path = unix_path("serves");
    let oracle = with_doors(vec![Door::plain(Place::Unix(path.clone()))]);
    assert_eq!(oracle.doors()[1].place.to_string(), format!("unix:{}", path.display()));
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    for target in ["/", "/fixed/1ms", "/drip/12/4/1ms"] {
        ask(&mut stream, "GET", target);
        expect_answer(&mut stream, &whole());
    }
    // Far more than the socket holds.
    ask(&mut stream, "GET", "/bytes/5000000");
    assert!(read_answer(&mut stream).1 == httpdyno_oracle::body(5_000_000));
    ask(&mut stream, "GET", "/close");
    assert_eq!(read_to_end(&mut stream).1, End::Fin);
    // The client of a Unix socket is told of an end with bytes unread as of a reset.
    let mut stream = UnixStream::connect(&path).unwrap();
    ask(&mut stream, "GET", "/fault/reset-in-body");
    assert!(read_to_end(&mut stream).0.ends_with("012345"));

    let arrivals = oracle.log().arrivals;
    assert!(arrivals.iter().all(|a| a.first_byte_ns >= a.accepted_ns && a.accepted_ns > 0));
    assert!(oracle.connections().connections.iter().all(|connection| connection.door == 1));
    assert!(path.exists());
    oracle.stop().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_path_that_exists_and_an_address_of_the_network_are_refused() {
    let path = unix_path("exists");
    std::fs::write(&path, "somebody's").unwrap();
    let doors = vec![Door::plain(Place::Unix(path.clone()))];
    let error = Oracle::start(OracleConfig { doors, ..OracleConfig::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AddrInUse);
    assert_eq!(std::fs::read(&path).unwrap(), b"somebody's");
    std::fs::remove_file(&path).unwrap();
    let doors = vec![Door::plain(Place::Tcp("[::]:0".parse().unwrap()))];
    let error = Oracle::start(OracleConfig { doors, ..OracleConfig::default() }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn each_connection_is_logged_with_its_door() {
    let any = || Place::Tcp("127.0.0.1:0".parse().unwrap());
    let oracle = with_doors(vec![Door::plain(any()), Door::plain(any())]);
    for door in [2, 0, 1, 2] {
        let mut stream = connect(tcp(&oracle, door));
        ask(&mut stream, "GET", "/");
        expect_answer(&mut stream, &whole());
    }
    let doors: Vec<_> = oracle.connections().connections.iter().map(|c| c.door).collect();
    assert_eq!(doors, [2, 0, 1, 2]);
}

#[test]
fn an_accept_delay_is_before_the_first_byte_and_not_in_the_connect() {
    let accept_delay = Duration::from_millis(50);
    let oracle = Oracle::start(OracleConfig { accept_delay, ..OracleConfig::default() }).unwrap();
    let start = Instant::now();
    let mut stream = connect(oracle.addr());
    // What comes during the delay is not lost, and a client that leaves during it is no harm.
    ask(&mut stream, "GET", "/");
    drop(connect(oracle.addr()));
    expect_answer(&mut stream, &whole());
    assert!(start.elapsed() >= accept_delay);
    let arrival = oracle.log().arrivals.pop().unwrap();
    assert!(arrival.at_ns - arrival.accepted_ns >= 50 * MS_NS);
    // Once for a connection, not for a request.
    ask(&mut stream, "GET", "/");
    expect_answer(&mut stream, &whole());
    wait_for(|| oracle.stats().open == 1);
    assert_eq!((oracle.stats().requests, oracle.stats().abandoned), (2, 0));
}

#[test]
fn a_full_accept_queue_makes_connecting_wait_for_another_syn() {
    let oracle =
        Oracle::start(OracleConfig { backlog: Some(0), ..OracleConfig::default() }).unwrap();
    oracle.stall_accept(Duration::from_millis(300));
    // One waits in the queue; it is connected, whatever the server does.
    let start = Instant::now();
    let mut queued = connect(oracle.addr());
    assert!(start.elapsed() < Duration::from_millis(900), "{:?}", start.elapsed());
    let start = Instant::now();
    let mut dropped = connect(oracle.addr());
    // Its first SYN was dropped, and it sends the second one a second later.
    assert!(start.elapsed() >= Duration::from_millis(900), "{:?}", start.elapsed());
    for stream in [&mut queued, &mut dropped] {
        ask(stream, "GET", "/");
        expect_answer(stream, &whole());
    }
}

fn door_of(reception: Reception) -> Door {
    let place = Place::Tcp("127.0.0.1:0".parse().unwrap());
    Door { reception, ..Door::plain(place) }
}

#[test]
fn receptions_without_a_byte_from_the_client_are_as_they_say() {
    let receptions = [Reception::ResetAtAccept, Reception::FinAtAccept, Reception::HangAtAccept];
    let oracle = with_doors(receptions.map(door_of).to_vec());
    assert_eq!(end_of_connecting(tcp(&oracle, 1)), End::Reset);
    assert_eq!(end_of_connecting(tcp(&oracle, 2)), End::Fin);
    let mut stream = connect(tcp(&oracle, 3));
    ask(&mut stream, "GET", "/");
    stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock);
    // What nobody reads fills the buffers of both sides, and then there is no room.
    let mut flooding = connect(tcp(&oracle, 3));
    flooding.set_write_timeout(Some(Duration::from_millis(50))).unwrap();
    let blocked = flooding.write_all(&vec![b'x'; 64 << 20]).unwrap_err();
    assert_eq!(blocked.kind(), ErrorKind::WouldBlock);
    for reception in [Reception::ResetAtAccept, Reception::FinAtAccept] {
        assert_eq!(oracle.stats().received(reception), 1, "{reception:?}");
    }
    assert_eq!(oracle.stats().received(Reception::HangAtAccept), 2);
    drop(stream);
    wait_for(|| oracle.stats().open == 1);
    // The first door is as it should be, and none of this was a request.
    crate::client::check(&oracle, ("GET", "/"), &whole(), End::Open);
    assert_eq!(oracle.stats().requests, 2);
}

#[test]
fn receptions_at_the_first_bytes_wait_for_them() {
    for (reception, expected, end) in [
        (Reception::ResetInHandshake, &[][..], End::Reset),
        (Reception::FinInHandshake, &[], End::Fin),
        (Reception::TlsAlert, &[21, 3, 3, 0, 2, 2, 40], End::Fin),
        (Reception::TlsGarbage, b"this is not TLS\r\n", End::Fin),
    ] {
        let oracle = with_doors(vec![door_of(reception)]);
        let mut stream = connect(tcp(&oracle, 1));
        stream.set_read_timeout(Some(Duration::from_millis(30))).unwrap();
        let error = stream.read(&mut [0; 1]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock, "{reception:?} before any byte");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&[22, 3, 1]).unwrap();
        let (got, how) = read_to_end(&mut stream);
        assert_eq!((got.as_bytes(), how), (expected, end), "{reception:?}");
    }
}

#[test]
fn the_next_connections_are_received_as_they_are_told_and_no_more_of_them() {
    let oracle = start();
    let mut control = connect(oracle.addr());
    ask(&mut control, "GET", "/oracle/receive/fin-at-accept/2");
    assert_eq!(read_answer(&mut control).1, b"{\"reception\":\"fin-at-accept\"}");
    for _ in 0..2 {
        assert_eq!(read_to_end(&mut connect(oracle.addr())), (String::new(), End::Fin));
    }
    crate::client::check(&oracle, ("GET", "/"), &whole(), End::Open);

    oracle.receive(Reception::ResetAtAccept, None);
    for _ in 0..3 {
        assert_eq!(end_of_connecting(oracle.addr()), End::Reset);
    }
    oracle.receive(Reception::Usual, None);
    crate::client::check(&oracle, ("GET", "/"), &whole(), End::Open);
    let stats = oracle.stats();
    assert_eq!(stats.received(Reception::FinAtAccept), 2);
    assert_eq!(stats.received(Reception::ResetAtAccept), 3);
    assert_eq!(stats.received(Reception::Usual), 3);
}

#[test]
fn who_comes_back_to_a_server_that_ends_is_refused() {
    let oracle = start();
    let addr = oracle.addr();
    let mut streams: Vec<_> = (0..200).map(|_| connect(addr)).collect();
    wait_for(|| oracle.stats().open == 200);
    let returning = std::thread::spawn(move || {
        // The end of the first connection is the first sign of the server's.
        assert_eq!(read_to_end(&mut streams[0]), (String::new(), End::Fin));
        TcpStream::connect(addr).map(|_| ()).map_err(|error| error.kind())
    });
    oracle.stop().unwrap();
    assert_eq!(returning.join().unwrap(), Err(ErrorKind::ConnectionRefused));
}
