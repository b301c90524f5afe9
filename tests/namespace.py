"""Servers in network namespaces of their own, with nothing but a loopback in them.

As a program: make such a namespace, answer every GET at a port there with a status, until the end
of what is read.
"""

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def may_make_networks() -> bool:
    """Whether this process may make network namespaces and go into them."""
    if os.geteuid() != 0:
        return False
    tried = [sys.executable, "-S", __file__]
    return subprocess.run(tried, check=False, capture_output=True).returncode == 0


@contextmanager
def serving_elsewhere(port: int, status: int = 200) -> Iterator[str]:
    """Answer at `127.0.0.1:port` of a new namespace; its path is given."""
    command = [sys.executable, "-S", __file__, str(port), str(status)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
        yield f"/proc/{child.pid}/ns/net"
        child.stdin.close()


def leave_network() -> None:
    """Go into a new network namespace, and have its loopback up."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) < 0:
        raise OSError(ctypes.get_errno(), "unshare")
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", IFF_UP))


def serve(status: int, connection: socket.socket) -> None:
    answer = b"HTTP/1.1 %d Fine\r\nContent-Length: 5\r\n\r\nhello" % status
    while connection.recv(65536):
        connection.sendall(answer)


def main(arguments: list[str]) -> None:
    leave_network()
    if not arguments:
        return
    port, status = map(int, arguments)
    listener = socket.create_server(("127.0.0.1", port), backlog=64)
    sys.stdout.write("up\n")
    sys.stdout.flush()

    def accept() -> None:
        while True:
            connection = listener.accept()[0]
            Thread(target=serve, args=(status, connection), daemon=True).start()

    Thread(target=accept, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1:])
