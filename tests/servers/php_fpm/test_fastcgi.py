import socket
import struct
import threading
import time
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.servers.php_fpm.fastcgi import ask, request

OUTPUT, ERRORS, END = 6, 7, 3


def record(kind, content, *, n_padding=0, version=1):
    head = struct.pack(">BBHHBB", version, kind, 1, len(content), n_padding, 0)
    return head + content + bytes(n_padding)


def records(data):
    """Split bytes into records: (kind, content) each."""
    found = []
    while data:
        _, kind, _, n_bytes, n_padding, _ = struct.unpack(">BBHHBB", data[:8])
        found.append((kind, data[8 : 8 + n_bytes]))
        data = data[8 + n_bytes + n_padding :]
    return found


def pairs(data):
    def length():
        nonlocal data
        if data[0] < 128:
            number, data = data[0], data[1:]
        else:
            number, data = struct.unpack(">I", data[:4])[0] & 0x7FFFFFFF, data[4:]
        return number

    found = {}
    while data:
        n_name, n_text = length(), length()
        found[data[:n_name].decode()] = data[n_name : n_name + n_text].decode()
        data = data[n_name + n_text :]
    return found


@contextmanager
def answering(answer):
    """Serve one connection with these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve():
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                for piece in answer:
                    connection.sendall(piece)
                    time.sleep(0.01)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            thread.join()


@given(st.dictionaries(st.text(max_size=40), st.text(max_size=300), max_size=6))
def test_parameters_come_out_as_they_went_in(parameters):
    found = records(request(parameters))
    assert [kind for kind, _ in found if kind != 4] == [1, 5]
    contents = [content for kind, content in found if kind == 4]
    assert contents[-1] == b""
    assert pairs(b"".join(contents)) == parameters


def test_more_parameters_than_one_record_holds_are_split():
    found = records(request({"LONG": "x" * 100_000}))
    assert next(len(content) for kind, content in found if kind == 4) == 65_535
    assert pairs(b"".join(c for kind, c in found if kind == 4)) == {"LONG": "x" * 100_000}


@each_row(
    ("head", "status"),
    [
        (b"Content-type: text/html\r\n", 200),
        (b"Status: 404 Not Found\r\nX: y\r\n", 404),
        (b"X: y\r\nstatus:503\r\n", 503),
    ],
)
def test_an_answer_is_put_together_of_its_records(head, status):
    answer = [
        record(OUTPUT, head),
        record(ERRORS, b"PHP Warning: x", n_padding=2),
        record(OUTPUT, b"\r\nbo", n_padding=5)[:7],
        record(OUTPUT, b"\r\nbo", n_padding=5)[7:] + record(OUTPUT, b"dy") + record(OUTPUT, b""),
        record(END, bytes(8)),
    ]
    with answering(answer) as address:
        found = ask(address, {"SCRIPT_NAME": "/"}, timeout_s=5)
    assert (found.status, found.body, found.errors) == (status, b"body", "PHP Warning: x")


@each_row(
    ("answer", "words"),
    [
        ([record(OUTPUT, b"x")], "ended within the answer"),
        ([b"HTTP/1.1 400 Bad Request\r\n"], "does not speak FastCGI"),
        ([record(OUTPUT, b"much")[:9]], "ended within the answer"),
    ],
)
def test_what_is_no_whole_answer_is_an_error(answer, words):
    with answering(answer) as address, pytest.raises(ConnectionError, match=words):
        ask(address, {}, timeout_s=5)


def test_one_that_never_answers_takes_no_longer_than_it_may():
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(TimeoutError):
        ask(f"127.0.0.1:{listener.getsockname()[1]}", {}, timeout_s=0.1)
