"""Any command as a server."""

from httpdyno.servers.command.server import Command

__all__ = ["Command"]
