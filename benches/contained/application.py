"""An application that reaches out wherever it can, as it starts and each time that it is asked.

Run as `python -S application.py SETTINGS --port PORT`, with the standard library only. An attempt
that fails is no error: it answers 200 in any case.
"""

import http.server
import json
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

PATIENCE_S = 2.0
DNS_QUERY = (
    b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x08outwards\x07example\x00\x00\x01\x00\x01"
)


def attempt_all(settings: dict, when: str) -> None:
    """Make each attempt once."""
    for folder in settings["folders"].values():
        attempted(lambda folder=folder: Path(folder, when).write_text("was here"))
    attempted(lambda: subprocess.run([settings["sendmail"]], input=b"a mail", check=False))
    for host, port in settings["tcp"].values():
        attempted(lambda host=host, port=port: called(host, port))
    attempted(lambda: asked(*settings["dns"]))
    attempted(lambda: talked(settings["unix"]))


def attempted(attempt) -> None:
    """Do it; what the system refuses is refused."""
    with suppress(OSError):
        attempt()


def called(host: str, port: int) -> None:
    """Connect, and send a little."""
    with socket.create_connection((host, port), timeout=PATIENCE_S) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")


def asked(host: str, port: int) -> None:
    """Ask a name server."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.sendto(DNS_QUERY, (host, port))


def talked(path: str) -> None:
    """Connect to a socket in the file system, and send a little."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE_S)
        connection.connect(path)
        connection.sendall(b"select 1")


def main() -> None:
    """Attempt all, then serve."""
    settings = json.loads(Path(sys.argv[1]).read_text())

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            attempt_all(settings, "asked")
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    attempt_all(settings, "started")
    http.server.ThreadingHTTPServer(("", int(sys.argv[3])), Handler).serve_forever()


if __name__ == "__main__":
    main()
