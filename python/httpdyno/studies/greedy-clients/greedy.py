"""A greedy client: `greedy.py ADDRESS CONNECTIONS SECONDS`.

So many connections from 127.0.0.2, each asking again as soon as it was answered. Who is turned away
tries again a tenth of a second later: without that pause it would take the processor from those who
are to be measured. All of it ends with its time, or before.
"""

import socket
import sys
import threading
import time

SOURCE = "127.0.0.2"
REQUEST = b"GET /page HTTP/1.0\r\nHost: pages\r\nConnection: close\r\n\r\n"
PAUSE_S = 0.1


def asked(address: tuple[str, int], left_s: float) -> bool:
    """Return whether it was answered with a page."""
    with socket.socket() as line:
        line.settimeout(left_s)
        line.bind((SOURCE, 0))
        line.connect(address)
        line.sendall(REQUEST)
        answer = b""
        while part := line.recv(4096):
            answer += part
    return answer.startswith(b"HTTP/1.1 200")


def ask_on(address: tuple[str, int], end_s: float, n_answers: dict[bool, int]) -> None:
    """Ask until the time is up, counting pages and refusals."""
    while (left_s := end_s - time.monotonic()) > 0:
        try:
            is_page = asked(address, left_s)
        except OSError:
            is_page = False
        n_answers[is_page] += 1
        if not is_page:
            time.sleep(min(PAUSE_S, max(0.0, end_s - time.monotonic())))


def main(address: str, n_connections: int, seconds: float) -> None:
    """Ask on all connections at once; say what came of it."""
    host, _, port = address.rpartition(":")
    end_s = time.monotonic() + seconds
    counts = [{True: 0, False: 0} for _ in range(n_connections)]
    lines = [
        threading.Thread(target=ask_on, args=((host, int(port)), end_s, each), daemon=True)
        for each in counts
    ]
    for line in lines:
        line.start()
    for line in lines:
        line.join()
    pages, refused = (sum(each[what] for each in counts) for what in (True, False))
    sys.stdout.write(f"{pages} pages, {refused} times turned away\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
