//! The program: its first line, its log over HTTP, and its ends.

#![allow(clippy::unwrap_used, reason = "a test may panic, its setup too")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};

fn spawn(arguments: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_httpdyno-oracle"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn address(child: &mut Child) -> SocketAddr {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("{\"address\": \"").unwrap().split('"').next().unwrap();
    assert!(line.ends_with(&format!("\"pid\": {}}}\n", child.id())), "{line}");
    address.parse().unwrap()
}

#[test]
fn it_serves_what_it_was_told_and_ends_with_its_standard_input() {
    let mut child = spawn(&["--length", "5", "--route", "/x=/status/404", "--close-after", "1"]);
    let mut stream = TcpStream::connect(address(&mut child)).unwrap();
    stream.write_all(b"GET /x HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 404 Not Found\r\n") && answer.ends_with("\r\n\r\n01234"));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn it_ends_on_a_signal() {
    let mut child = spawn(&[]);
    let addr = address(&mut child);
    let told = Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(told.success());
    assert!(child.wait().unwrap().success());
    assert!(TcpStream::connect(addr).is_err());
}

#[test]
fn it_refuses_what_it_does_not_understand_in_one_line() {
    for (arguments, code) in [
        (&["--workers", "0"][..], 2),
        (&["--unheard-of", "1"], 2),
        (&["--seed"], 2),
        (&["--listen", "0.0.0.0:0"], 3),
        (&["--route", "/x=/fault/unheard-of"], 3),
    ] {
        let output = spawn(arguments).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error: ") && said.lines().count() == 1, "{said}");
    }
}
