"""A small web server inside the test's own process."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

DEADLINE_S = 20.0


class Site(ThreadingHTTPServer):
    """Answers `/`, never `/stall`; leads from `/to/…` to `/…`; else 404. Keeps what it is asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.release = Event()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address):
        """Ignore clients that left: the engine closes connections as it likes."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site
    # An answer is written in two parts; without this the second waits for the client to
    # acknowledge the first.
    disable_nagle_algorithm = True

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.command, self.path, headers, body))
        if self.path == "/stall":
            self.server.release.wait(DEADLINE_S)
        answer = b"hello"
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to"))
        else:
            self.send_response(200 if self.path in {"/", "/stall"} else 404)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET  # noqa: N815 - the name that the base class looks for

    def log_message(self, *_):
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()
    thread = Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield site
    finally:
        site.release.set()
        site.shutdown()
        thread.join()
        site.server_close()
