"""A server that waits 10 ms for each question and takes one at a time: `python -S backend.py PORT`.

As a database behind one lock: it is not the CPU that those who ask wait for.
"""

import socket
import sys
import time
from contextlib import suppress

TAKES_S = 0.01


def main() -> None:
    """Answer for ever."""
    listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1024)
    while True:
        connection, _ = listener.accept()
        with connection, suppress(ConnectionError):
            if connection.recv(64):
                time.sleep(TAKES_S)
                connection.sendall(b"1\n")


if __name__ == "__main__":
    main()
