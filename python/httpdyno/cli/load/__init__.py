"""`httpdyno load`: its options, what they come to, the run, and what it gives out."""

from httpdyno.cli.load.run import EXAMPLE, command

__all__ = ["EXAMPLE", "command"]
