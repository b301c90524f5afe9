"""A server of forked workers, each of which serves one connection at a time.

Run as `python -S pool.py --port PORT --workers 4 --work sleep:0.02`, with the standard library
only. What a request does is one word:

- `none`: it is answered at once;
- `sleep:SECONDS`: waits for the clock;
- `burn:SECONDS`: uses that much CPU time;
- `walk:TIMES`: sums up the worker's own 1 MiB so many times: fixed work, in its caches or not;
- `ask:PORT`: connects to a server on this machine and waits for its word;
- `sync:FOLDER`: writes 128 KiB into a new file, as an upload, and waits until it is on the disk;
- `locked:FILE`: holds the one lock of all workers for 5 ms;
- `touch:FILE`: looks at 20 pages anywhere in a file that is mapped into memory.
"""

import argparse
import fcntl
import mmap
import os
import random
import signal
import socket
import sys
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

HELD_S = 0.005
WALKED_BYTES = 1 << 20
N_TOUCHED = 20


def work_of(word: str) -> Callable[[], None]:
    """Return what a worker does for each request; called by it, so that nothing is shared."""
    kind, _, value = word.partition(":")
    return WORKS[kind](value)


def none(_value: str) -> Callable[[], None]:
    """Nothing."""
    return lambda: None


def sleep(value: str) -> Callable[[], None]:
    """Wait for the clock."""
    seconds = float(value)
    return lambda: time.sleep(seconds)


def burn(value: str) -> Callable[[], None]:
    """Use CPU time."""
    seconds = float(value)

    def work() -> None:
        until_s = time.thread_time() + seconds
        while time.thread_time() < until_s:
            pass

    return work


def walk(value: str) -> Callable[[], None]:
    """Read memory of its own."""
    times = int(value)
    own = bytearray(random.randbytes(WALKED_BYTES))

    def work() -> None:
        for _ in range(times):
            zlib.crc32(own)

    return work


def ask(value: str) -> Callable[[], None]:
    """Wait for another server."""
    port = int(value)

    def work() -> None:
        with socket.create_connection(("127.0.0.1", port)) as backend:
            backend.sendall(b"select 1\n")
            backend.recv(64)

    return work


def sync(folder: str) -> Callable[[], None]:
    """Wait for the disk."""
    text = bytes(128 << 10)
    names = (f"{folder}/{os.getpid()}-new", f"{folder}/{os.getpid()}")

    def work() -> None:
        handle = os.open(names[0], os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.write(handle, text)
        os.fsync(handle)
        os.close(handle)
        Path(names[0]).rename(names[1])

    return work


def locked(path: str) -> Callable[[], None]:
    """Hold what all the others want."""
    # A description of its own: one inherited over the fork would hold one lock for all.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def work() -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)
        time.sleep(HELD_S)
        fcntl.flock(handle, fcntl.LOCK_UN)

    return work


def touch(path: str) -> Callable[[], None]:
    """Look at pages anywhere in a file."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    mapped = mmap.mmap(handle, 0, prot=mmap.PROT_READ)
    mapped.madvise(mmap.MADV_RANDOM)
    size = len(mapped)

    def work() -> None:
        for _ in range(N_TOUCHED):
            _ = mapped[random.randrange(size)]

    return work


WORKS = {
    "none": none,
    "sleep": sleep,
    "burn": burn,
    "walk": walk,
    "ask": ask,
    "sync": sync,
    "locked": locked,
    "touch": touch,
}


def serve(listener: socket.socket, arguments: argparse.Namespace) -> None:
    """Take one connection after the other."""
    work = work_of(arguments.work)
    body = bytes(arguments.answer)
    sized = b"Content-Length: %d\r\n" % len(body)
    if arguments.bytewise:
        body, sized = b"1\r\n\0\r\n" * len(body) + b"0\r\n\r\n", b"Transfer-Encoding: chunked\r\n"
    how = b"keep-alive" if arguments.keep_alive else b"close"
    answer = b"HTTP/1.1 200 OK\r\n%bConnection: %b\r\n\r\n%b" % (sized, how, body)
    while True:
        connection, _ = listener.accept()
        with connection, suppress(ConnectionError):
            while asked(connection):
                work()
                connection.sendall(answer)
                if not arguments.keep_alive:
                    break


def asked(connection: socket.socket) -> bool:
    """Read a request without a body; False where the client is gone."""
    seen = b""
    while b"\r\n\r\n" not in seen:
        more = connection.recv(4096)
        if not more:
            return False
        seen += more
    return True


def crew(listener: socket.socket, arguments: argparse.Namespace) -> None:
    """Serve with all threads of one process."""
    for _ in range(arguments.threads - 1):
        threading.Thread(target=serve, args=(listener, arguments), daemon=True).start()
    serve(listener, arguments)


def main() -> None:
    """Fork the workers and keep them until told to end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--backlog", type=int, default=1024)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1, help="of each worker")
    parser.add_argument("--work", default="none")
    parser.add_argument("--answer", type=int, default=100, help="bytes")
    parser.add_argument("--bytewise", action="store_true", help="each byte of it is a chunk")
    parser.add_argument("--keep-alive", action="store_true")
    arguments = parser.parse_args()
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", arguments.port))
    signal.signal(signal.SIGTERM, ended)
    begin, started = os.pipe()
    children = []
    try:
        for _ in range(arguments.workers):
            child = os.fork()
            if not child:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.close(started)
                os.read(begin, 1)  # Until the other end is closed.
                try:
                    crew(listener, arguments)
                finally:
                    os._exit(1)  # What follows is the parent's to do.
            children.append(child)
        # Who sees it listen finds all of them there.
        listener.listen(arguments.backlog)
        os.close(started)
        while True:
            signal.pause()
    finally:
        for child in children:
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)


def ended(*_: object) -> None:
    """Leave, and take the workers along."""
    sys.exit(0)


if __name__ == "__main__":
    main()
