"""Apache httpd 2.4, from the system's packages."""

from httpdyno.servers.apache.server import Apache

__all__ = ["Apache"]
