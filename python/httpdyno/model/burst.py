"""What a short burst of load did to a private copy, once, before anything is measured."""

import math

import msgspec

from httpdyno.model.base import Record


class Burst(Record, frozen=True):
    """Some clients at once for a moment: no measurement, but what only load shows."""

    duration_s: float
    connections: int
    n_answers: int
    """Requests that were answered, with whatever status."""
    n_failed: int
    """Requests that got no answer: refused, closed, out of time."""
    statuses: dict[str, int] = msgspec.field(default_factory=dict)
    """How many answers had each."""
    n_connects: int = 0
    n_handshakes_full: int = 0
    n_handshakes_resumed: int = 0
    waiting: dict[str, int] = msgspec.field(default_factory=dict)
    """Listening address → the most connections that waited there to be taken at one look; those
    where none did are left out."""
    unread: dict[str, int] = msgspec.field(default_factory=dict)
    """Listening address → at how many of its connections something was there that no process had
    read, at the median look; those without are left out."""
    overflows: int | None = None
    """Connections that found the queue of a listener full. None where it is the whole machine's
    count, which others add to."""
    cpu_s: float = 0.0
    """CPU time of all members."""
    ready_s: float | None = None
    """For how long threads of theirs were ready and waited for a CPU, all together; None where the
    kernel does not tell."""
    idle_ratio: float = 0.0
    """Of all CPU time of this machine: nobody used it."""

    @property
    def cpus_busy(self) -> float:
        """How many CPUs the members kept busy, on average."""
        return self.cpu_s / self.duration_s if self.duration_s > 0 else 0.0

    def cpus_wanted(self, n_workers: float) -> float:
        """Return how many CPUs so many workers would have kept busy, had nobody else been there.

        Then they had not waited for CPUs, and were as long asleep for each answer.
        """
        free_s = self.duration_s - (self.ready_s or 0.0) / max(1.0, n_workers)
        return self.cpu_s / free_s if free_s > 0 else math.inf

    @property
    def limited(self) -> int:
        """Answers that say that too much was asked: 503 and 429."""
        return self.statuses.get("503", 0) + self.statuses.get("429", 0)
