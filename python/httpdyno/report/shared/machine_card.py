"""The machine's card in words: as rows, and as one line beside a result."""

from collections.abc import Callable, Mapping

import msgspec

from httpdyno.model import HostFacts
from httpdyno.units import format_bytes, format_duration, format_rate

_FIGURES: tuple[tuple[str, str, Callable[[float], str]], ...] = (
    ("stat_s", "stat() of no file", format_duration),
    ("fork_s", "a process begun and ended", format_duration),
    ("switch_s", "a switch between processes", format_duration),
    ("copy_bytes_per_s", "memory copied", lambda value: f"{format_bytes(value)}/s"),
    ("round_trips_per_s", "TCP round trips over loopback", format_rate),
    ("requests_per_s", "smallest requests over loopback", format_rate),
    ("others_cores", "others used meanwhile", lambda n: f"{n:.1f} cores"),
)
"""Field of a `MachineCard`, its name, and how its figure is written."""


def card_rows(figures: Mapping[str, float]) -> list[tuple[str, str]]:
    """Return the figures that there are as (name, words).

    Args:
        figures: Of a `MachineCard`, by field.
    """
    return [(name, write(figures[key])) for key, name, write in _FIGURES if key in figures]


def card_line(figures: Mapping[str, float]) -> str:
    """Return the figures as one line: `stat() of no file 780 ns, …`."""
    return ", ".join(f"{name} {words}" for name, words in card_rows(figures))


def card_facts(host: HostFacts) -> list[tuple[str, str]]:
    """Return the card that was beside a result, as a row or none."""
    if host.card is None:
        return []
    taken_at = f", taken at {host.card_taken_at}" if host.card_taken_at else ""
    return [("this machine takes", f"{card_line(msgspec.to_builtins(host.card))}{taken_at}")]


def control_groups(limits_by: Mapping[str, int]) -> str:
    """Return what enforces limits: `control groups of version 2`; empty where nothing does."""
    versions = dict.fromkeys(limits_by.values())
    if len(versions) > 1:
        return ", ".join(f"{name}: version {version}" for name, version in limits_by.items())
    return "".join(f"control groups of version {version}" for version in versions)
