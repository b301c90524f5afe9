//! The program: its first line, its log over HTTP, and its ends.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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
fn it_says_where_its_doors_and_certificates_are_and_takes_them_away_at_the_end() {
    let folder = std::env::temp_dir().join(format!("httpdyno-oracle-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let folder_text = folder.to_str().unwrap();
    let unix = format!("unix:{folder_text}/a \"socket\"");
    let mut child = spawn(&[
        "--door",
        &unix,
        "--tls-door",
        "[::1]:0",
        "--tls-folder",
        folder_text,
        "--client-certificate",
        "required",
        "--keep-requests",
        "1",
    ]);
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.strip_prefix("{\"address\": \"").unwrap().split('"').next().unwrap();
    let tls_address = line.split("\"tls_address\": \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(tls_address.starts_with("[::1]:") && tls_address != "[::1]:0", "{tls_address}");
    let unix_text = unix.replace('"', "\\\"");
    let expected = format!(
        "{{\"address\": \"{address}\", \"doors\": [{{\"address\": \"{address}\", \"is_tls\": false}}, \
         {{\"address\": \"{unix_text}\", \"is_tls\": false}}, \
         {{\"address\": \"{tls_address}\", \"is_tls\": true}}], \
         \"tls_address\": \"{tls_address}\", \"ca_file\": \"{folder_text}/ca.pem\", \
         \"client_certificate_file\": \"{folder_text}/client.pem\", \
         \"client_key_file\": \"{folder_text}/client-key.pem\", \"pid\": {}}}\n",
        child.id()
    );
    assert_eq!(line, expected);
    for (file, beginning) in [
        ("ca.pem", "-----BEGIN CERTIFICATE-----"),
        ("client.pem", "-----BEGIN CERTIFICATE-----"),
        ("client-key.pem", "-----BEGIN PRIVATE KEY-----"),
    ] {
        let content = std::fs::read_to_string(folder.join(file)).unwrap();
        assert!(content.starts_with(beginning), "{file}: {content}");
    }
    let mut stream = UnixStream::connect(unix.strip_prefix("unix:").unwrap()).unwrap();
    stream.write_all(b"GET /close HTTP/1.1\r\nCookie: a=b\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /oracle/requests HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = [0; 4096];
    let got = stream.read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..got]);
    assert!(answer.contains("GET /close HTTP/1.1\\u000d\\u000aCookie: a=b"), "{answer}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    // Empty: the socket and the files are gone.
    std::fs::remove_dir(&folder).unwrap();
}

#[test]
fn it_takes_as_many_descriptors_as_it_may() {
    let program = env!("CARGO_BIN_EXE_httpdyno-oracle");
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -Sn 64; exec \"$0\"", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let addr = address(&mut child);
    let mut streams: Vec<_> = (0..100).map(|_| TcpStream::connect(addr).unwrap()).collect();
    // The last one is served, so it was accepted, and all before it.
    let last = streams.last_mut().unwrap();
    last.write_all(b"GET /close HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    last.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
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
        (&["--door", "nowhere"], 2),
        (&["--tls-door", "127.0.0.1:0"], 2),
        (&["--tls-versions", "1.1"], 2),
        (&["--reception", "warm"], 2),
        (&["--tls-door", "127.0.0.1:0", "--tls-folder", "/nonexistent"], 3),
        (&["--listen", "0.0.0.0:0"], 3),
        (&["--route", "/x=/fault/unheard-of"], 3),
    ] {
        let output = spawn(arguments).wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error: ") && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn one_that_spins_keeps_time_and_never_sleeps() {
    let naps = |spin: &str| {
        let mut child = spawn(&["--spin", spin]);
        let mut stream = TcpStream::connect(address(&mut child)).unwrap();
        let before = n_naps(child.id());
        for _ in 0..5 {
            let asked = Instant::now();
            stream.write_all(b"GET /fixed/20ms HTTP/1.1\r\n\r\n").unwrap();
            assert!(stream.read(&mut [0; 4096]).unwrap() > 0);
            assert!(asked.elapsed() >= Duration::from_millis(20));
        }
        let napped = n_naps(child.id()) - before;
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
        napped
    };
    assert_eq!(naps("on"), 0);
    assert!(naps("off") >= 5);
}

/// How often the serving thread of a process went to sleep.
fn n_naps(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let told = threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("status")));
    let serving = told.map(Result::unwrap).find(|status| status.contains("Name:\toracle\n"));
    let of = |line: &str| line.strip_prefix("voluntary_ctxt_switches:")?.trim().parse().ok();
    serving.unwrap().lines().find_map(of).unwrap()
}
