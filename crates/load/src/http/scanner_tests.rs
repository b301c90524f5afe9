//! The scanner against tables and against itself in pieces; `fuzz` has it against httparse.

use proptest::prelude::*;

use super::*;

#[path = "fuzz/mod.rs"]
mod fuzz;

/// What one answer came to, however its bytes were cut.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Whole { status: u16, body: u64, keeps_alive: bool, consumed: usize },
    Open(AtClose),
    Bad,
}

fn scan(pieces: &[&[u8]], is_answer_to_head: bool) -> Seen {
    let mut scanner = Scanner::new();
    scanner.expect(is_answer_to_head);
    let mut before = 0;
    for piece in pieces {
        match scanner.feed(piece) {
            Err(Malformed) => return Seen::Bad,
            Ok(Scanned::Partial) => before += piece.len(),
            Ok(Scanned::Whole { consumed }) => {
                return Seen::Whole {
                    status: scanner.status(),
                    body: scanner.body_bytes(),
                    keeps_alive: scanner.keeps_alive(),
                    consumed: before + consumed,
                };
            }
        }
    }
    Seen::Open(scanner.at_close())
}

fn one(answer: &str) -> Seen {
    scan(&[answer.as_bytes()], false)
}

fn whole(answer: &str, status: u16, body: u64, keeps_alive: bool) {
    let consumed = answer.len();
    let expected = Seen::Whole { status, body, keeps_alive, consumed };
    assert_eq!(one(answer), expected, "{answer:?}");
    assert_eq!(one(&format!("{answer}HTTP/1.1 surplus")), expected, "{answer:?} and more");
}

#[test]
fn whole_answers_are_framed_as_rfc_9112_says() {
    whole("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, 5, true);
    whole("HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", 200, 0, true);
    whole("HTTP/1.1 200 OK\nContent-Length: 1\n\nx", 200, 1, true);
    whole("HTTP/1.1 200 \r\nContent-Length: 2\r\ncontent-length: 2, 2\r\n\r\nxy", 200, 2, true);
    whole("HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", 204, 0, true);
    whole("HTTP/1.1 304 Not Modified\r\n\r\n", 304, 0, true);
    whole("HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n", 200, 0, false);
    whole("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", 200, 0, false);
    whole("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", 200, 0, true);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n";
    whole(
        &format!("{chunked}\r\n5\r\nhello\r\n0A;x=\"y\"\r\n0123456789\r\n0\r\n\r\n"),
        200,
        15,
        true,
    );
    whole(&format!("{chunked}\r\n0\r\nTrailer: x\r\n\r\n"), 200, 0, true);
    whole(&format!("{chunked}Content-Length: 3\r\n\r\n1\r\nx\r\n0\r\n\r\n"), 200, 1, false);
}

#[test]
fn any_status_of_three_digits_is_one() {
    whole("HTTP/1.1 999 Request denied\r\nContent-Length: 2\r\n\r\nno", 999, 2, true);
    whole("HTTP/1.1 600\r\nContent-Length: 0\r\n\r\n", 600, 0, true);
}

#[test]
fn an_empty_line_may_come_before_the_status_line() {
    for before in ["\r\n", "\n", "\r\n\r\n", "\r\nHTTP/1.1 100 Continue\r\n\r\n\r\n"] {
        let answer = format!("{before}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        whole(&answer, 200, 2, true);
    }
}

#[test]
fn a_header_may_be_folded() {
    let with = |headers: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n{body}");
    whole(&with("X-A: a\r\n  b\r\n\tc\r\nContent-Length: 2", "ok"), 200, 2, true);
    whole(&with("Content-Length:\r\n 2\n\t\r\nX-A: b", "ok"), 200, 2, true);
    whole(&with("Connection: keep-alive,\r\n close\r\nContent-Length: 0", ""), 200, 0, false);
    whole(&with("Transfer-Encoding: gzip\r\n , chunked", "0\r\nA: b\r\n c\r\n\r\n"), 200, 0, true);
    let answer = with("Set-Cookie: a=b;\r\n Path=/x\r\nContent-Length: 0", "");
    let mut cookies = Vec::new();
    let mut scanner = Scanner::new();
    scanner.feed_with(answer.as_bytes(), |cookie| cookies.push(cookie.to_vec())).unwrap();
    assert_eq!(cookies, [b" a=b; Path=/x"]);
}

#[test]
fn a_body_in_chunks_and_more_lasts_until_the_close() {
    for codings in ["chunked, gzip", "chunked\r\nTransfer-Encoding: x", "gzip"] {
        let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {codings}\r\n\r\n5\r\nab");
        assert_eq!(one(&answer), Seen::Open(AtClose::Whole), "{codings}");
    }
}

#[test]
fn interim_answers_are_skipped() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n";
    whole(&format!("{interim}HTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nx"), 201, 1, true);
}

#[test]
fn an_answer_to_head_has_no_body() {
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let expected = Seen::Whole { status: 200, body: 0, keeps_alive: true, consumed: answer.len() };
    assert_eq!(scan(&[answer], true), expected);
}

#[test]
fn the_end_of_the_connection_ends_only_a_body_without_length() {
    assert_eq!(one("HTTP/1.1 200 OK\r\n\r\nabc"), Seen::Open(AtClose::Whole));
    assert_eq!(one("HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\n\r\n"), Seen::Open(AtClose::Whole));
    assert_eq!(one("HTTP/1.1 200 OK\r\nContent-Le"), Seen::Open(AtClose::InHead));
    assert_eq!(one("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"), Seen::Open(AtClose::InBody));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for cut in ["", "5", "5\r\nabc", "5\r\nabcde", "5\r\nabcde\r\n", "0\r\n", "0\r\nA: b\r\n"] {
        assert_eq!(one(&format!("{chunked}{cut}")), Seen::Open(AtClose::InBody), "{cut:?}");
    }
}

#[test]
fn what_is_not_http_1_is_malformed() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";
    let heads = [
        "HTTP/2 200 OK",
        "HTTP/1.2 200 OK",
        "http/1.1 200 OK",
        "HTTP/1.1 20 OK",
        "HTTP/1.1 2000 OK",
        "HTTP/1.1  200 OK",
        "HTTP/1.1 099 OK",
        "HTTP/1.1 2x0 OK",
        "SSH-2.0-x",
        "HTTP/1.1 101 Switching Protocols",
        "HTTP/1.1 200 O\0K",
        "HTTP/1.1 200 O\rK",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6",
        "HTTP/1.1 200 OK\r\nContent-Length: 5, 6",
        "HTTP/1.1 200 OK\r\nContent-Length: +5",
        "HTTP/1.1 200 OK\r\nContent-Length: -5",
        "HTTP/1.1 200 OK\r\nContent-Length:",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616",
        "HTTP/1.1 200 OK\r\nno colon",
        "HTTP/1.1 200 OK\r\n: no name",
        "HTTP/1.1 200 OK\r\nspace : x",
        "HTTP/1.1 200 OK\r\n folded: x",
        "HTTP/1.1 200 OK\r\nA\r\n : b",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 2",
        "HTTP/1.1 200 OK\r\nA: \0",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip, chunked",
    ];
    for head in heads {
        assert_eq!(one(&format!("{head}\r\n\r\n")), Seen::Bad, "{head:?}");
    }
    for body in [
        "x\r\n",
        "\r\n",
        "-1\r\n",
        "5 5\r\n",
        "1\r\nxy\r\n",
        "1\r\nx\n",
        "0\r\nbad\r\n",
        "12345678901234567\r\n",
        ";x\r\n",
    ] {
        assert_eq!(one(&format!("{chunked}\r\n{body}")), Seen::Bad, "{body:?}");
    }
}

#[test]
fn what_cannot_become_right_is_refused_before_its_line_ends() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for start in ["S", "\rS", "\r\nS", "http", "HTTP/2", "HTTP/1,", "\u{16}\u{3}\u{1}"] {
        assert_eq!(one(start), Seen::Bad, "{start:?}");
    }
    for start in ["HTTP/1.1 200 \0", "HTTP/1.1 200 OK\r\nA: \rb", "HTTP/1.1 200 OK\r\n\rA"] {
        assert_eq!(one(start), Seen::Bad, "{start:?}");
    }
    for start in [
        "",
        "\r",
        "\r\n",
        "\r\n\r",
        "H",
        "HTTP/",
        "HTTP/1.",
        "HTTP/1.1 2",
        "HTTP/1.1 200 OK\r\nA: b\r",
    ] {
        assert_eq!(one(start), Seen::Open(AtClose::InHead), "{start:?}");
    }
    for body in ["x", "\r", ";", "1\r\nxy", "1\r\nx\ry", "1\r\nx\r\n\r"] {
        assert_eq!(one(&format!("{chunked}{body}")), Seen::Bad, "{body:?}");
    }
    for body in ["f", "1\r\nx\r", "0\r\n\r", "1;x"] {
        assert_eq!(one(&format!("{chunked}{body}")), Seen::Open(AtClose::InBody), "{body:?}");
    }
}

#[test]
fn lists_may_have_empty_parts_and_white_space_is_spaces_and_tabs() {
    let with = |headers: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{headers}\r\n\r\n{body}");
    for coding in ["chunked", "chunked,", ", ,\tchunked\t,", "gzip,,chunked", "gzip;a=b, chunked"] {
        whole(&with(&format!("Transfer-Encoding: {coding}"), "0\r\n\r\n"), 200, 0, true);
    }
    whole(&with("Content-Length:\t 2 , 2\t", "xy"), 200, 2, true);
    whole(&with("Connection: ,x, , close,\r\nContent-Length: 0", ""), 200, 0, false);
    for headers in [
        "Transfer-Encoding: chunked;a=b",
        "Transfer-Encoding: chunked, ,chunked",
        "Content-Length: 2,",
        "Content-Length: ,2",
        "Content-Length: 2\u{c}",
        "Content-Length: \u{b}2",
    ] {
        assert_eq!(one(&with(headers, "xy")), Seen::Bad, "{headers:?}");
    }
}

#[test]
fn a_length_is_that_of_the_body_before_it_was_coded() {
    let body = |n_bytes: usize, length: u32| {
        let mut body = vec![b'g'; n_bytes - 4];
        body.extend(length.to_le_bytes());
        body
    };
    let chunked = |body: &[u8]| {
        let pieces = body.chunks(3).flat_map(|piece| {
            [format!("{:x}\r\n", piece.len()).as_bytes(), piece, b"\r\n"].concat()
        });
        pieces.chain(*b"0\r\n\r\n").collect::<Vec<u8>>()
    };
    for (coding, body, length) in [
        ("gzip", body(40, 5000), Some(5000)),
        ("X-GZIP", body(40, 5000), Some(5000)),
        ("identity", body(40, 5000), Some(40)),
        ("", body(40, 5000), Some(40)),
        ("gzip, identity", body(20, 0), Some(0)),
        ("gzip", Vec::new(), Some(0)),
        ("gzip", body(7, 5000), None),
        ("br", body(40, 5000), None),
        ("gzip, br", body(40, 5000), None),
        ("br", Vec::new(), Some(0)),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n");
        let framings: [(String, &[u8]); 3] = [
            (format!("Content-Length: {}\r\n", body.len()), &body),
            ("Transfer-Encoding: chunked\r\n".to_owned(), &chunked(&body)),
            (String::new(), &body),
        ];
        for (framing, sent) in framings {
            let answer = [format!("{head}{framing}\r\n").as_bytes(), sent].concat();
            for size in [1, 7, answer.len()] {
                let mut scanner = Scanner::new();
                for piece in answer.chunks(size) {
                    scanner.feed(piece).unwrap();
                }
                assert_eq!(scanner.decoded_bytes(), length, "{coding} in pieces of {size}");
                assert_eq!(scanner.has_length(5000), length == Some(5000));
            }
        }
    }
}

#[test]
fn an_answer_that_would_be_coded_for_others_is_known_by_what_it_varies_with() {
    for (head, body, is_plain_by_choice) in [
        ("Vary: Accept-Encoding", "ab", true),
        ("vary: Cookie, accept-encoding", "ab", true),
        ("Vary: Accept-Encoding\r\nContent-Encoding: identity", "ab", true),
        ("Vary: Accept-Encoding\r\nContent-Encoding: gzip", "ab", false),
        ("Vary: Accept-Encoding", "", false),
        ("Vary: Accept", "ab", false),
        ("A: b", "ab", false),
    ] {
        let n = body.len();
        let answer = format!("HTTP/1.1 200 OK\r\n{head}\r\nContent-Length: {n}\r\n\r\n{body}");
        let mut scanner = Scanner::new();
        scanner.feed(answer.as_bytes()).unwrap();
        assert_eq!(scanner.is_plain_by_choice(), is_plain_by_choice, "{head} {n}");
    }
}

#[test]
fn what_is_wrong_with_an_answer_is_told() {
    let long = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(MAX_HEAD_BYTES));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (answer, word, detail) in [
        ("\0\0\u{12}\u{4}\0\0\0\0\0\0\u{3}", "http2", ""),
        ("\u{15}\u{3}\u{1}\0\u{2}\u{2}F", "tls", ""),
        ("SSH-2.0-OpenSSH_9.2\r\n", "start", "SSH-2.0-OpenSSH_9.2"),
        ("SSH-2.0", "start", "SSH-2.0"),
        ("\0", "start", ""),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", "switched", ""),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "header", ""),
        (&long, "long", ""),
        (&format!("{chunked}x\r\n"), "chunk", ""),
    ] {
        let mut scanner = Scanner::new();
        assert_eq!(scanner.feed(answer.as_bytes()), Err(Malformed), "{answer:?}");
        assert_eq!(scanner.fault(answer.as_bytes()), (word, detail.to_owned()), "{answer:?}");
    }
}

#[test]
fn cookies_of_the_answer_are_passed_on() {
    let answer = b"HTTP/1.1 103 Early\r\nSet-Cookie: early=1\r\n\r\nHTTP/1.1 200 OK\r\n\
        Set-Cookie: a=1; Path=/\r\nSet-Cookies: x\r\nConnection: close\r\nSET-COOKIE:b=2\r\n\
        Transfer-Encoding: chunked\r\n\r\n0\r\nSet-Cookie: late=1\r\n\r\n";
    for size in [1, 7, answer.len()] {
        let (mut scanner, mut cookies) = (Scanner::new(), Vec::new());
        scanner.expect(false);
        for piece in answer.chunks(size) {
            scanner
                .feed_with(piece, |cookie| cookies.push(cookie.trim_ascii().to_vec()))
                .expect("a right answer");
        }
        assert_eq!(cookies, [&b"a=1; Path=/"[..], b"b=2"], "in pieces of {size}");
        assert!(!scanner.keeps_alive());
    }
}

#[test]
fn a_head_may_not_grow_without_end() {
    let header = format!("A: {}\r\n", "x".repeat(1019));
    let n_too_many = MAX_HEAD_BYTES / 1024;
    let head = |count: usize| format!("HTTP/1.1 200 OK\r\n{}", header.repeat(count));
    whole(&format!("{}Content-Length: 0\r\n\r\n", head(n_too_many - 1)), 200, 0, true);
    assert_eq!(one(&head(n_too_many)), Seen::Bad);
    assert_eq!(one(&"HTTP/1.1 100 Continue\r\n\r\n".repeat(13_000)), Seen::Bad);
    assert_eq!(one(&"\r\n".repeat(MAX_HEAD_BYTES)), Seen::Bad);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(one(&format!("{chunked}1;{}", "x".repeat(MAX_HEAD_BYTES))), Seen::Bad);
    assert_eq!(one(&format!("{chunked}0\r\n{}", header.repeat(n_too_many + 1))), Seen::Bad);
}

#[test]
fn a_body_may_be_larger_than_any_head() {
    let size = MAX_HEAD_BYTES * 3;
    let body = "y".repeat(size);
    whole(
        &format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{size:x}\r\n{body}\r\n0\r\n\r\n"
        ),
        200,
        size as u64,
        true,
    );
}

/// Answers that are mostly right, so that all stages are reached.
fn answers() -> impl Strategy<Value = Vec<u8>> {
    let line_end = prop_oneof![9 => Just("\r\n"), 1 => Just("\n")];
    let header = prop_oneof![
        4 => "[A-Za-z-]{1,12}: ?[ -~]{0,30}",
        2 => (0..40_u64).prop_map(|length| format!("Content-Length: {length}")),
        2 => Just("Transfer-Encoding: chunked".to_owned()),
        1 => "(Connection|CONNECTION): ?(close|keep-alive|Upgrade)",
        1 => "[ -~]{0,12}",
    ];
    let chunks =
        prop::collection::vec((1..300_usize, "(;[a-z]=[a-z])?"), 0..4).prop_map(|chunks| {
            let text =
                |(size, extension)| format!("{size:x}{extension}\r\n{}\r\n", "z".repeat(size));
            chunks.into_iter().map(text).collect::<String>() + "0\r\n\r\n"
        });
    let body = prop_oneof![3 => chunks, 2 => "[ -~\r\n]{0,60}"];
    let status = prop_oneof![8 => 100..600_u16, 1 => 0..1000_u16];
    let headers = prop::collection::vec(header, 0..6);
    ("HTTP/1\\.[01]", status, "( [ -~]{0,12})?", headers, body, line_end).prop_map(
        |(version, status, reason, headers, body, end)| {
            let mut text = format!("{version} {status:03}{reason}{end}");
            for header in headers {
                text = text + &header + end;
            }
            (text + end + &body).into_bytes()
        },
    )
}

/// The same, with some bytes put out of order.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    (answers(), prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4)).prop_map(
        |(mut bytes, changes)| {
            for (index, byte) in changes {
                let at = index.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        },
    )
}

proptest! {
    #[test]
    fn any_splitting_into_reads_gives_the_same(
        bytes in mutated(),
        mut cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        is_answer_to_head in any::<bool>(),
    ) {
        cuts.sort_unstable_by_key(|cut| cut.index(bytes.len()));
        let (mut pieces, mut from) = (Vec::new(), 0);
        for cut in cuts {
            let to = cut.index(bytes.len());
            pieces.push(&bytes[from..to]);
            from = to;
        }
        pieces.push(&bytes[from..]);
        let together = scan(&[&bytes], is_answer_to_head);
        prop_assert_eq!(scan(&pieces, is_answer_to_head), together.clone());
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(scan(&single, is_answer_to_head), together);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        scan(&[&bytes], false);
    }

    #[test]
    fn chunk_sizes_agree_with_httparse(line in "[0-9a-fA-F]{1,16}(;[a-z]{0,4})?") {
        let whole = format!("{line}\r\n");
        let expected = match httparse::parse_chunk_size(whole.as_bytes()) {
            Ok(httparse::Status::Complete((_, size))) => Some(size),
            _ => None,
        };
        if let Some(size) = expected {
            prop_assert_eq!(chunk_size(line.as_bytes()), Ok(size));
        }
    }
}
