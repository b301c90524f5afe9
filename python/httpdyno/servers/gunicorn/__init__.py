"""gunicorn, as this Python has it installed."""

from httpdyno.servers.gunicorn.server import Gunicorn

__all__ = ["Gunicorn"]
