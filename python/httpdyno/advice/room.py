"""How many workers of a pool memory has room for, with the numbers that say so. Pure."""

from httpdyno.model import Record
from httpdyno.units import format_bytes, format_duration, format_percent


class WorkerRoom(Record, frozen=True):
    """Of one pool of a copy, while its other pools stay as they are: n = (T − reserve − P) / u.

    Source: `telemetry/memory_bound.py`, which it is of.
    """

    member: str
    pool: str = ""
    """Of php-fpm where it has several; else a member is one pool."""
    n: int | None = None
    """Processes; None where that is not known."""
    unknown: str = ""
    """Why it is not."""
    free_bytes: int = 0
    """What the machine had free before there was a copy."""
    n_copies: int = 1
    """So many share it, one beside the other."""
    held_bytes: int = 0
    """What all else of the copy holds."""
    available_bytes: int = 0
    """T: a copy's share of what is free, less what is held; what a limit leaves, if less."""
    is_by_limit: bool = False
    """Whether T is what the limit of the running server's control group leaves."""
    reserve_bytes: int = 0
    """Of T not given out."""
    once_bytes: int = 0
    """P: the parent, and what its workers share."""
    each_bytes: int = 0
    """In u: the largest worker's own."""
    kernel_bytes: int = 0
    """In u besides: the kernel's for a worker."""
    age_s: float = 0.0
    """Of that worker."""
    is_of_running: bool = False
    """Whether it is one of the server that runs: its workers are older than those of a copy."""

    def __str__(self) -> str:
        """Return it in words, with its numbers."""
        if self.n is None:
            return f"nothing bounds it by memory: {self.unknown}"
        name = f"`{self.pool}`" if self.pool else "this pool"
        whole = f"{format_bytes(self.free_bytes)} free"
        if self.n_copies > 1:
            whole += f" for {self.n_copies} copies"
        held = f", others hold {format_bytes(self.held_bytes)}" if self.held_bytes else ""
        if self.is_by_limit:
            left = format_bytes(self.available_bytes)
            whole, held = f"the running server's control group leaves it {left}", ""
        room = format_bytes(self.available_bytes - self.reserve_bytes)
        share = self.reserve_bytes / self.available_bytes if self.available_bytes else 0.0
        kernel = f" + {format_bytes(self.kernel_bytes)} of the kernel" if self.kernel_bytes else ""
        whose = "of the server that runs" if self.is_of_running else "of the copy"
        return (
            f"memory has room for {self.n:,} processes of {name}: ({room} − "
            f"{format_bytes(self.once_bytes)} that is there once) / "
            f"({format_bytes(self.each_bytes)}{kernel}), the own of the largest worker {whose}, "
            f"{format_duration(self.age_s)} old; {whole}{held}, "
            f"{format_percent(share)} in reserve"
        )
