"""What an Apache's workers are at, by looks at a page that something on loopback answers with."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from httpdyno.inspection import status
from httpdyno.inspection.status import kept_workers


@contextmanager
def pages(*boards: str) -> Iterator[str]:
    """Answer with one board after the other, over and over; yield the page's address."""
    left = list(boards)

    class Page(BaseHTTPRequestHandler):
        def do_GET(self):
            left.append(left.pop(0))
            body = left[-1].encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/server-status"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(status, "_SAMPLE_EVERY_S", 0.0)


def test_the_means_are_over_all_looks_without_the_worker_that_answers():
    with pages("<pre>WKK_..</pre>", "<pre>WKKKK.</pre>") as url:
        seen = kept_workers(url)
    assert seen is not None
    assert (seen.n_looks, seen.n_workers, seen.n_kept, seen.n_idle) == (10, 3.5, 3.0, 0.5)
    assert seen.kept_ratio == pytest.approx(6 / 7)


def test_another_page_is_asked_once_and_tells_nothing():
    with pages("pool: www\n") as url:
        assert kept_workers(url) is None
