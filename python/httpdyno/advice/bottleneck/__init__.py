"""What limits a server under a load, named with what says so; or why it cannot be told."""

from httpdyno.advice.bottleneck.verdict import bottleneck

__all__ = ["bottleneck"]
