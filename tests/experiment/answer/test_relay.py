"""What a relay reads of the heads of answers that it passes on."""

import errno
import socket
from contextlib import closing
from threading import Thread

from tests.rows import each_row

from httpdyno.experiment.trial import header_count as relay_module
from httpdyno.experiment.trial.header_count import Relay, first_word, head_in

HEAD = b"HTTP/1.1 200 OK\r\nServer: x\r\nX-Cache: HIT from a.example\r\nX-Cache: MISS"


def test_a_head_ends_before_the_body_and_one_that_only_announces_is_passed_over():
    assert head_in(HEAD) is None
    assert head_in(HEAD + b"\r\n\r\nX-Cache: FALSE\r\n\r\n") == HEAD
    assert head_in(b"HTTP/1.1 103 Early Hints\r\nX-Cache: NO\r\n\r\n") is None
    assert head_in(b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"\r\n\r\n") == HEAD


@each_row(
    ("head", "word"),
    [
        (HEAD, "HIT"),
        (b"HTTP/1.1 200 OK\r\nx-CACHE:\tREVALIDATE, of 3\r\n", "REVALIDATE"),
        (b"HTTP/1.1 200 OK\r\nX-Cache: \r\nX-Cache-Hits: 3", None),
        (b"HTTP/1.1 200 OK\r\nX-Other: X-Cache: HIT", None),
        (b"X-Cache: HIT", None),
    ],
)
def test_the_first_word_of_a_header_is_that_of_its_first_line_whatever_its_case(head, word):
    assert first_word(head, "X-Cache") == word


def answering(listener, answers):
    """Answer each connection with one of the answers, in pieces, and close it."""

    def answer():
        for text in answers:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                for at in range(0, len(text), 7):
                    connection.sendall(text[at : at + 7])

    thread = Thread(target=answer)
    thread.start()
    return thread


def whole(client):
    """Return what comes until the other side closes."""
    with client.makefile("rb") as reader:
        return reader.read()


def test_answers_come_through_whole_and_are_counted_once_each():
    answers = [HEAD + b"\r\n\r\nX-Cache: FALSE\r\n\r\n", b"HTTP/1.1 404 No\r\n\r\n", HEAD]
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = answering(listener, answers)
        address = listener.getsockname()
        with Relay(lambda: socket.create_connection(address, 5.0), "X-Cache") as relay:
            host, _, port = relay.address.rpartition(":")
            for text in answers:
                with socket.create_connection((host, int(port)), 5.0) as client:
                    client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    assert whole(client) == text
        thread.join()
    # The last one's head has no end.
    assert (dict(relay.counts), relay.n_without) == ({"HIT": 1}, 1)


def test_a_header_of_ever_other_words_ends_in_one_for_the_rest():
    n = 20
    answers = [f"HTTP/1.1 200 OK\r\nETag: {number}\r\n\r\n".encode() for number in range(n)]
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        thread = answering(listener, answers)
        address = listener.getsockname()
        with Relay(lambda: socket.create_connection(address, 5.0), "ETag") as relay:
            host, _, port = relay.address.rpartition(":")
            for _ in answers:
                with socket.create_connection((host, int(port)), 5.0) as client:
                    client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    whole(client)
        thread.join()
    assert relay.counts.total() == n
    assert relay.counts["other"] == n - 16


class Unstarted(Thread):
    """One for which there is no room."""

    def start(self):
        raise RuntimeError("can't start new thread")


def test_who_finds_no_room_is_hung_up_on_and_the_next_one_is_served(monkeypatch):
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        address = listener.getsockname()
        relay = Relay(lambda: socket.create_connection(address, 5.0), "X-Cache")
        accept = socket.socket.accept
        failures = [OSError(errno.EMFILE, "too many open files")]

        def accepting(self):
            if self is relay._listener and failures:
                raise failures.pop()
            return accept(self)

        monkeypatch.setattr(socket.socket, "accept", accepting)
        monkeypatch.setattr(relay_module, "Thread", Unstarted)
        with relay:
            host, _, port = relay.address.rpartition(":")
            with socket.create_connection((host, int(port)), 5.0) as client:
                assert client.recv(1) == b""
            monkeypatch.undo()
            thread = answering(listener, [HEAD + b"\r\n\r\n"])
            with socket.create_connection((host, int(port)), 5.0) as client:
                client.sendall(b"GET / HTTP/1.1\r\n\r\n")
                whole(client)
            thread.join()
    assert failures == []
    assert dict(relay.counts) == {"HIT": 1}
