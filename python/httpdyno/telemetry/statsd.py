"""What gunicorn sends of itself as statsd, added up packet by packet. Pure.

It sends three packets for each answer: that there was one, its status, and how long the worker was
at it, from when it had the request until the answer was written; and one for each line of its log
from warning upwards. How many workers there are it says only when that changes.

Source: gunicorn 27's gunicorn/instrument/statsd.py; statsd's docs/metric_types.md.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from httpdyno.telemetry.status_text import GUNICORN, Status

_METRIC = re.compile(
    rb"(?:^|\.)gunicorn\.(?P<name>[a-z_.0-9]+):(?P<value>\d{1,15}(?:\.\d{1,9})?)\|(?:c|ms)(?:\||$)"
)
"""Behind whatever prefix it is told to have. A sampling rate is always 1, tags may follow."""
_STATUS = "request.status."
_LOG = "log."
_ANSWERED = "requests"
_TOOK = "request.duration"
_LOGGED = ("critical", "exception", "error", "warning")


@dataclass(kw_only=True, slots=True)
class Told:
    """All that came so far."""

    n_answers: int = 0
    n_timed: int = 0
    timed_s: float = 0.0
    """What these took of workers together."""
    classes: Counter[str] = field(default_factory=Counter)
    """Answers by the first digit of their status."""
    logged: Counter[str] = field(default_factory=Counter)
    """Lines of its log by level."""

    def add(self, packet: bytes) -> None:
        """Take in a packet; what is nothing of gunicorn's is nothing here."""
        for line in packet.splitlines():
            if found := _METRIC.search(line):
                self._add(found["name"].decode("ascii"), float(found["value"]))

    def _add(self, name: str, value: float) -> None:
        if name == _ANSWERED:
            self.n_answers += int(value)
        elif name == _TOOK:
            self.n_timed += 1
            self.timed_s += value / 1e3
        elif name.startswith(_STATUS):
            self.classes[name.removeprefix(_STATUS)[:1]] += int(value)
        elif name.startswith(_LOG):
            self.logged[name.removeprefix(_LOG)] += int(value)

    def __add__(self, other: "Told") -> "Told":
        """Return what both came to."""
        return Told(
            n_answers=self.n_answers + other.n_answers,
            n_timed=self.n_timed + other.n_timed,
            timed_s=self.timed_s + other.timed_s,
            classes=self.classes + other.classes,
            logged=self.logged + other.logged,
        )


def statsd_status(before: Told, now: Told, n_lost: int) -> Status:
    """Return what was told, as a server's status.

    Args:
        before: What had come when it was asked for before.
        now: What has come until now.
        n_lost: Packets that came too fast to be taken in.
    """
    n_timed = now.n_timed - before.n_timed
    failed = {f"answers of {digit}xx": now.classes[digit] for digit in "45"}
    logged = {f"lines of {level} in its log": now.logged[level] for level in _LOGGED}
    lost = {"packets that came too fast and are in no figure": n_lost}
    return Status(
        server=GUNICORN,
        of="workers",
        states={},
        answering="",
        n_requests=now.n_answers,
        uptime_s=None,
        counts_itself=False,
        answer_s=(now.timed_s - before.timed_s) / n_timed if n_timed else None,
        remarks=tuple(f"{words}: {n:,}" for words, n in (failed | logged | lost).items() if n),
    )
