"""Addresses and questions, as programs hand them to the kernel."""

import socket
import struct

from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.servers.sandbox.syscall import Target, asked_name, target


def ipv4(host, port):
    return struct.pack("=H", socket.AF_INET) + struct.pack(">H", port) + socket.inet_aton(host)


def ipv6(host, port):
    packed = socket.inet_pton(socket.AF_INET6, host)
    return struct.pack("=H", socket.AF_INET6) + struct.pack(">HI", port, 0) + packed + bytes(4)


def unix(name):
    return struct.pack("=H", socket.AF_UNIX) + name


@each_row(
    ("address", "text"),
    [
        (ipv4("10.0.0.5", 5432) + bytes(8), "10.0.0.5:5432"),
        (ipv4("10.0.0.5", 5432), "10.0.0.5:5432"),
        (ipv6("2001:db8::5", 5432), "[2001:db8::5]:5432"),
        (ipv6("::ffff:10.0.0.5", 5432), "10.0.0.5:5432"),
        (ipv6("::1", 1), "[::1]:1"),
        (unix(b"/run/db.sock\0rest"), "unix:/run/db.sock"),
        (unix(b"/run/db.sock"), "unix:/run/db.sock"),
        (unix(b"own.sock\0"), "unix:own.sock"),
        (unix(b"\0name"), "unix:@name"),
        (unix(b"\0na\0me"), "unix:@na@me"),
        (unix(b"/run/\xff"), "unix:/run/\udcff"),
    ],
)
def test_whom_an_address_names(address, text):
    found = target(address)
    assert found is not None
    assert found.text == text


@each_row(
    "address",
    [b"", b"\1", unix(b""), ipv4("10.0.0.5", 1)[:7], ipv6("::1", 1)[:20], struct.pack("=H", 16)],
)
def test_what_is_cut_off_or_of_another_family_names_nobody(address):
    assert target(address) is None


@given(st.binary(max_size=130))
def test_no_address_is_too_odd(content):
    found = target(content)
    assert found is None or isinstance(found, Target)


@each_row(
    ("query", "name"),
    [
        (bytes(12) + b"\4mail\7example\0\0\1\0\1", "mail.example"),
        (bytes(12) + b"\4ma", "ma"),
        (bytes(12), ""),
        (b"", ""),
        (bytes(12) + b"\xc0\x0c", ""),
    ],
)
def test_what_a_name_server_is_asked(query, name):
    assert asked_name(query) == name
