"""The figures of a look that verdicts rest on, each by a name with its unit; pure."""

from functools import cached_property

from httpdyno.model import Look
from httpdyno.units import format_number, format_percent


class Facts:
    """A look, as the tests ask it. Rates are per second of the look."""

    def __init__(self, look: Look) -> None:
        self.look = look

    def at(self, *doing: str) -> float:
        """Return the mean number of workers that were at one of these."""
        return sum(self.look.doing.get(name, 0.0) for name in doing)

    def share(self, *doing: str) -> float:
        """Return that as a part of all workers that live."""
        return self.at(*doing) / self.workers if self.workers else 0.0

    @cached_property
    def workers(self) -> float:
        """Workers that live."""
        return self.look.workers - self.at("zombie")

    @cached_property
    def busy(self) -> float:
        """Workers that were at anything but waiting for work."""
        return self.workers - self.at("idle")

    @cached_property
    def are_all_busy(self) -> bool:
        """Whether hardly ever one was free."""
        return self.busy >= _ALL_BUSY * self.workers

    @cached_property
    def waiting(self) -> float:
        """Connections in the listen queues, mean."""
        return sum(queue.mean for queue in self.look.queues)

    @cached_property
    def unserved(self) -> float:
        """Requests under way that no worker was at: they wait somewhere."""
        return max(self.waiting, self.look.clients - self.busy)

    @cached_property
    def cpu_cores(self) -> float:
        """Cores that the server used."""
        return self.look.cpu_s / self.look.seconds

    @cached_property
    def client_cores(self) -> float:
        """Cores that the load client used, on the same machine."""
        return self.look.client_cpu_s / self.look.seconds

    @cached_property
    def is_cpu_full(self) -> bool:
        """Whether what it may use was used up, by it or by the whole machine."""
        look = self.look
        return (
            look.host_busy >= _FULL * look.host_cpus > 0 or self.cpu_cores >= _FULL * look.cpus > 0
        )

    @cached_property
    def has_cpu_left(self) -> bool:
        """Whether much of it was left: between the two nothing is said."""
        look = self.look
        return look.host_busy <= _LEFT * look.host_cpus and self.cpu_cores <= _LEFT * look.cpus

    @cached_property
    def is_met(self) -> bool:
        """Whether a schedule had all of its answers."""
        look = self.look
        return 0 < look.offered <= look.answers * (1 + _MISSED)

    def per_answer(self, count: float) -> float:
        """Return so many for each answer; infinity without answers."""
        return count / self.look.answers if self.look.answers else float("inf")

    def per_s(self, count: float) -> float:
        """Return so many a second."""
        return count / self.look.seconds

    @property
    def cores_text(self) -> str:
        """Say what the machine's cores did."""
        look = self.look
        client = f", {of(self.client_cores)} by the load client" if self.client_cores else ""
        return (
            f"{of(look.host_busy)} of {look.host_cpus} cores were busy, "
            f"{of(self.cpu_cores)} by the server{client}"
        )

    @property
    def workers_text(self) -> str:
        """Say how many workers there are."""
        return f"{of(self.workers)} workers"


_ALL_BUSY = 0.92
"""Of the workers, on average: fewer are free now and then."""
_FULL = 0.9
"""Of the cores: more is seldom seen, since client and server wait for each other."""
_LEFT = 0.8
_MISSED = 0.02
"""Of the requests that were due: less are those under way at the edges."""


def of(value: float) -> str:
    """Write a mean number of something."""
    return format_number(value, 0 if value >= 10 else 1)  # noqa: PLR2004 - digits that matter


def percent(ratio: float) -> str:
    """Write a part."""
    return format_percent(ratio)
