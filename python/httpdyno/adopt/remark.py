"""What a rehearsal saw that its owner should know, each with the way out. Pure."""

from collections.abc import Iterator, Sequence

from httpdyno.adopt.smoke_test import Answered, RehearsalReport
from httpdyno.model import Burst, Listener, Reading, Survey
from httpdyno.reason import Reason, because

_LIMITS = ("limit_req", "limit_conn")
_ADDRESSES = ("allow", "deny")
_TO_BACKENDS = (502, 504)
_SHOWN = 3
_NEEDS_USER, _FORBIDDEN, _NOT_THERE = 401, 403, 404


def remarked(
    report: RehearsalReport, surveys: Sequence[Survey], *, is_tls: bool
) -> tuple[Reason, ...]:
    """Return what to say of a rehearsal.

    Args:
        report: What was seen.
        surveys: Of the members, the front's first.
        is_tls: Whether the loaded listener speaks TLS.
    """
    readings = [each for survey in surveys for each in survey.readings]
    found: list[Reason] = []
    found += _redirects(report.answered, surveys[0].listeners, is_tls=is_tls)
    found += _of_statuses(report, readings)
    found += _differences(report.answered)
    if report.burst is not None:
        found += _of_burst(report.burst, readings)
    return tuple(found)


def _redirects(
    answered: Sequence[Answered], listeners: Sequence[Listener], *, is_tls: bool
) -> Iterator[Reason]:
    away = [each for each in answered if each.location.startswith("https://")]
    if is_tls or not away:
        return
    port = next((each.address.rpartition(":")[2] for each in listeners if each.is_tls), "")
    yield because(
        "adopt.sent_on_to_tls" if port else "adopt.sent_on_without_tls",
        those=_those_are(away),
        port=port,
    )


def _of_statuses(report: RehearsalReport, readings: Sequence[Reading]) -> Iterator[Reason]:
    by_status: dict[int, list[Answered]] = {}
    for each in report.wrong:
        by_status.setdefault(each.status, []).append(each)
    if out := [each for status in _TO_BACKENDS for each in by_status.get(status, ())]:
        tried = because("adopt.what_it_tried", all=report.refused) if report.refused else ""
        yield because(
            "adopt.backend_out_of_reach", those=_those_are(out), status=out[0].status, tried=tried
        )
    if asks := by_status.get(_NEEDS_USER):
        stands = _stands(readings, ("auth_basic",))
        yield because("adopt.needs_user", those=_those_ask(asks), stands=stands)
    if kept := by_status.get(_FORBIDDEN):
        stands = _stands(readings, _ADDRESSES)
        yield because(
            "adopt.forbidden_address" if stands else "adopt.forbidden",
            those=_those_are(kept),
            stands=stands,
        )
    if missing := by_status.get(_NOT_THERE):
        yield because("adopt.not_there", those=_those_are(missing))


def _differences(answered: Sequence[Answered]) -> Iterator[Reason]:
    for each in [each for each in answered if each.differs][:_SHOWN]:
        yield because(
            "adopt.differs",
            path=each.path,
            n_bytes=each.n_bytes,
            n_bytes_again=each.n_bytes_again,
        )


def _of_burst(burst: Burst, readings: Sequence[Reading]) -> Iterator[Reason]:
    n, connections = burst.n_answers, burst.connections
    if burst.limited:
        stands = _stands(readings, _LIMITS)
        yield because(
            "adopt.limited" if stands else "adopt.turned_away",
            n_limited=burst.limited,
            n=n,
            connections=connections,
            stands=stands,
        )
    if burst.overflows:
        yield because(
            "adopt.queue_full_at" if burst.waiting else "adopt.queue_full",
            n=burst.overflows,
            connections=connections,
            at=list(burst.waiting),
        )
    if burst.n_failed > max(connections, n):
        yield because(
            "adopt.no_answer",
            n_failed=burst.n_failed,
            n=n + burst.n_failed,
            connections=connections,
        )


def _stands(readings: Sequence[Reading], names: Sequence[str]) -> Reason | str:
    """Return where settings of these names stand; empty where none is set."""
    there = [each for each in readings if each.name in names and each.text != "off"]
    found = [_setting(each) for each in there[:_SHOWN]]
    if len(there) > _SHOWN:
        found.append(because("adopt.more", n=len(there) - _SHOWN))
    return because("adopt.stands", all=found) if found else ""


def _setting(each: Reading) -> Reason:
    if each.origin is None:
        return because("adopt.setting", name=each.name, text=each.text)
    at = each.origin
    return because("adopt.setting_at", name=each.name, text=each.text, file=at.file, line=at.line)


def _those_are(answered: Sequence[Answered]) -> Reason:
    path, n = answered[0].path, len(answered) - 1
    return because("adopt.several_are" if n else "adopt.one_is", path=path, n=n)


def _those_ask(answered: Sequence[Answered]) -> Reason:
    path, n = answered[0].path, len(answered) - 1
    return because("adopt.several_ask" if n else "adopt.one_asks", path=path, n=n)
