"""What to doubt of a load test, each doubt with its figure."""

from collections.abc import Callable, Iterable, Iterator

from httpdyno.load.entrance import entrance_trouble
from httpdyno.model import LoadOutcome, Measurement, Replay
from httpdyno.report.load.tables import no_interval_text, unsteady_text
from httpdyno.report.shared import message
from httpdyno.report.shared.caveat import Caveat
from httpdyno.report.shared.phrase import plural
from httpdyno.stats.histogram import quantile_s
from httpdyno.units import format_duration, format_percent

MANY_LATE_S = 0.001
"""From here the client's own delay is worth a word."""
MANY_LATE_RATIO = 0.1
"""Of the requests, sent later than that though a connection was free."""
MANY_WAITED_RATIO = 0.01
"""Of the requests, that were due when no connection was free: percentiles to p99 have them."""
MUCH_FROZEN_RATIO = 0.005
"""Of the time, in which the client's threads did not run though they were asked to: it takes away
from any p99.5 and above."""
MUCH_RESIDUAL_RATIO = 0.02
"""Of Little's law: requests in flight are rate times time, whatever the server does."""
MUCH_STOLEN_RATIO = 0.02
"""Of the time, in which the host of a virtual machine ran others; two ticks of its clock in a
second, so no rounding."""
MUCH_UNANSWERED_RATIO = 0.01
"""Of the time on connections, in which a connection's first segment was not answered."""
MUCH_WAIT_RATIO = 0.05
"""Of the time, in which the client was ready to run and had no CPU."""
_WEIGHTY = (
    *("not_entered", "little", "late", "client_frozen", "shared_cores", "stolen"),
    *("unanswered_connects", "lost_cookies", "waited", "surplus"),
    *("replay_left_out", "replay_malformed", "retries"),
    *("unsteady", "no_interval", "replay_whole_seconds"),
)
_NO_CONNECTION = frozenset({"server", "server_or_connections", "connections"})
"""Verdicts that say why requests went out late."""
_CROWDED = frozenset({"client_cpu", "machine_cpu"})
"""Verdicts that say what the client waited for."""
_SPREAD = {
    "even": "were laid evenly over it",
    "random": "were laid over it at random",
    "burst": "were due at its beginning",
}


def load_caveats(outcome: LoadOutcome) -> tuple[Caveat, ...]:
    """Return all that the result may be wrong about, what a replay made of its log first."""
    found = (rule(outcome.measurement) for rule in _RULES)
    own = [Caveat(kind=kind, message=message) for kind, message in _told(found)]
    if reason := unsteady_text(outcome):
        own.append(Caveat(kind="unsteady", message=reason))
    elif reason := no_interval_text(outcome):
        own.append(Caveat(kind="no_interval", message=reason))
    if outcome.workload.is_open_loop:
        own += [*_late(outcome), *_waited(outcome)]
    return (*_of_entrance(outcome), *_of_log(outcome), *own)


def by_weight(caveats: Iterable[Caveat]) -> list[Caveat]:
    """Return caveats, those first that put most of the figures in doubt."""
    place = {kind: i for i, kind in enumerate(_WEIGHTY)}
    return sorted(caveats, key=lambda each: place.get(each.kind, -1))


def _of_entrance(outcome: LoadOutcome) -> Iterator[Caveat]:
    """Yield who sent all that it sent without having done the first steps."""
    if outcome.entrance is None:
        return
    if trouble := entrance_trouble(outcome.entrance, outcome.workload):
        yield Caveat(
            kind="not_entered", message=f"{message.text(trouble)}; they sent the rest all the same"
        )


def _of_log(outcome: LoadOutcome) -> Iterator[Caveat]:
    """Yield what a replay made of its log."""
    log, arrival = outcome.log, outcome.workload.arrival
    if log is None:
        return
    if log.left_out:
        methods = ", ".join(f"{n:,} {method}" for method, n in log.left_out.items())
        yield Caveat(
            kind="replay_left_out",
            message=f"requests of the log that were left out: {methods}; `--replay-methods` sends "
            "them",
        )
    if log.n_malformed:
        yield Caveat(
            kind="replay_malformed",
            message=f"{log.n_malformed:,} of {plural(log.n_lines, 'line')} of the log could not "
            f"be read, the first is line {log.first_malformed}",
        )
    if log.is_whole_seconds and isinstance(arrival, Replay):
        yield Caveat(
            kind="replay_whole_seconds",
            message=f"the log knows the second only; the requests of one {_SPREAD[arrival.spread]}",
        )


def _told(found: Iterable[tuple[str, str] | None]) -> list[tuple[str, str]]:
    return [each for each in found if each is not None]


def _late(outcome: LoadOutcome) -> Iterator[Caveat]:
    measurement = outcome.measurement
    if measurement.limited_by in _NO_CONNECTION:
        return
    late_s = quantile_s(measurement.lateness, 0.5) if measurement.lateness.counts else 0.0
    evidence = measurement.evidence
    n_late, n_due = evidence.late_requests, evidence.due_requests
    if late_s >= MANY_LATE_S:
        late = f"half of the requests were sent {format_duration(late_s)} late or later"
    elif n_late > MANY_LATE_RATIO * n_due:
        share = format_percent(n_late / n_due)
        late = f"{share} of the requests were sent over {format_duration(MANY_LATE_S)} late"
    else:
        return
    yield Caveat(kind="late", message=f"{late}; this client is near its limit")


def _waited(outcome: LoadOutcome) -> Iterator[Caveat]:
    """Yield that connections were few for a rate that was kept."""
    evidence = outcome.measurement.evidence
    n_waited, n_due = evidence.waited_requests, evidence.due_requests
    if outcome.measurement.limited_by != "rate" or n_waited <= MANY_WAITED_RATIO * n_due:
        return
    yield Caveat(
        kind="waited",
        message=f"{plural(round(n_waited), 'request')} waited for a free connection, which is in "
        "the latency; allow more with `-c`",
    )


def _frozen(measurement: Measurement) -> tuple[str, str] | None:
    ratio = measurement.evidence.client_frozen_ratio
    if ratio < MUCH_FROZEN_RATIO:
        return None
    return (
        "client_frozen",
        f"this client was suspended for {format_percent(ratio)} of the time, which is not the "
        "server's doing; it is in the highest percentiles",
    )


def _residual(measurement: Measurement) -> tuple[str, str] | None:
    ratio = measurement.evidence.little_residual_ratio
    if ratio < MUCH_RESIDUAL_RATIO:
        return None
    return (
        "little",
        f"the engine's own counts differ by {format_percent(ratio)}: requests in flight are not "
        "rate times time (Little's law); do not rely on these figures",
    )


def _shared(measurement: Measurement) -> tuple[str, str] | None:
    ratio = measurement.evidence.client_wait_ratio
    if ratio < MUCH_WAIT_RATIO or measurement.limited_by in _CROWDED:
        return None
    return (
        "shared_cores",
        f"this client waited for a CPU for {format_percent(ratio)} of the time, because others, "
        "perhaps the server, ran on its cores; that is in the latency",
    )


def _stolen(measurement: Measurement) -> tuple[str, str] | None:
    ratio = measurement.evidence.client_stolen_ratio
    if ratio < MUCH_STOLEN_RATIO or measurement.limited_by in _CROWDED:
        return None
    return (
        "stolen",
        f"the host of this virtual machine ran others for {format_percent(ratio)} of the time on a "
        "core that this client may use; what it took from client and server is in the latency",
    )


def _surplus(measurement: Measurement) -> tuple[str, str] | None:
    n = round(measurement.evidence.surplus_answers)
    if n == 0:
        return None
    return ("surplus", f"bytes that belong to no answer came on {plural(n, 'connection')}")


def _lost_cookies(measurement: Measurement) -> tuple[str, str] | None:
    n = round(measurement.evidence.lost_cookies)
    if n == 0:
        return None
    return (
        "lost_cookies",
        f"{plural(n, 'cookie')} found no room with their users, who keep 180 of at most 4,096 "
        "bytes each, as browsers do; later requests came without them",
    )


def _retries(measurement: Measurement) -> tuple[str, str] | None:
    n = round(measurement.evidence.retries)
    if n == 0:
        return None
    return (
        "retries",
        f"{plural(n, 'request')} went out twice, because the server had just closed the idle "
        "connection; the time of both tries counts",
    )


def _unanswered(measurement: Measurement) -> tuple[str, str] | None:
    # The host's counters alone say nothing: they are of all programs on it.
    ratio = measurement.evidence.unanswered_connect_ratio
    if ratio < MUCH_UNANSWERED_RATIO or measurement.limited_by == "network":
        return None
    n = round(measurement.evidence.listen_overflows)
    return (
        "unanswered_connects",
        f"{format_percent(ratio)} of the time went into SYNs without an answer, each of which "
        f"takes a second or more; an accept queue was full {n:,} times on this machine",
    )


_RULES: tuple[Callable[[Measurement], tuple[str, str] | None], ...] = (
    _frozen,
    _shared,
    _stolen,
    _residual,
    _unanswered,
    _retries,
    _surplus,
    _lost_cookies,
)
