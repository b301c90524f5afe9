"""What is behind a server: whom its requests go on to, and who is no part of it."""

from httpdyno.model.base import Record


class Behind(Record, frozen=True):
    """One place that requests go on to."""

    to: str
    """`127.0.0.1:8000` or `unix:/run/shop.sock`."""
    by: str = ""
    """Who serves it here, `gunicorn 812`; empty where nobody here does who can be seen."""
