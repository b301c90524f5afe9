"""What is kept of each start: a line of JSON each, in a file that grows."""

import math
import os
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec
from benches.power.work.record import Truths, Window


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A start measured in one way."""

    way: str
    is_disturbed: bool
    took_s: float
    windows: tuple[Window, ...]
    p50_s: tuple[float, ...]
    """Of all windows of an arm together; (n_arms,)."""
    p90_s: tuple[float, ...]

    @property
    def is_usable(self) -> bool:
        """Whether both arms have all figures, and every request got the right answer."""
        return (
            {w.arm for w in self.windows} == {0, 1}
            and all(w.n_right == w.n_offered and w.n_right > 0 for w in self.windows)
            and min(*self.p50_s, *self.p90_s) > 0
        )

    def arm(self, arm: int) -> list[Window]:
        """Return an arm's windows, in the order of their blocks."""
        return sorted((w for w in self.windows if w.arm == arm), key=lambda w: w.block)

    def log_ratio(self, metric: str) -> float:
        """Return log(b / a) of the totals over all windows."""
        a, b = (self._figure(metric, arm) for arm in (0, 1))
        return math.log(b / a)

    def _figure(self, metric: str, arm: int) -> float:
        if metric in {"p50", "p90"}:
            return (self.p50_s if metric == "p50" else self.p90_s)[arm]
        return _of_windows(metric, self.arm(arm))

    def block_log_ratios(self, metric: str) -> list[float]:
        """Return log(b / a) of each block; (n_blocks,). Empty where a window has no figure."""
        pairs = zip(self.arm(0), self.arm(1), strict=True)
        figures = [tuple(_of_window(metric, w) for w in pair) for pair in pairs]
        if any(min(pair) <= 0 for pair in figures):
            return []
        return [math.log(b / a) for a, b in figures]


class Start(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="start"):
    """Both servers of a start, measured in several ways."""

    began_at: str
    size: str
    units: tuple[int, int]
    parts: tuple[Part, ...]
    truths: Truths
    """log(b / a)."""
    ready_s: float
    """What it took until both servers were up and warm."""
    steal_cores: float


class Head(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="head"):
    """What the following starts have in common."""

    began_at: str
    server: str
    version: str
    cpu: str
    kernel: str
    seed: int
    units: int
    shares: Truths
    """By how much a figure grows when a request works twice as much, over what it is."""
    share_errors: Truths
    """Standard errors of those."""
    costs_s: dict[str, float]
    """CPU seconds of a request of `units`, by circumstances."""


def _of_window(metric: str, window: Window) -> float:
    """Return a window's figure; 0 for none. A window holds too few requests for its p90."""
    if metric == "cpu":
        return window.cpu_s / window.n_right
    if metric == "throughput":
        return window.right / window.measured_s
    return window.p50_s if metric == "p50" else 0.0


def _of_windows(metric: str, windows: Sequence[Window]) -> float:
    if metric == "cpu":
        return sum(w.cpu_s for w in windows) / sum(w.n_right for w in windows)
    return sum(w.right for w in windows) / sum(w.measured_s for w in windows)


_LINE = msgspec.json.Decoder(Head | Start)


def append(file: Path, record: Head | Start) -> None:
    """Add a record; those that are in the file stay whole whatever happens.

    A last line that was cut off goes: behind it the new one would be read by nobody.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.ftruncate(handle, file.read_bytes().rfind(b"\n") + 1)
        left = memoryview(msgspec.json.encode(record) + b"\n")
        # A disk that becomes full takes a part first, and says so the next time.
        while left:
            left = left[os.write(handle, left) :]
    finally:
        os.close(handle)


def lacking(
    starts: Sequence[Start], sizes: Sequence[str], n_each: int, keys: Collection[tuple[str, bool]]
) -> list[str]:
    """Return the sizes that are still to be measured, each as often as it is lacking.

    Args:
        starts: What there is.
        sizes: What is asked for.
        n_each: How often each of them.
        keys: In which ways, disturbed or not: a start that was measured in fewer is none of them.
    """
    have = Counter(
        start.size
        for start in starts
        if {*keys} <= {(part.way, part.is_disturbed) for part in start.parts}
    )
    return [size for size in sizes for _ in range(n_each - have[size])]


def read(file: Path) -> tuple[list[Head], list[Start]]:
    """Return what a file holds; a last line that was cut off is left out."""
    lines = file.read_bytes().split(b"\n")[:-1]
    records = [_LINE.decode(line) for line in lines]
    heads = [record for record in records if isinstance(record, Head)]
    return heads, [record for record in records if isinstance(record, Start)]
