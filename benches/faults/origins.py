"""The load engine against hostile origins: whether each run ends in time, and in how much memory.

Time and memory are the whole process's, as the kernel says them when it has ended; of memory it
says what a child has in common with its parent too, so a small process stands between.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benches.engine.process import PEAK
from benches.faults.family import Count
from benches.faults.hostile_origin import KINDS, SIZES

_PROGRAM = (str(Path(sys.executable).with_name("httpdyno")),)
_ORIGIN = Path(__file__).with_name("hostile_origin.py")
DURATION_S = 0.5
PATIENCE_S = 0.5
SLACK_S = 2.0
_CONNECTIONS = 8
_KILLED_AFTER_S = 30.0
MOST_BYTES = 59 * 1_000_000
"""Resident, the most there ever was."""
_KIB = 1024
_CODES = (0, 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Load:
    """What became of one run of load."""

    name: str
    code: int
    text: str
    took_s: float
    resident_bytes: int

    @property
    def complaint(self) -> str:
        """What is wrong with what it said; empty when nothing is."""
        is_well = self.code in _CODES and "Traceback" not in self.text
        return "" if is_well else f"{self.name}: code {self.code}: {self.text.strip()[-200:]}"


def measure(n: int, seed: int) -> Iterator[Count]:
    """Load n origins: all kinds of one size, then of the next."""
    pairs = [(kind, size) for size in SIZES for kind in KINDS]
    random.Random(seed).shuffle(pairs)
    loads = [loaded(kind, size) for kind, size in pairs[:n]]
    late = [each for each in loads if each.took_s > DURATION_S + PATIENCE_S + SLACK_S]
    slowest = max(loads, key=lambda each: each.took_s)
    unwell = [each.complaint for each in loads if each.complaint]
    largest = max(loads, key=lambda each: each.resident_bytes)
    yield Count(
        name="runs that did not end in time",
        value=len(late),
        n=len(loads),
        note=f"the longest took {slowest.took_s:.1f} s: {slowest.name}",
    )
    yield Count(
        name="runs without a result", value=len(unwell), n=len(loads), note="".join(unwell[:1])
    )
    yield Count(
        name="MB resident at most",
        value=largest.resident_bytes / 1e6,
        n=len(loads),
        at_most=MOST_BYTES / 1e6,
        note=largest.name,
    )


def loaded(kind: str, size: int) -> Load:
    """Load one origin."""
    with _origin(kind, size) as port, tempfile.TemporaryFile() as said:
        words = ["load", "-d", f"{DURATION_S}s", "-c", str(_CONNECTIONS)]
        words += ["--timeout", f"{PATIENCE_S}s"]
        address = f"127.0.0.1:{port}/"
        words += [f"https://{address}", "--insecure"] if kind == "TLS" else [f"http://{address}"]
        began_s = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", PEAK, *_PROGRAM, *words],
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            process_group=0,
        )
        try:
            code = process.wait(_KILLED_AFTER_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        took_s = time.monotonic() - began_s
        said.seek(0)
        text, _, peak = said.read().decode("utf-8", "replace").rstrip().rpartition("\n")
        return Load(
            name=f"{kind}, {size:,}",
            code=code,
            text=text,
            took_s=took_s,
            # Of one that was killed nobody knows it.
            resident_bytes=int(peak) * _KIB if peak.isdecimal() else 0,
        )


@contextmanager
def _origin(kind: str, size: int) -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(_ORIGIN), kind, str(size)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()
