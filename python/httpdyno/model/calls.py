"""What bodies of code take that a program repeats inside one process."""

from httpdyno.model.base import Record


class Calls(Record, frozen=True, omit_defaults=True):
    """What belongs to a batch of calls besides its own time: the empty body's, in the same block.

    Times are by httpdyno's own account of the process, without what asking for a batch takes.
    """

    n_empty: int
    """Passes of the empty body."""
    empty_cpu_s: float
    """Of all those passes."""
    empty_wall_s: float
    said_cpu_s: float = 0.0
    """What the program itself says that the batch took of CPU time; 0 where it says nothing."""


class CallFigures(Record, frozen=True):
    """What a call of one body takes, the empty body's time taken off; a mean over all starts."""

    n_calls: int
    cpu_s: float
    """Below 0 where it took less than the empty body."""
    wall_s: float
    empty_cpu_s: float
    """Of a pass of the empty body; it is taken off already."""
    empty_wall_s: float

    @property
    def dilation(self) -> float:
        """Wall time over CPU time, the empty body's in both: above 1 others had the core too.

        0 where no CPU time was seen.
        """
        cpu_s = self.cpu_s + self.empty_cpu_s
        return (self.wall_s + self.empty_wall_s) / cpu_s if cpu_s > 0 else 0.0
