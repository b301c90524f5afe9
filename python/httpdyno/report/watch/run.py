"""A run of a study that is followed while it is measured: as a view, a line, JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from httpdyno.model import ArmUnderWay, RunUnderWay, StartUnderWay
from httpdyno.report.shared.phrase import NOTHING, plural
from httpdyno.report.study.running import arm_labels, cores_text, under_way_text
from httpdyno.telemetry.watched import Roots, ServerSeen
from httpdyno.units import format_rate


@dataclass(frozen=True, kw_only=True, slots=True)
class RunLook:
    """A run at one moment."""

    run: RunUnderWay
    now: datetime
    """When it was looked at."""
    servers: Mapping[Roots, ServerSeen] = field(default_factory=dict)
    """Those of its servers that can be seen from here."""
    is_first: bool = False
    """Whether there was no look before, so that there are no rates."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunView:
    """What a person sees of a run."""

    look: RunLook
    n_lines: int | None = None
    """The height of the terminal; None where there is none."""
    keys: str = ""
    """What a key does."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines, as many as there is room for."""
        look = self.look
        text = under_way_text(look.run, look.now, look.servers)
        lines = console.render_lines(text, options.update(height=None), pad=False)
        room = len(lines) if self.n_lines is None else max(1, self.n_lines - 1)
        for line in lines[:room]:
            yield from line
            yield Text("")
        left = len(lines) - room
        said = [f"{left:,} lines more" if left > 0 else "", self.keys]
        if foot := "  ".join(filter(None, said)):
            yield Text(foot, "dim", no_wrap=True, overflow="ellipsis")


def run_line(look: RunLook) -> str:
    """Return a look in a line, its parts two spaces apart."""
    run = look.run
    parts = [f"run {run.id}", plural(run.n_starts, "complete start")]
    if not run.starts:
        parts.append("between two starts")
    for start in run.starts:
        parts.append(f"{start.stage or 'start'} {start.start + 1}:")
        parts += _arms(start, look.servers)
    return "  ".join(parts)


def run_json(look: RunLook) -> dict[str, Any]:
    """Return a look in built-in types; what is not known is null."""
    plain: dict[str, Any] = msgspec.to_builtins(look.run)
    for start, told in zip(look.run.starts, plain["starts"], strict=True):
        for arm, of_arm in zip(start.arms, told["arms"], strict=True):
            seen = look.servers.get(arm.roots)
            of_arm["configuration"] = dict(arm.configuration.values)
            of_arm["root_pids"] = [each.pid for each in arm.roots]
            del of_arm["roots"]
            of_arm["server"] = _server(seen) if seen else None
    return {"run": plain}


def _arms(start: StartUnderWay, servers: Mapping[Roots, ServerSeen]) -> list[str]:
    labels = arm_labels([arm.configuration for arm in start.arms])
    return [
        f"{label} {_arm(arm, servers.get(arm.roots))}"
        for label, arm in zip(labels, start.arms, strict=True)
    ]


def _arm(arm: ArmUnderWay, seen: ServerSeen | None) -> str:
    rate = NOTHING if arm.throughput_per_s is None else format_rate(arm.throughput_per_s)
    told = [plural(arm.n_windows, "window"), rate]
    if seen is not None:
        told.append(f"{cores_text(seen)} cores")
    return ", ".join(told)


def _server(seen: ServerSeen) -> dict[str, Any]:
    return {
        "roots": [{"pid": pid, "name": name} for pid, name in seen.roots],
        "n_processes": seen.n_processes,
        "cpu_ratio": seen.cpu_ratio,
        "misses_children": seen.misses_children,
    }
