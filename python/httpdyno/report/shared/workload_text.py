"""What was offered, in words: the model of a load test, and from which moment latency counts."""

from httpdyno.model import Workload
from httpdyno.model.workload import (
    Closed,
    Constant,
    Poisson,
    Replay,
    Sessions,
    Stages,
    length_s,
    rate_at_most_per_s,
)
from httpdyno.report.shared.phrase import plural
from httpdyno.units import format_bytes, format_duration, format_rate

OPEN_LOOP = "from the due time"
CLOSED_LOOP = "from sending; closed loop, so a stall delays requests uncounted"
"""Known as coordinated omission, which the manual explains."""
SESSIONS = "from the due time; within a visit, from the end of the user's thought"


def latency_label(workload: Workload) -> str:
    """Return from which moment latency counts."""
    if isinstance(workload.arrival, Sessions):
        return SESSIONS
    return OPEN_LOOP if workload.is_open_loop else CLOSED_LOOP


def model_name(workload: Workload) -> str:
    """Return the model in a word or two, as JSON and metrics have it."""
    match workload.arrival:
        case Closed():
            return "closed loop"
        case Constant():
            return "constant rate"
        case Stages() as stages:
            return "Poisson stages" if stages.is_poisson else "stages"
        case other:
            return {Poisson: "Poisson", Sessions: "sessions", Replay: "replay"}[type(other)]


def workload_text(workload: Workload) -> str:
    """Return all that was offered, in one line."""
    parts = [_arrival_text(workload), _users_text(workload), _connection_text(workload)]
    if workload.slow is not None:
        line = f"{format_bytes(workload.slow.bytes_per_s)}/s"
        parts.append(f"{workload.slow.ratio * 100:g} % slow at {line}")
    if workload.tls is not None:
        parts.append("TLS" if workload.tls.is_verified else "TLS, certificate not checked")
    return ", ".join(part for part in parts if part)


def _arrival_text(workload: Workload) -> str:
    name, rate_per_s = model_name(workload), rate_at_most_per_s(workload.arrival) or 0.0
    match workload.arrival:
        case Closed():
            return f"closed loop, {plural(workload.connections, 'connection')}"
        case Constant() | Poisson():
            kind = "constant" if name == "constant rate" else name
            text = f"{kind} rate of {format_rate(rate_per_s)}"
        case Sessions():
            text = f"sessions at {_peak(workload, rate_per_s)} (Poisson)"
        case Stages():
            text = f"{name} of {_peak(workload, rate_per_s)}"
        case Replay() as replay:
            text = f"replay of {replay.log}"
            text += "" if replay.speed == 1 else f" at {replay.speed:g}×"
    return f"{text} over at most {plural(workload.connections, 'connection')}"


def _peak(workload: Workload, rate_per_s: float) -> str:
    stages = workload.arrival.stages if isinstance(workload.arrival, Stages | Sessions) else ()
    rates = {rate for each in stages for rate in (each.from_per_s, each.to_per_s)}
    lasting_s = length_s(workload.arrival)
    during = "" if lasting_s is None else f" in {format_duration(lasting_s)}"
    return f"{'up to ' if len(rates) > 1 else ''}{format_rate(rate_per_s)}{during}"


def _users_text(workload: Workload) -> str:
    users = workload.users
    parts = []
    if workload.first:
        parts.append(f"after {plural(len(workload.first), 'first step')}")
    if users.visit.mean_steps != 1:
        mean = " on average" if users.visit.is_geometric else ""
        order = " in their order" if workload.order == "given" else ""
        parts.append(f"visits of {users.visit.mean_steps:g} steps{mean}{order}")
    if users.think.mean_s > 0:
        mean = " on average" if users.think.is_exponential else ""
        parts.append(f"{format_duration(users.think.mean_s)} to think{mean}")
    if users.has_cookies:
        parts.append(f"cookies, {users.new_ratio * 100:g} % new users")
    return ", ".join(parts)


def _connection_text(workload: Workload) -> str:
    n = workload.requests_per_connection
    if n == 0:
        return "keep-alive"
    return "no keep-alive" if n == 1 else f"{n:,} requests per connection"
