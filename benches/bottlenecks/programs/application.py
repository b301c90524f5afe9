"""A WSGI application for gunicorn; `WORK` is `sleep:SECONDS` or `burn:SECONDS`."""

import os
import time
from collections.abc import Callable

KIND, _, VALUE = os.environ.get("WORK", "burn:0.001").partition(":")
SECONDS = float(VALUE)


def application(_environ: dict[str, object], start_response: Callable[..., object]) -> list[bytes]:
    """Work, then answer."""
    if KIND == "sleep":
        time.sleep(SECONDS)
    else:
        until_s = time.thread_time() + SECONDS
        while time.thread_time() < until_s:
            pass
    start_response("200 OK", [("Content-Length", "2"), ("Content-Type", "text/plain")])
    return [b"ok"]
