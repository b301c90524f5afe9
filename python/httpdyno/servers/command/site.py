"""Where installations from before the kinds of servers had one adapter look for that of node."""

from httpdyno.servers.command.server import Node as NodeSite

__all__ = ["NodeSite"]
