"""What a rehearsal saw that its owner should know, each in a sentence with the way out. Pure."""

from collections.abc import Iterator, Sequence

from httpdyno.adopt.smoke_test import Answered, RehearsalReport
from httpdyno.model import Burst, Listener, Reading, Survey

_LIMITS = ("limit_req", "limit_conn")
_ADDRESSES = ("allow", "deny")
_TO_BACKENDS = (502, 504)
_SHOWN = 3
_NEEDS_USER, _FORBIDDEN, _NOT_THERE = 401, 403, 404


def remarked(
    report: RehearsalReport, surveys: Sequence[Survey], *, is_tls: bool
) -> tuple[str, ...]:
    """Return what to say of a rehearsal.

    Args:
        report: What was seen.
        surveys: Of the members, the front's first.
        is_tls: Whether the loaded listener speaks TLS.
    """
    readings = [each for survey in surveys for each in survey.readings]
    found: list[str] = []
    found += _redirects(report.answered, surveys[0].listeners, is_tls=is_tls)
    found += _of_statuses(report, readings)
    found += _differences(report.answered)
    if report.burst is not None:
        found += _of_burst(report.burst, readings)
    return tuple(found)


def _redirects(
    answered: Sequence[Answered], listeners: Sequence[Listener], *, is_tls: bool
) -> Iterator[str]:
    away = [each for each in answered if each.location.startswith("https://")]
    if is_tls or not away:
        return
    port = next((each.address.rpartition(":")[2] for each in listeners if each.is_tls), "")
    way = f"`--listener {port}` loads the one with TLS" if port else "no listener here has TLS"
    yield f"{_those(away)} {_is(away)} only sent on to https: {way}"


def _of_statuses(report: RehearsalReport, readings: Sequence[Reading]) -> Iterator[str]:
    by_status: dict[int, list[Answered]] = {}
    for each in report.wrong:
        by_status.setdefault(each.status, []).append(each)
    if out := [each for status in _TO_BACKENDS for each in by_status.get(status, ())]:
        what = f" ({', '.join(report.refused)})" if report.refused else ""
        yield (
            f"{_those(out)} {_is(out)} answered {out[0].status}: what is behind the front is out "
            f"of reach for the copy{what}; name it as a member, `--with`, or open a `--door`"
        )
    if asks := by_status.get(_NEEDS_USER):
        yield (
            f"{_those(asks)} {_needs(asks)} a user{_stands(readings, ('auth_basic',))}: give the "
            f'request its header in the study, `headers = {{ Authorization = "…" }}`'
        )
    if kept := by_status.get(_FORBIDDEN):
        stands = _stands(readings, _ADDRESSES)
        way = (
            "all load comes from 127.0.0.1; adopt a configuration that has `allow 127.0.0.1;` too"
            if stands
            else "the last words of the copy are in the rehearsal's file"
        )
        yield f"{_those(kept)} {_is(kept)} answered 403{stands}: {way}"
    if missing := by_status.get(_NOT_THERE):
        yield (
            f"{_those(missing)} {_is(missing)} answered 404: is that what clients ask for, and of "
            "this host (`--host`)?"
        )


def _differences(answered: Sequence[Answered]) -> Iterator[str]:
    for each in [each for each in answered if each.differs][:_SHOWN]:
        yield (
            f"two requests of {each.path} were answered with {each.n_bytes:,} and "
            f"{each.n_bytes_again:,} bytes: its length says nothing of whether it is right"
        )


def _of_burst(burst: Burst, readings: Sequence[Reading]) -> Iterator[str]:
    n = burst.n_answers
    if burst.limited:
        said = f"{burst.limited:,} of {n:,} requests of {burst.connections} clients at a time were"
        if stands := _stands(readings, _LIMITS):
            yield (
                f"{said} limited{stands}: all load has one address; it is let through with a "
                '`rate` below the limit in [workload], and `metric = "latency_p99_s"` in '
                "[objective]"
            )
        else:
            yield f"{said} turned away (503 or 429): try fewer with `-c`"
    if burst.overflows:
        at = f", at {', '.join(burst.waiting)}" if burst.waiting else ""
        yield (
            f"{burst.overflows:,} connections of {burst.connections} clients found the queue of a "
            f"listener full{at}: its backlog is a knob"
        )
    if burst.n_failed > max(burst.connections, n):
        yield (
            f"{burst.n_failed:,} of {n + burst.n_failed:,} requests of {burst.connections} clients "
            "at a time got no answer: try fewer with `-c`"
        )


def _stands(readings: Sequence[Reading], names: Sequence[str]) -> str:
    """Return where settings of these names stand, in parentheses; empty where none is set."""
    there = [each for each in readings if each.name in names and each.text != "off"]
    said = [
        f"`{each.name} {each.text}`"
        + (f", {each.origin.file}:{each.origin.line}" if each.origin else "")
        for each in there[:_SHOWN]
    ]
    more = [f"{len(there) - _SHOWN} more"] if len(there) > _SHOWN else []
    return f" ({'; '.join([*said, *more])})" if said else ""


def _those(answered: Sequence[Answered]) -> str:
    first = answered[0].path
    return first if len(answered) == 1 else f"{first} and {len(answered) - 1} more"


def _is(answered: Sequence[Answered]) -> str:
    return "is" if len(answered) == 1 else "are"


def _needs(answered: Sequence[Answered]) -> str:
    return "asks for" if len(answered) == 1 else "ask for"
