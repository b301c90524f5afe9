"""nginx as people run it: read, surveyed and changed in its own files, started as a private copy.

The files are never parsed and built again. `lexer` cuts a text into words that know their bytes,
`tree` makes directives of them, `include` finds all files, `scope` says what is in force where, and
an edit replaces the bytes of one argument.
"""

from httpdyno.servers.nginx.server import Nginx

__all__ = ["Nginx"]
