"""A page that a process is at for 10 ms."""

import time
from collections.abc import Callable


def application(environ: dict[str, object], start_response: Callable[..., object]) -> list[bytes]:
    """Answer any request."""
    del environ
    time.sleep(0.01)
    body = b"served\n"
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
