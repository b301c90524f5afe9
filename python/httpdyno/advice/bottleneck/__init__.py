"""What limits a server under a load, named with what says so; or why it cannot be told."""

from httpdyno.advice.bottleneck.difference import (
    FIGURES,
    Difference,
    differences,
    memory_differences,
    named_figures,
    unmoved_calls,
)
from httpdyno.advice.bottleneck.other_size import OtherSize, with_other_sizes
from httpdyno.advice.bottleneck.verdict import bottleneck, of_the_server, remark_on, with_own_words

__all__ = [
    "FIGURES",
    "Difference",
    "OtherSize",
    "bottleneck",
    "differences",
    "memory_differences",
    "named_figures",
    "of_the_server",
    "remark_on",
    "unmoved_calls",
    "with_other_sizes",
    "with_own_words",
]
