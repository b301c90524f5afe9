use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use rustls::server::NoServerSessionStorage;
use rustls::{ProtocolVersion, ServerConfig};
use socket2::SockRef;

use super::*;
use crate::input::{Tls, TlsVersions};
use crate::wire::{
    link::Link,
    tls::is_tls_failure,
    tls_reason,
    transport_rig::{
        Authority, BOTH, Client, Identity, Server, client_of, connect, echo, part,
        server_and_client, server_config, tls,
    },
};

#[test]
fn a_handshake_is_full_and_then_resumed() {
    for versions in BOTH {
        let (config, tls) = server_and_client(versions);
        let server = Server::tls(config, 3, |stream| echo(stream, b"pong"));
        let tls = client_of(&tls);
        for expected in [Handshake::Full, Handshake::Resumed, Handshake::Resumed] {
            let mut client = Client::open(&server.endpoint(), Some(&tls)).unwrap();
            assert_eq!(client.link.resumption(), None);
            client.secure().unwrap();
            assert_eq!(client.link.resumption(), Some(expected), "{versions:?}");
            client.send(b"ping").unwrap();
            assert_eq!(client.receive(4).unwrap(), b"pong");
            part(client);
        }
    }
}

#[test]
fn the_version_is_the_one_asked_for_and_a_name_is_told_but_no_address() {
    let authority = Authority::new("authority");
    let met = |versions, host: &str| {
        let (report, reported) = std::sync::mpsc::channel();
        let config = server_config(&authority.certify(host), None);
        let server = Server::tls(config, 1, move |stream| {
            stream.conn.complete_io(&mut stream.sock).unwrap();
            let name = stream.conn.server_name().map(str::to_owned);
            report.send((stream.conn.protocol_version().unwrap(), name)).unwrap();
            echo(stream, b"");
        });
        let tls = Tls { versions, ..tls(&authority, host) };
        part(connect(&server, &client_of(&tls)));
        reported.recv().unwrap()
    };
    let name = Some("localhost".to_owned());
    assert_eq!(met(TlsVersions::Any, "localhost"), (ProtocolVersion::TLSv1_3, name.clone()));
    assert_eq!(met(TlsVersions::Only12, "localhost"), (ProtocolVersion::TLSv1_2, name.clone()));
    assert_eq!(met(TlsVersions::Only13, "localhost"), (ProtocolVersion::TLSv1_3, name));
    assert_eq!(met(TlsVersions::Any, "127.0.0.1"), (ProtocolVersion::TLSv1_3, None));
}

#[test]
fn as_many_are_resumed_at_a_time_as_there_is_room_for() {
    const COUNT: usize = 12;
    let (config, tls) = server_and_client(TlsVersions::Only13);
    let (open, gate) = std::sync::mpsc::channel();
    let server = Server::tls(config, 2 * COUNT, move |stream| {
        gate.recv().unwrap();
        echo(stream, b"");
    });
    let tls = TlsClient::new(&tls, "tls").unwrap().for_thread(COUNT);
    for _ in 0..COUNT {
        open.send(()).unwrap();
        // It takes one ticket and brings two.
        part(connect(&server, &tls));
    }
    let begin = |_| {
        let mut client = Client::open(&server.endpoint(), Some(&tls)).unwrap();
        client.wait();
        assert!(!client.link.handshake().unwrap(), "its ticket is taken now");
        client
    };
    let clients: Vec<Client> = (0..COUNT).map(begin).collect();
    for mut client in clients {
        open.send(()).unwrap();
        client.secure().unwrap();
        assert_eq!(client.link.resumption(), Some(Handshake::Resumed));
        part(client);
    }
}

#[test]
fn nothing_is_resumed_unless_client_and_server_do() {
    for versions in BOTH {
        let all_full = |config: ServerConfig, tls: &TlsClient| {
            let server = Server::tls(config, 2, |stream| echo(stream, b""));
            for _ in 0..2 {
                let client = connect(&server, tls);
                assert_eq!(client.link.resumption(), Some(Handshake::Full), "{versions:?}");
                part(client);
            }
        };
        let (config, tls) = server_and_client(versions);
        all_full(config, &client_of(&Tls { resumes: false, ..tls }));
        let (mut config, tls) = server_and_client(versions);
        config.session_storage = Arc::new(NoServerSessionStorage {});
        all_full(config, &client_of(&tls));
    }
}

#[test]
fn a_client_shows_its_certificate_where_one_is_wanted() {
    let (servers, clients) = (Authority::new("servers"), Authority::new("clients"));
    let shows = |versions, identity: Option<Identity>| {
        let config = server_config(&servers.certify("localhost"), Some(&clients));
        let server = Server::tls(config, 1, |stream| {
            let mut room = [0; 4];
            if stream.read_exact(&mut room).is_ok() {
                stream.write_all(b"pong").unwrap();
            }
        });
        let mut tls = Tls { versions, ..tls(&servers, "localhost") };
        tls.identity_pem = identity
            .map(|identity| (identity.chain.into_bytes().into(), identity.key.into_bytes().into()));
        // With 1.3 the client is done before the server has seen its certificate.
        let mut client = Client::ready(&server.endpoint(), Some(&client_of(&tls)))?;
        let sent = client.send(b"ping");
        client.receive(4).and(sent)
    };
    for versions in BOTH {
        shows(versions, Some(clients.certify("me"))).unwrap();
        let wrong = Some(servers.certify("me"));
        for (shown, reason) in [(None, "wants_identity"), (wrong, "refused_identity")] {
            let error = shows(versions, shown).unwrap_err();
            assert!(is_tls_failure(&error), "{versions:?}: {error:?}");
            assert_eq!(tls_reason(&error).0, reason, "{versions:?}: {error:?}");
        }
    }
}

/// What a client makes of a server that does this with its hello.
fn hello_met_by(serve: impl Fn(&mut TcpStream) + Send + 'static) -> io::Error {
    let (_, tls) = server_and_client(TlsVersions::Any);
    let server = Server::tcp(1, move |mut stream| {
        assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
        serve(&mut stream);
    });
    Client::ready(&server.endpoint(), Some(&client_of(&tls))).map(drop).unwrap_err()
}

#[test]
fn what_is_wrong_in_a_handshake_is_a_failure_of_tls() {
    let say = |bytes: &'static [u8]| {
        let error = hello_met_by(move |stream| stream.write_all(bytes).unwrap());
        assert!(is_tls_failure(&error), "{error:?}");
        tls_reason(&error)
    };
    assert_eq!(say(&[21, 3, 3, 0, 2, 2, 40]), ("alert", "HandshakeFailure".to_owned()));
    assert_eq!(say(&[21, 3, 3, 0, 2, 2, 70]).0, "version");
    assert_eq!(say(&[21, 3, 3, 0, 2, 2, 112]).0, "unknown_name");
    assert_eq!(say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n").0, "no_tls");
    let garbage = say(&[22, 3, 3, 0, 8, 2, 0, 0, 4, 9, 9, 9, 9]);
    assert!(garbage.0 == "other" && garbage.1.contains("corrupt"), "{garbage:?}");
}

#[test]
fn a_server_that_speaks_something_else_on_top_is_a_failure_of_tls() {
    let (mut config, tls) = server_and_client(TlsVersions::Only12);
    config.alpn_protocols = vec![b"h2".to_vec()];
    let server = Server::tls(config, 1, |stream| {
        assert!(stream.conn.complete_io(&mut stream.sock).is_err());
    });
    let error = Client::ready(&server.endpoint(), Some(&client_of(&tls))).map(drop).unwrap_err();
    assert!(is_tls_failure(&error), "{error:?}");
    assert_eq!(tls_reason(&error).0, "http2", "{error:?}");
}

#[test]
fn a_server_hears_why_it_was_turned_away() {
    let (config, _) = server_and_client(TlsVersions::Any);
    let server = Server::tls(config, 1, |stream| {
        let error = stream.read(&mut [0; 1]).unwrap_err();
        assert!(format!("{error:?}").contains("AlertReceived(UnknownCA)"), "{error:?}");
    });
    let stranger = client_of(&tls(&Authority::new("another"), "localhost"));
    let error = Client::ready(&server.endpoint(), Some(&stranger)).map(drop).unwrap_err();
    assert!(is_tls_failure(&error), "{error:?}");
}

#[test]
fn the_end_of_the_connection_in_a_handshake_is_no_failure_of_tls() {
    for answer in [&b""[..], &[22, 3, 3, 0, 100, 2]] {
        let fin = hello_met_by(move |stream| {
            stream.write_all(answer).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            // Hold it open: what the client sees is the FIN alone.
            let _ = stream.read(&mut [0; 1]);
        });
        assert_eq!(fin.kind(), ErrorKind::UnexpectedEof, "{fin:?}");
        assert!(!is_tls_failure(&fin));
        let reset = hello_met_by(move |stream| {
            stream.write_all(answer).unwrap();
            SockRef::from(&*stream).set_linger(Some(Duration::ZERO)).unwrap();
        });
        assert_eq!(reset.raw_os_error(), Some(libc::ECONNRESET), "{reset:?}");
        assert!(!is_tls_failure(&reset));
    }
}

#[test]
fn a_flight_of_the_handshake_may_be_half_written() {
    let (servers, clients) = (Authority::new("servers"), Authority::new("clients"));
    for versions in BOTH {
        let config = server_config(&servers.certify("localhost"), Some(&clients));
        let server = Server::tls(config, 1, |stream| echo(stream, b"pong"));
        let address = server.address;
        let (open, gate) = std::sync::mpsc::channel();
        let narrow = TcpListener::bind("127.0.0.1:0").unwrap();
        SockRef::from(&narrow).set_recv_buffer_size(2_048).unwrap();
        let relay = Server::on(narrow, 1, move |downstream| {
            let upstream = TcpStream::connect(address).unwrap();
            let (mut from, mut to) =
                (upstream.try_clone().unwrap(), downstream.try_clone().unwrap());
            let back = std::thread::spawn(move || {
                let _ = io::copy(&mut from, &mut to);
            });
            let mut hello = [0; 4_096];
            let count = (&downstream).read(&mut hello).unwrap();
            (&upstream).write_all(&hello[..count]).unwrap();
            // The client's certificates come now, and nobody reads them.
            gate.recv().unwrap();
            let _ = io::copy(&mut &downstream, &mut &upstream);
            upstream.shutdown(Shutdown::Write).unwrap();
            back.join().unwrap();
        });
        let identity = clients.certify("me");
        let chain = identity.chain + &String::from_utf8(clients.pem()).unwrap().repeat(100);
        let mut tls = Tls { versions, ..tls(&servers, "localhost") };
        tls.identity_pem = Some((chain.into_bytes().into(), identity.key.into_bytes().into()));
        let link = Link::open(&relay.endpoint(), Some(&client_of(&tls)), 0).unwrap();
        SockRef::from(&link).set_send_buffer_size(2_048).unwrap();
        let mut client = Client::watch(link).unwrap();
        let mut was_half_written = false;
        loop {
            client.wait();
            let is_done = client.link.handshake().unwrap();
            if client.link.wants_flush() && !was_half_written {
                was_half_written = true;
                open.send(()).unwrap();
            }
            if is_done {
                break;
            }
        }
        assert!(was_half_written, "{versions:?}");
        client.send(b"ping").unwrap();
        assert_eq!(client.receive(4).unwrap(), b"pong");
        part(client);
    }
}

#[test]
fn a_handshake_without_end_is_given_up() {
    let error = hello_met_by(|stream| {
        // A server hello of 16 MB, in pieces of 16 KiB, for as long as somebody listens.
        let mut record = vec![0; 5 + 16_384];
        record[..5].copy_from_slice(&[22, 3, 3, 64, 0]);
        record[5..9].copy_from_slice(&[2, 255, 255, 255]);
        while stream.write_all(&record).is_ok() {
            record[5..9].fill(0);
        }
    });
    assert!(is_tls_failure(&error), "{error:?}");
    assert!(format!("{error:?}").contains("HandshakePayloadTooLarge"), "{error:?}");
}
