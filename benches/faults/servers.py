"""What is said of servers that misbehave, how long it takes, and what they leave."""

import os
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benches.faults.family import Count
from benches.faults.misbehaving import KINDS, PRELUDE, UP, Kind
from tests.conformance.script_server import ScriptServer

from httpdyno.model import Configuration, ServerSpec
from httpdyno.report.shared.message import text
from httpdyno.servers.adapter import NotRunning, Running
from httpdyno.servers.limits.control_group import parent_group
from httpdyno.servers.run.folder import RunRoot, new_run_root
from httpdyno.servers.stack.templates import TemplateStack

SLACK_S = 20.0
"""Beyond what a kind is waited for: the bounds of a stop together, on a busy machine."""


@dataclass(kw_only=True)
class Found:
    """What came of one server."""

    said: str
    detail: str
    took_s: float
    left: list[str] = field(default_factory=list)

    def complaint(self, kind: Kind) -> str:
        """Return what is wrong with what was said of it; empty when nothing is."""
        if self.said not in kind.expected:
            return f"{self.said} where {' or '.join(kind.expected)} was right: {self.detail}"
        if self.said != UP and kind.words not in self.detail:
            return f"`{kind.words}` is not in: {self.detail}"
        return ""


def measure(n: int, seed: int) -> Iterator[Count]:
    """Start each kind n times."""
    del seed
    wrong, left, unbounded = Counter[str](), Counter[str](), Counter[str]()
    kinds = {name: kind for name, kind in KINDS.items() if not kind.needs_root or _is_root()}
    slowest_s = 0.0
    with new_run_root() as root:
        for number in range(n):
            for name, kind in kinds.items():
                found = tried(kind, root, f"faults-{os.getpid()}-{number}-{name.replace(' ', '-')}")
                wrong[f"{name}: {found.complaint(kind)}"] += bool(found.complaint(kind))
                left[f"{name}: {' '.join(found.left)}"] += bool(found.left)
                over_s = found.took_s - kind.timeout_s * (found.said != UP)
                unbounded[f"{name}: {found.took_s:.1f} s"] += over_s > SLACK_S
                slowest_s = max(slowest_s, found.took_s)
    tries = n * len(kinds)
    yield Count(
        name=f"kinds ({len(kinds)}) told wrong", value=wrong.total(), n=tries, note=_worst(wrong)
    )
    yield Count(name="left something behind", value=left.total(), n=tries, note=_worst(left))
    yield Count(
        name="waits without a bound",
        value=unbounded.total(),
        n=tries,
        note=_worst(unbounded) or f"the longest took {slowest_s:.1f} s",
    )


def tried(kind: Kind, root: RunRoot, token: str) -> Found:
    """Start one, wait until it is ready or not, end it, and look what is left."""
    handles = _handles()
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        (Path(name) / "server.py").write_text(PRELUDE + kind.script + "\n", encoding="utf-8")
        spec = ServerSpec(adapter="script", settings={"script": "server.py", "token": token})
        place = root.new_place("misbehaving")
        running = TemplateStack(ScriptServer()).spawn(
            spec, Path(name), Configuration(values={"level": 1}), place
        )
        if isinstance(running, NotRunning):
            raise TypeError(text(running.detail))
        if kind.listens:
            _await_listening(running)
        answer = running.await_ready(kind.timeout_s)
        running.stop()
    said, detail = (
        (answer.status, text(answer.detail)) if isinstance(answer, NotRunning) else (UP, "")
    )
    found = Found(said=said, detail=detail, took_s=time.monotonic() - began_s)
    found.left += [f"process {pid}" for pid in _with_token(token)]
    found.left += [str(path) for path in (place.folder, place.memory_folder) if path.exists()]
    if (parent := parent_group()) is not None:
        run = place.folder.parent.name
        found.left += [str(path) for path in parent.glob(f"httpdyno-{run}-{place.folder.name}*")]
    found.left += [f"{address} listens" for address in running.addresses if _listens(address)]
    found.left += [f"descriptor {handle}" for handle in _new_handles(handles)]
    return found


def _with_token(token: str) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if token.encode() in words:
                found.append(int(folder.name))
    return found


def _await_listening(running: Running) -> None:
    deadline_s = time.monotonic() + SLACK_S
    while not _listens(running.addresses[0]) and time.monotonic() < deadline_s:
        time.sleep(0.005)


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def _new_handles(before: set[str]) -> list[str]:
    # The listing's own descriptor is in both, by another number where one was freed meanwhile.
    new = _handles() - before
    return [handle for handle in new if Path(f"/proc/self/fd/{handle}").exists()]


def _handles() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def _worst(counter: Counter[str]) -> str:
    bad = [name for name, n in counter.most_common(1) if n]
    return bad[0] if bad else ""


def _is_root() -> bool:
    return os.geteuid() == 0
