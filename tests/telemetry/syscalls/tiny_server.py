"""A server of one process that makes the same calls in each request; for `python FILE PORT`."""

import contextlib
import os
import socket
import sys


def main() -> None:
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65_536)
            for path in ("/nowhere", "/nowhere/else"):
                with contextlib.suppress(OSError):
                    os.lstat(path)
            with contextlib.suppress(OSError):
                os.open("/nowhere/.htaccess", os.O_RDONLY)
            connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nok\n")


if __name__ == "__main__":
    main()
