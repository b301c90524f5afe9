"""Apache httpd as people run it: their own configuration, read from its own dump."""

from httpdyno.servers.apache_site.server import ApacheSite

__all__ = ["ApacheSite"]
