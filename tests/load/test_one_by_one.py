"""One request after the other, each over a connection of its own."""

import socket
from contextlib import contextmanager, suppress
from threading import Event, Thread

import pytest
from tests.real.foreground import free_port

from httpdyno.errors import TargetError
from httpdyno.load.one_by_one import OneByOne
from httpdyno.load.target import parse_url


def test_answers_are_counted_by_status(oracle):
    one_by_one = OneByOne(parse_url(f"{oracle.url}/status/404"))
    one_by_one.ask()
    one_by_one.ask()
    assert dict(one_by_one.answers) == {404: 2}


def test_who_does_not_answer_is_named():
    url = f"http://127.0.0.1:{free_port()}/shop"
    with pytest.raises(TargetError, match=f"`{url}` did not answer: .*refused"):
        OneByOne(parse_url(url)).ask()


@contextmanager
def sending(pieces, every_s=0.0):
    """Answer one request with these pieces; give the URL."""

    def answer():
        with suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                for piece in pieces:
                    connection.sendall(piece)
                    is_over.wait(every_s)

    is_over = Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=answer)
        thread.start()
        try:
            yield parse_url(f"http://127.0.0.1:{listener.getsockname()[1]}/")
        finally:
            is_over.set()
            thread.join()


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\n\r\n"])
def test_an_answer_that_drips_is_not_waited_for(head):
    # Each piece comes in time; all of them take four times as long as an answer may.
    with sending([head, *[b"a"] * 40], 0.02) as target, pytest.raises(TargetError, match="answer"):
        OneByOne(target, timeout_s=0.2).ask()


def test_an_answer_without_end_is_not_read():
    head = b"HTTP/1.1 200 OK\r\n\r\n"
    with (
        sending([head, *[b"a" * 1000] * 30]) as target,
        pytest.raises(TargetError, match="the answer had no end after 10"),
    ):
        OneByOne(target, most_bytes=10_240).ask()


def test_an_answer_that_is_cut_off_is_none():
    with (
        sending([b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"]) as target,
        pytest.raises(TargetError, match="did not answer"),
    ):
        OneByOne(target).ask()
