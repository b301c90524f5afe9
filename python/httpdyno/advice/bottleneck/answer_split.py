"""How an answer's time at its worker divides, in words; pure."""

from httpdyno.advice.bottleneck.facts import percent
from httpdyno.model import AnswerTime

_WORDS = {
    "running": "on a CPU or ready for one",
    "backend": "waiting for a backend",
    "lock": "waiting for a lock",
    "disk": "waiting for a disk",
    "child": "waiting for a child process",
    "client_write": "waiting for the client to take it",
    "sleep": "asleep",
    "other": "at what is not known",
}
_TOLD_RATIO, _ALL_RATIO = 0.05, 0.95


def answer_split(time: AnswerTime | None) -> str:
    """Return what a worker is at for which share of an answer; empty where that is not sure."""
    whole_s = sum(time.split.values()) if time else 0.0
    if time is None or whole_s <= 0:
        return ""
    parts = sorted(time.split.items(), key=lambda item: -item[1])
    if parts[0][1] >= _ALL_RATIO * whole_s:
        return f"at the worker it is {_WORDS[parts[0][0]]}"
    told = [(name, s / whole_s) for name, s in parts if s >= _TOLD_RATIO * whole_s]
    return f"at the worker it is {', '.join(f'{_WORDS[name]} {percent(r)}' for name, r in told)}"
