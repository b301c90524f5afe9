"""A program that repeats bodies of code inside one process, in place of a server."""

from httpdyno.servers.fragments.program import Batch, Program
from httpdyno.servers.fragments.target import FragmentTarget

__all__ = ["Batch", "FragmentTarget", "Program"]
