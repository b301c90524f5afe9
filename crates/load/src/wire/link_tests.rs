use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use socket2::{SockAddr, SockRef};

use super::*;
use crate::wire::transport_rig::{Client, Server, deaf_port};

/// A path for a socket, and nothing there after the test.
struct SocketPath(PathBuf);

impl SocketPath {
    fn new(name: &str) -> Self {
        let file = format!("httpdyno-{}-{name}.sock", std::process::id());
        Self(std::env::temp_dir().join(file))
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint::Unix(self.0.clone())
    }
}

impl Drop for SocketPath {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0); // not every test binds it
    }
}

/// Send `ping`, be answered `pong`, and see the end.
fn plays(client: &mut Client) {
    client.secure().unwrap();
    client.send(b"ping").unwrap();
    assert_eq!(client.receive(4).unwrap(), b"pong");
    assert_eq!(client.link.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!((client.link.sent_bytes(), client.link.acknowledged_bytes()), (4, Some(4)));
    assert!(client.link.is_drained_by_short_read() && client.link.is_reusable());
    assert!(!client.link.wants_flush() && client.link.flush().unwrap());
    assert_eq!(client.link.resumption(), None);
}

fn answer<S: Read + Write>(mut stream: S) -> S {
    let mut room = [0; 4];
    stream.read_exact(&mut room).unwrap();
    assert_eq!(&room, b"ping");
    stream.write_all(b"pong").unwrap();
    stream
}

#[test]
fn a_plain_link_goes_over_tcp_to_the_end() {
    let server = Server::tcp(1, |stream| {
        assert_eq!(answer(stream).read(&mut [0; 1]).unwrap(), 0);
    });
    let mut client = Client::open(&server.endpoint(), None).unwrap();
    plays(&mut client);
    assert!(client.n_waits <= 3, "one to connect, one or two for the answer");
}

#[test]
fn a_plain_link_goes_over_ipv6() {
    let Ok(listener) = TcpListener::bind("[::1]:0") else { return }; // a machine without it
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || answer(listener.accept().unwrap().0));
    let endpoint = Endpoint::parse(&address.to_string(), "address").unwrap();
    let mut client = Client::open(&endpoint, None).unwrap();
    plays(&mut client);
    drop(server.join().unwrap());
    assert_eq!(client.read_once().unwrap(), 0);
}

#[test]
fn a_plain_link_goes_over_a_unix_socket() {
    let path = SocketPath::new("plain");
    let listener = UnixListener::bind(&path.0).unwrap();
    let server = std::thread::spawn(move || answer(listener.accept().unwrap().0));
    let mut client = Client::watch(Link::open(&path.endpoint(), None, 4096).unwrap()).unwrap();
    plays(&mut client);
    drop(server.join().unwrap());
    assert_eq!(client.read_once().unwrap(), 0);
}

#[test]
fn a_socket_is_nonblocking_and_not_inherited_and_sends_at_once() {
    let server = Server::tcp(1, |_| ());
    let client = Client::ready(&server.endpoint(), None).unwrap();
    let socket = SockRef::from(&client.link);
    assert!(socket.nonblocking().unwrap());
    assert!(socket.tcp_nodelay().unwrap());
    let info = format!("/proc/self/fdinfo/{}", socket.as_raw_fd());
    let info = std::fs::read_to_string(info).unwrap();
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
    let flags = libc::c_int::from_str_radix(flags.trim(), 8).unwrap();
    assert_ne!(flags & libc::O_CLOEXEC, 0);
}

#[test]
fn nobody_listening_is_told_with_the_kernels_number() {
    let (_held, address) = deaf_port();
    let refused =
        Client::open(&Endpoint::Tcp(address), None).and_then(|mut client| client.secure());
    assert_eq!(refused.unwrap_err().raw_os_error(), Some(libc::ECONNREFUSED));

    let path = SocketPath::new("gone");
    let missing = Link::open(&path.endpoint(), None, 0).unwrap_err();
    assert_eq!(missing.raw_os_error(), Some(libc::ENOENT));
    drop(UnixListener::bind(&path.0).unwrap());
    let refused = Link::open(&path.endpoint(), None, 0).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::ECONNREFUSED));
    assert!(!is_backlog_full(&refused));
}

#[test]
fn a_full_backlog_of_a_unix_socket_is_told_apart_and_can_be_tried_again() {
    let path = SocketPath::new("backlog");
    let listener = Socket::new(socket2::Domain::UNIX, Type::STREAM, None).unwrap();
    listener.bind(&SockAddr::unix(&path.0).unwrap()).unwrap();
    listener.listen(1).unwrap();
    let mut waiting = Vec::new();
    let full = loop {
        match Link::open(&path.endpoint(), None, 0) {
            Ok(link) => waiting.push(link),
            Err(error) => break error,
        }
        assert!(waiting.len() < 10, "the backlog has no end");
    };
    assert!(is_backlog_full(&full), "{full}");
    drop(listener.accept().unwrap());
    Link::open(&path.endpoint(), None, 0).unwrap();
}

#[test]
fn a_lingering_of_zero_ends_with_a_reset() {
    let server = Server::tcp(1, |mut stream| {
        stream.write_all(b"x").unwrap();
        let end = stream.read(&mut [0; 1]).unwrap_err();
        assert_eq!(end.kind(), ErrorKind::ConnectionReset);
    });
    let mut client = Client::ready(&server.endpoint(), None).unwrap();
    assert_eq!(client.receive(1).unwrap(), b"x");
    client.link.set_linger_zero().unwrap();
}

/// How many bytes a server gets rid of while the client reads nothing.
fn taken_unread(receive_buffer_bytes: usize) -> usize {
    let (report, reported) = std::sync::mpsc::channel();
    let (finish, finished) = std::sync::mpsc::channel();
    let server = Server::tcp(1, move |stream| {
        SockRef::from(&stream).set_send_buffer_size(8 * 1024).unwrap();
        stream.set_nonblocking(true).unwrap();
        report.send(write_until_stuck(&stream)).unwrap();
        finished.recv().unwrap();
    });
    let link = Link::open(&server.endpoint(), None, receive_buffer_bytes).unwrap();
    let mut client = Client::watch(link).unwrap();
    client.secure().unwrap();
    let count = reported.recv().unwrap();
    finish.send(()).unwrap();
    count
}

fn write_until_stuck(mut stream: &TcpStream) -> usize {
    let (mut count, mut stuck_since) = (0, Instant::now());
    while stuck_since.elapsed() < Duration::from_millis(300) {
        match stream.write(&[0; 1024]) {
            Ok(taken) => (count, stuck_since) = (count + taken, Instant::now()),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
    count
}

#[test]
fn a_small_receive_buffer_keeps_the_window_small() {
    // Each has in it what the server's own buffer takes, which the kernel makes 16 KiB, and what
    // the server sends to see whether there is room: where a busy machine lengthens the wait, that
    // is more, so the least of some tries counts.
    let smallest = (0..3).map(|_| taken_unread(2_048)).min();
    let (small, medium, usual) = (smallest.unwrap(), taken_unread(32_768), taken_unread(0));
    assert!(small < 16_384 + 4 * 2_048, "{small}");
    assert!((32_768..16_384 + 3 * 32_768).contains(&medium), "{medium}");
    assert!(medium < usual, "{medium} and {usual}");
}

#[test]
fn a_long_answer_goes_through_a_small_window() {
    let server = Server::tcp(1, |mut stream| stream.write_all(&vec![7; 300_000]).unwrap());
    let link = Link::open(&server.endpoint(), None, 2_048).unwrap();
    let mut client = Client::watch(link).unwrap();
    client.secure().unwrap();
    assert!(client.receive(300_000).unwrap().iter().all(|&byte| byte == 7));
    assert!(client.n_waits > 20, "{} waits", client.n_waits);
}
