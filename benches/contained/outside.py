"""What stands outside of a copy: listeners at loopback addresses that count, digests of places."""

import select
import socket
import threading
from pathlib import Path

from benches.untouched.__main__ import tree

_WAIT_S = 0.05
_DRAIN_S = 1.0
_LARGEST_BYTES = 65_536
_INTERFACE_COUNTERS = (1, 9)
"""Columns of `/proc/net/dev`: packets received and sent."""


class Listener:
    """Takes connections or datagrams, and counts what came: their number and their bytes."""

    def __init__(self, family: int, kind: int, address) -> None:
        self.n_taken = 0
        self.n_bytes = 0
        self._kind = kind
        self._socket = socket.socket(family, kind)
        self._socket.bind(address)
        if kind == socket.SOCK_STREAM:
            self._socket.listen(64)
        self._is_over = False
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Take no more; idempotent."""
        self._is_over = True
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._is_over:
            if not select.select([self._socket], [], [], _WAIT_S)[0]:
                continue
            if self._kind == socket.SOCK_DGRAM:
                self.n_bytes += len(self._socket.recv(_LARGEST_BYTES))
                self.n_taken += 1
                continue
            connection, _ = self._socket.accept()
            self.n_taken += 1
            with connection:
                connection.settimeout(_DRAIN_S)
                try:
                    while content := connection.recv(_LARGEST_BYTES):
                        self.n_bytes += len(content)
                except OSError:
                    pass  # Reset, or silent: that it came is counted.


class Outside:
    """All that is looked at: attempt → how much of it was seen since it was last looked at."""

    def __init__(self, places: dict[str, str], listeners: dict[str, Listener]) -> None:
        self._places = places
        self._listeners = listeners
        self.begin()

    def begin(self) -> None:
        """Remove what was written, and count anew."""
        for place in self._places.values():
            for file in Path(place).iterdir():
                file.unlink()
        self._trees = {name: tree([place]) for name, place in self._places.items()}
        self._times = {name: Path(at).stat().st_mtime_ns for name, at in self._places.items()}
        self._counts = {name: (x.n_taken, x.n_bytes) for name, x in self._listeners.items()}
        self._packets = packets()

    def seen(self) -> dict[str, str]:
        """Return what was seen of each attempt; empty where that is nothing."""
        found = {}
        for name, place in self._places.items():
            before, after = self._trees[name], tree([place])
            n_files = sum(before.get(at) != after.get(at) for at in {*before, *after})
            is_touched = Path(place).stat().st_mtime_ns != self._times[name]
            found[name] = f"{n_files} files" if n_files else "touched" * is_touched
        for name, listener in self._listeners.items():
            n_taken, n_bytes = self._counts[name]
            n_taken, n_bytes = listener.n_taken - n_taken, listener.n_bytes - n_bytes
            found[name] = f"{n_taken} × {n_bytes} B" if n_taken or n_bytes else ""
        return found

    def packets(self) -> int:
        """Return the packets of all interfaces since it began."""
        return packets() - self._packets


def packets() -> int:
    """Return the packets of all interfaces of this network namespace, received and sent."""
    lines = Path("/proc/thread-self/net/dev").read_text().splitlines()[2:]
    rows = [line.partition(":")[2].split() for line in lines]
    return sum(int(row[column]) for row in rows for column in _INTERFACE_COUNTERS)
