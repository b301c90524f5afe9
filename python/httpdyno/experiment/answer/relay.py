"""Passes a load on to a server, and reads on the way what the heads of its answers say.

Each connection carries one answer, so nothing but its head has to be understood: neither lengths
nor chunks, and no body can look like a head.
"""

import re
import select
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Self

from httpdyno.model.header_words import FIRST_WORD, LONGEST_WORD
from httpdyno.servers.network.address import within

_LONGEST_HEAD_BYTES = 1 << 17
_PIECE_BYTES = 1 << 16
_END = re.compile(rb"\r?\n\r?\n")
_STATUS = re.compile(rb"HTTP/\d\.\d (\d{3})")
_FIRST_FINAL = 200
"""What comes below it announces an answer."""
_MOST_WORDS = 16
"""A header with more of them is no word of a few, such as an `ETag`."""
OTHER = "other"
_ROUND_MS = 100
_PATIENCE_S = 10.0
"""With a side that takes nothing."""
_LISTENED = 1024


def head_in(seen: bytes) -> bytes | None:
    """Return the head of the answer that some bytes begin with; None where it is not whole. Pure.

    Heads of what only announces an answer are passed over (RFC 9110, 15.2).
    """
    while (end := _END.search(seen)) is not None:
        head, seen = seen[: end.start()], seen[end.end() :]
        status = _STATUS.match(head)
        if status is None or int(status[1]) >= _FIRST_FINAL:
            return head
    return None


def first_word(head: bytes, name: str) -> str | None:
    """Return the first word of a header; None where a head has it not, or nothing in it. Pure.

    Of several lines with that name it is the first one's.
    """
    for line in head.splitlines()[1:]:
        key, _, value = line.decode("latin-1").partition(":")
        if key.strip().lower() == name.lower() and (found := FIRST_WORD.search(value)):
            return found[0][:LONGEST_WORD]
    return None


class Relay:
    """Listens in front of a server, for as long as it is entered as a context manager."""

    def __init__(
        self, connect: Callable[[], socket.socket], name: str, *, network: str = ""
    ) -> None:
        """Take what is needed.

        Args:
            connect: Returns a new connection to the server.
            name: Of the header that is counted.
            network: Path of the network namespace that it listens in, the server's own: in any
                other it would be a way in for whoever is there. Empty is this process's.

        Raises:
            OSError: The namespace cannot be entered.
        """
        self.counts: Counter[str] = Counter()
        """First word → answers."""
        self.n_without = 0
        self._connect = connect
        self._name = name
        self._lock = Lock()
        self._is_over = Event()
        self._carriers: list[Thread] = []
        self._listener = within(network, lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        self._acceptor = Thread(target=self._accept, name="relay", daemon=True)

    @property
    def address(self) -> str:
        """Where it listens, as `ip:port`."""
        host, port = self._listener.getsockname()
        return f"{host}:{port}"

    def forget(self) -> None:
        """Begin to count anew: each answer that came through was counted before it did."""
        with self._lock:
            self.counts.clear()
            self.n_without = 0

    def __enter__(self) -> Self:
        try:
            self._listener.bind(("127.0.0.1", 0))
            self._listener.listen(_LISTENED)
            self._listener.settimeout(_ROUND_MS / 1e3)
        except BaseException:
            self._listener.close()
            raise
        self._acceptor.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._acceptor.join()
        self._listener.close()
        for carrier in self._carriers:
            carrier.join()

    def _accept(self) -> None:
        while not self._is_over.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                # No file descriptor was left, or who came is gone; others come.
                self._is_over.wait(_ROUND_MS / 1e3)
                continue
            carrier = Thread(target=self._carry, args=(client,), name="relayed", daemon=True)
            try:
                carrier.start()
            except RuntimeError:  # no thread was left
                client.close()
                continue
            self._carriers = [each for each in self._carriers if each.is_alive()]
            self._carriers.append(carrier)

    def _carry(self, client: socket.socket) -> None:
        # Whoever hangs up does what may happen on any line: the load counts it.
        with suppress(OSError), client, self._connect() as server:
            for side in (client, server):
                side.settimeout(_PATIENCE_S)
                if side.family != socket.AF_UNIX:
                    side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._pass_on(client, server)

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        seen: bytes | None = b""
        sides = {each.fileno(): each for each in (client, server)}
        ready = select.poll()
        for number in sides:
            ready.register(number, select.POLLIN)
        while not self._is_over.is_set():
            for number, _ in ready.poll(_ROUND_MS):
                side = sides[number]
                piece = side.recv(_PIECE_BYTES)
                if not piece:
                    return
                if side is client:
                    server.sendall(piece)
                    continue
                if seen is not None:
                    seen = self._look(seen + piece)
                client.sendall(piece)

    def _look(self, seen: bytes) -> bytes | None:
        """Count the answer as soon as its head is whole; return what is to be looked at again."""
        head = head_in(seen)
        if head is None:
            return seen if len(seen) <= _LONGEST_HEAD_BYTES else None
        word = first_word(head, self._name)
        with self._lock:
            if word is None:
                self.n_without += 1
            else:
                is_known = word in self.counts or len(self.counts) < _MOST_WORDS
                self.counts[word if is_known else OTHER] += 1
        return None
