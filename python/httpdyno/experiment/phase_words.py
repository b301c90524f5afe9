"""What a turn of phases goes through, in words."""

from httpdyno.model import Method, Phase
from httpdyno.units import format_duration


def phases_words(method: Method) -> str:
    """Return what a turn goes through, for people: each phase's name and what it does."""
    return "; ".join(_phase_words(method, phase) for phase in method.phases)


def _phase_words(method: Method, phase: Phase) -> str:
    """Return what a phase does, such as `cold: runs `rm …`, then 500 ms of load`."""
    command = "" if phase.command is None else f"`{' '.join(phase.command.run)}`"
    before = [
        f"runs {command}" if command and phase.at_s is None else "",
        f"a pause of {format_duration(phase.pause_s)}" if phase.pause_s > 0 else "",
    ]
    load = f"{format_duration(method.window_of(phase))} of load"
    if phase.n_requests:
        load = f"{phase.n_requests} requests, in {load} at the most"
    if phase.rate_per_s is not None:
        load += f" at {phase.rate_per_s:g}/s"
    if phase.at_s is not None:
        load += f", {command} {format_duration(phase.at_s)} after its beginning"
    return f"{phase.name}: {', then '.join(filter(None, (*before, load)))}"
