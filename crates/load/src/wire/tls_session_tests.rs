use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use socket2::SockRef;

use super::*;
use crate::input::TlsVersions;
use crate::wire::{
    link::Link,
    transport_rig::{
        BOTH, Client, Server, TlsStream, client_of, connect, echo, part, pattern, server_and_client,
    },
};

#[test]
fn a_long_answer_is_whole_whatever_room_there_is() {
    for versions in BOTH {
        for (room, count) in
            [(64 * 1024, 1_000_000), (20_000, 300_000), (1_000, 100_000), (7, 40_000)]
        {
            let (config, tls) = server_and_client(versions);
            let body = pattern(count);
            let server = Server::tls(config, 1, move |stream| {
                stream.read_exact(&mut [0; 4]).unwrap();
                stream.write_all(&pattern(count)).unwrap();
                assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0);
            });
            let mut client = connect(&server, &client_of(&tls));
            client.room = room;
            client.send(b"ping").unwrap();
            assert!(client.receive(count).unwrap() == body, "{versions:?} {room}");
            assert!(client.link.is_reusable());
            client.link.send_close_notify();
        }
    }
}

/// Pass everything on to `server`, and its answers back byte by byte.
fn drip(server: &Server) -> Server {
    let address = server.address;
    Server::tcp(1, move |downstream| {
        let upstream = TcpStream::connect(address).unwrap();
        let (mut from, mut to) = (downstream.try_clone().unwrap(), upstream.try_clone().unwrap());
        let forth = std::thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
        for byte in io::BufReader::new(&upstream).bytes() {
            (&downstream).write_all(&[byte.unwrap()]).unwrap();
            // The reader shall see it alone, mostly.
            std::thread::sleep(Duration::from_micros(20));
        }
        downstream.shutdown(Shutdown::Write).unwrap();
        forth.join().unwrap();
    })
}

#[test]
fn answers_may_come_byte_by_byte() {
    for versions in BOTH {
        let (config, tls) = server_and_client(versions);
        let server = Server::tls(config, 1, |stream| echo(stream, &pattern(1_000)));
        let drip = drip(&server);
        let mut client = connect(&drip, &client_of(&tls));
        for _ in 0..2 {
            client.send(b"ping").unwrap();
            assert_eq!(client.receive(1_000).unwrap(), pattern(1_000));
        }
        assert!(client.n_waits > 100, "{} waits", client.n_waits);
        part(client);
    }
}

#[test]
fn a_long_request_is_whole_when_the_socket_takes_little() {
    const COUNT: usize = 1_500_000;
    for versions in BOTH {
        let (config, tls) = server_and_client(versions);
        let (open, gate) = std::sync::mpsc::channel();
        let server = Server::tls(config, 1, move |stream| {
            stream.conn.complete_io(&mut stream.sock).unwrap();
            SockRef::from(&stream.sock).set_recv_buffer_size(64 * 1024).unwrap();
            gate.recv().unwrap();
            let mut body = vec![0; COUNT];
            stream.read_exact(&mut body).unwrap();
            assert!(body == pattern(COUNT));
            echo(stream, b"");
        });
        let link = Link::open(&server.endpoint(), Some(&client_of(&tls)), 0).unwrap();
        SockRef::from(&link).set_send_buffer_size(2_048).unwrap();
        let mut client = Client::watch(link).unwrap();
        client.secure().unwrap();
        let (before, body, mut written) = (client.n_waits, pattern(COUNT), 0);
        let full = loop {
            match client.link.write(&body[written..]) {
                Ok(count) => written += count,
                Err(error) => break error,
            }
        };
        assert_eq!(full.kind(), ErrorKind::WouldBlock);
        assert!(client.link.wants_flush() && !client.link.is_reusable());
        assert!(!client.link.flush().unwrap(), "nobody reads");
        open.send(()).unwrap();
        client.send(&body[written..]).unwrap();
        assert!(!client.link.wants_flush());
        assert!(client.n_waits > before, "{}", client.n_waits);
        assert!(client.link.sent_bytes() > COUNT as u64);
        part(client);
    }
}

#[test]
fn tickets_on_an_idle_connection_are_no_bytes_of_an_answer() {
    let (config, tls) = server_and_client(TlsVersions::Only13);
    let server = Server::tls(config, 1, |stream| echo(stream, b"pong"));
    let mut client = connect(&server, &client_of(&tls));
    for _ in 0..2 {
        // The second time they have been read, and nothing new has come.
        if client.n_waits < 100 {
            client.wait();
            client.n_waits = 100;
        }
        let nothing = client.link.read(&mut [0; 4_096]).unwrap_err();
        assert_eq!(nothing.kind(), ErrorKind::WouldBlock);
        assert!(client.link.is_reusable());
    }
    client.send(b"ping").unwrap();
    assert_eq!(client.receive(4).unwrap(), b"pong");
    part(client);
}

#[test]
fn new_keys_are_taken_up_without_a_word() {
    let (config, tls) = server_and_client(TlsVersions::Only13);
    let server = Server::tls(config, 1, |stream| {
        for _ in 0..3 {
            stream.read_exact(&mut [0; 4]).unwrap();
            stream.write_all(b"pong").unwrap();
            stream.conn.refresh_traffic_keys().unwrap();
            stream.flush().unwrap();
        }
        echo(stream, b"");
    });
    let mut client = connect(&server, &client_of(&tls));
    for _ in 0..3 {
        client.send(b"ping").unwrap();
        assert_eq!(client.receive(4).unwrap(), b"pong");
    }
    part(client);
}

/// After an answer the server does this; returns the client, which has read the answer and has
/// had an event since.
fn answered_and_then(
    versions: TlsVersions,
    serve: impl Fn(&mut TlsStream) + Send + 'static,
) -> Client {
    let (config, tls) = server_and_client(versions);
    let server = Server::tls(config, 1, move |stream| {
        stream.read_exact(&mut [0; 4]).unwrap();
        serve(stream);
    });
    let mut client = connect(&server, &client_of(&tls));
    client.send(b"ping").unwrap();
    assert_eq!(client.receive(4).unwrap(), b"pong");
    drop(server); // it has done all it does
    client
}

#[test]
fn a_close_notify_ends_the_stream_and_a_plain_end_truncates_it() {
    for versions in BOTH {
        let mut client = answered_and_then(versions, |stream| {
            stream.write_all(b"pong").unwrap();
            stream.conn.send_close_notify();
            stream.flush().unwrap();
        });
        assert_eq!(client.read_once().unwrap(), 0);
        assert_eq!(client.read_once().unwrap(), 0, "and stays so");
        assert!(!client.link.is_reusable());

        let mut client = answered_and_then(versions, |stream| {
            stream.write_all(b"pong").unwrap();
        });
        assert_eq!(client.read_once().unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}

#[test]
fn a_close_notify_that_came_with_the_answer_is_known_before_the_next_request() {
    for versions in BOTH {
        let client = answered_and_then(versions, |stream| {
            stream.conn.writer().write_all(b"pong").unwrap();
            stream.conn.send_close_notify();
            stream.flush().unwrap();
        });
        assert!(!client.link.is_reusable());
        assert!(!client.link.is_drained_by_short_read(), "the end is to be read");
    }
}

#[test]
fn the_end_is_seen_although_only_tickets_came_before() {
    let (config, tls) = server_and_client(TlsVersions::Only13);
    let server = Server::tls(config, 1, |stream| {
        stream.conn.complete_io(&mut stream.sock).unwrap();
    });
    let mut client = connect(&server, &client_of(&tls));
    drop(server);
    // One event tells of both.
    std::thread::sleep(Duration::from_millis(50));
    let end = client.link.read(&mut [0; 4_096]).unwrap_err();
    assert_eq!(end.kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn a_surplus_inside_is_known() {
    for versions in BOTH {
        let (config, tls) = server_and_client(versions);
        let server = Server::tls(config, 1, |stream| echo(stream, b"pong and more"));
        let mut client = connect(&server, &client_of(&tls));
        client.room = 4;
        client.send(b"ping").unwrap();
        assert_eq!(client.receive(4).unwrap(), b"pong");
        assert!(!client.link.is_reusable());
        assert!(!client.link.is_drained_by_short_read());
        assert_eq!(client.receive(9).unwrap(), b" and more");
        assert!(client.link.is_reusable());
        part(client);
    }
}

#[test]
fn a_close_notify_of_ours_is_heard() {
    for versions in BOTH {
        let (config, tls) = server_and_client(versions);
        let server = Server::tls(config, 1, |stream| {
            assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0, "no truncation");
        });
        connect(&server, &client_of(&tls)).link.send_close_notify();
    }
}

#[test]
fn bytes_on_the_wire_are_counted_as_the_server_takes_them() {
    let (config, tls) = server_and_client(TlsVersions::Any);
    let server = Server::tls(config, 1, |stream| echo(stream, b"pong"));
    let mut client = connect(&server, &client_of(&tls));
    let before = client.link.sent_bytes();
    assert!(before > 100, "a hello and the end of a handshake");
    client.send(b"ping").unwrap();
    assert_eq!(client.receive(4).unwrap(), b"pong");
    // A header, the kind of content and a tag.
    assert_eq!(client.link.sent_bytes() - before, 5 + 4 + 1 + 16);
    assert_eq!(client.link.acknowledged_bytes(), Some(client.link.sent_bytes()));
    part(client);
}
