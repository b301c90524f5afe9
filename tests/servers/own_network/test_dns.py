"""Answers to questions of DNS, byte by byte; and what is no question."""

import struct

from tests.rows import each_row

from httpdyno.servers.own_network.resolver import (
    AAAA,
    PTR,
    A,
    answered,
    backwards,
    packed_name,
    records,
)

KNOWN = records(
    {
        "client.example": ["127.0.0.1", "10.0.0.1", "2001:db8::1"],
        "other.example": ["10.0.0.1"],
        "nowhere.example": [],
        "many.example": [f"10.1.0.{n}" for n in range(40)],
    }
)
RECURSION = 0x0100


def question(name, kind, *, flags=RECURSION, of=1, n=1):
    return (
        struct.pack(">HHHHHH", 7, flags, n, 0, 0, 0)
        + packed_name(name)
        + struct.pack(">HH", kind, of)
    )


def told(answer):
    """Return the error, whether it is cut short, and the data of the records."""
    number, flags, n_questions, n_answers, *_ = struct.unpack_from(">HHHHHH", answer)
    assert (number, flags & 0x8180) == (7, 0x8180)
    at, data = 12, []
    if n_questions:
        at = answer.index(b"\0", 12) + 5
    for _ in range(n_answers):
        name, _, of, lives_s, length = struct.unpack_from(">HHHIH", answer, at)
        assert (name, of, lives_s) == (0xC00C, 1, 0)
        data.append(answer[at + 12 : at + 12 + length])
        at += 12 + length
    assert at == len(answer)
    return flags & 0xF, bool(flags & 0x0200), data


@each_row(
    ("name", "kind", "error", "data"),
    [
        ("client.example", A, 0, [bytes([127, 0, 0, 1]), bytes([10, 0, 0, 1])]),
        ("CLIENT.Example", AAAA, 0, [bytes.fromhex("20010db8" + "0" * 23 + "1")]),
        ("client.example", 15, 0, []),
        ("other.example", AAAA, 0, []),
        ("nowhere.example", A, 0, []),
        ("example", A, 3, []),
        ("1.0.0.127.in-addr.arpa", PTR, 0, [packed_name("client.example")]),
        (
            "1.0.0.10.in-addr.arpa",
            PTR,
            0,
            [packed_name("client.example"), packed_name("other.example")],
        ),
        ("2.0.0.127.in-addr.arpa", PTR, 3, []),
        (
            backwards(bytes.fromhex("20010db8" + "0" * 23 + "1")),
            PTR,
            0,
            [packed_name("client.example")],
        ),
    ],
)
def test_names_and_addresses_are_answered_both_ways(name, kind, error, data):
    assert told(answered(question(name, kind), KNOWN)) == (error, False, data)


def test_what_a_client_can_take_is_left_to_it_and_too_long_an_answer_is_cut_short():
    options = bytes.fromhex("00002905c0000000000000")
    assert told(answered(question("other.example", A) + options, KNOWN))[2]
    assert told(answered(question("many.example", A), KNOWN)) == (0, True, [])


@each_row(
    ("asked", "error"),
    [
        (question("client.example", A, n=2), 1),
        (question("client.example", A, of=3), 1),
        (question("client.example", A)[:-3], 1),
        (struct.pack(">HHHHHH", 7, RECURSION, 1, 0, 0, 0), 1),
        (struct.pack(">HHHHHH", 7, RECURSION, 1, 0, 0, 0) + b"\xc0\x0c\0\1\0\1", 1),
        (question("client.example", A, flags=RECURSION | 0x2800), 4),
    ],
)
def test_what_is_no_such_question_is_answered_with_an_error(asked, error):
    assert told(answered(asked, KNOWN)) == (error, False, [])


@each_row("noise", [b"", b"\0" * 11, question("client.example", A, flags=0x8100)])
def test_noise_and_answers_are_not_answered(noise):
    assert answered(noise, KNOWN) == b""


def test_an_address_backwards_is_a_name():
    assert backwards(bytes([192, 0, 2, 7])) == "7.2.0.192.in-addr.arpa"
    assert backwards(bytes(15) + b"\x12").startswith("2.1.0.0.")
