"""uvicorn, as this Python or a person's own has it installed."""

from httpdyno.servers.uvicorn.server import Uvicorn

__all__ = ["Uvicorn"]
