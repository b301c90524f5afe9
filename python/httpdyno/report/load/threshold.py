"""Conditions under which a load test has failed, such as `p99 > 200ms`: read them, judge them.

A condition that the run can't answer is a failure, with the reason: a percentile that the sample
does not carry, or one that requests which never ended may have pushed beyond the limit.
"""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from httpdyno.errors import UsageError
from httpdyno.load.entrance import entrance_trouble
from httpdyno.model import HistogramData, LoadOutcome, Measurement, Objective
from httpdyno.report.shared.distribution import censored_service_time, figure
from httpdyno.report.shared.phrase import oxford, plural
from httpdyno.units import (
    duration_s,
    format_beside,
    format_duration,
    format_percent,
    format_rate,
    rate_or_zero_per_s,
)

_HINT = (
    "such as `p99 > 200ms`, `max > 1s`, `page p90 > 2s`, `ttfb mean > 50ms`, `errors > 0.1%`, "
    "`errors > 0` or `rate < 500/s`"
)
_CONDITION = re.compile(r"\s*([^<>=!]*?)\s*(<=|>=|==|!=|=|<|>)\s*(.*?)\s*")
_K6 = re.compile(
    r"\s*(?:http_req_duration\s*:?\s*)?(p\(?\d{1,2}(?:\.\d+)?\)?|avg|med|min|max)\s*(<=?)\s*(\d+)\s*"
)
"""A threshold of k6 in milliseconds, which says what must hold."""
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_PERCENTILE = re.compile(r"p\d{1,2}(\.\d+)?")
_RATES = frozenset({"rate", "throughput"})
_ERRORS = "errors"
_SUBJECTS: dict[str, Callable[[Measurement], HistogramData]] = {
    "latency": lambda seen: seen.latency,
    "service time": lambda seen: seen.service_time,
    "lateness": lambda seen: seen.lateness,
    "page": lambda seen: seen.pages.time,
    "queue": lambda seen: seen.phases.client_queue,
    "connect": lambda seen: seen.phases.connect,
    "tls": lambda seen: seen.phases.tls,
    "ttfb": lambda seen: seen.phases.first_byte,
    "transfer": lambda seen: seen.phases.transfer,
}
_CENSORED: dict[str, Callable[[Measurement], HistogramData]] = {
    "latency": lambda seen: seen.censored,
    "service time": censored_service_time,
    "page": lambda seen: seen.pages.censored,
}
"""Of these, requests that never ended are part, at the age they had."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Threshold:
    """A condition that must not hold."""

    text: str
    """As it was typed."""
    subject: str
    """`latency`, another distribution, `errors` or `rate`."""
    figure: str
    """`p99`, `mean` or `max` of a distribution; `count` or `ratio` of errors; empty for a rate."""
    operator: str
    limit: float
    """Seconds, requests, a ratio, or requests per second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """What a threshold says of one test."""

    threshold: Threshold
    is_passed: bool
    value: float | None
    """What was measured; None where it could not be."""
    sentence: str
    """`p99 was 241 ms`, or why there is no answer."""


def parsed(text: str) -> Threshold:
    """Return the condition in `p99 > 200ms`.

    Raises:
        UsageError: It is none.
    """
    if of_k6 := _K6.fullmatch(text):
        name, sign, limit_ms = of_k6.groups()
        name = {"avg": "mean", "med": "p50"}.get(name) or name.replace("(", "").replace(")", "")
        failing = ">" if sign == "<=" else ">="
        raise UsageError(
            f"`--fail-if '{text}'` says what must hold, expected what must not",
            hint=f"write `--fail-if '{name} {failing} {limit_ms}ms'`",
        )
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise UsageError(f"`--fail-if '{text}'` compares nothing", hint=_HINT)
    subject, sign, limit = match.groups()
    if sign not in _COMPARE:
        raise UsageError(
            f"`--fail-if '{text}'` compares with `{sign}`, expected `>`, `>=`, `<` or `<=`",
            hint=_HINT,
        )
    words = subject.lower().split()
    try:
        if words == [_ERRORS]:
            kind, number = _errors_limit(limit)
            return Threshold(
                text=text.strip(), subject=_ERRORS, figure=kind, operator=sign, limit=number
            )
        if len(words) == 1 and words[0] in _RATES:
            number = rate_or_zero_per_s(limit)
            return Threshold(
                text=text.strip(), subject="rate", figure="", operator=sign, limit=number
            )
        name, which = _subject(subject, words)
        number = duration_s(limit)
    except UsageError as error:
        raise UsageError(f"`--fail-if '{text}'`: {error}", hint=_HINT) from error
    return Threshold(text=text.strip(), subject=name, figure=which, operator=sign, limit=number)


def _subject(text: str, words: list[str]) -> tuple[str, str]:
    """Return the distribution and the figure of it that the words name."""
    which = words[-1] if words else ""
    which = "p50" if which == "median" else which
    name = " ".join(words[:-1]) or "latency"
    name = {"service": "service time", "pages": "page", "first byte": "ttfb"}.get(name, name)
    if " ".join(words) in _SUBJECTS:
        raise UsageError(f"`{text}` has many values, expected one such as `{text} p99`")
    if not (_PERCENTILE.fullmatch(which) or which in {"mean", "max", "min"}):
        figures = "a percentile such as p99, mean, min, max, errors or rate"
        raise UsageError(f"`{text}` is no figure of a load test, expected {figures}")
    if which.startswith("p") and float(which[1:]) <= 0:
        raise UsageError(f"`{which}` is no percentile: no request lies below it")
    if name not in _SUBJECTS:
        names = oxford([f"`{each}`" for each in _SUBJECTS])
        raise UsageError(f"`{name}` is not measured, expected one of {names}")
    return name, which


def _errors_limit(text: str) -> tuple[str, float]:
    """Return `count` or `ratio`, and the number."""
    number = text.removesuffix("%").strip()
    if not re.fullmatch(r"\d+(\.\d+)?", number):
        raise UsageError(f"`{text}` is neither a number of requests nor a percentage")
    return ("ratio", float(number) / 100) if text.endswith("%") else ("count", float(number))


def judgements(outcome: LoadOutcome) -> list[Judgement]:
    """Return what each threshold of the test says, in the order in which they were given."""
    return [judged(parsed(text), outcome.measurement) for text in outcome.fail_if]


def judged(threshold: Threshold, measurement: Measurement) -> Judgement:
    """Return whether the test passed one threshold."""
    if measurement.offered == 0:
        return _unanswered(threshold, "no request was sent")
    if threshold.subject == _ERRORS:
        return _judged_errors(threshold, measurement)
    if threshold.subject == "rate":
        value = measurement.throughput_per_s
        said = format_beside(value, threshold.limit, format_rate)
        return _answered(threshold, value, f"the rate was {said}")
    return _judged_figure(threshold, measurement)


def _judged_errors(threshold: Threshold, measurement: Measurement) -> Judgement:
    n, ratio = measurement.n_errors, measurement.n_errors / measurement.offered
    is_count = threshold.figure == "count"
    share = (
        format_percent(ratio) if is_count else format_beside(ratio, threshold.limit, format_percent)
    )
    said = f"{plural(n, 'error')} of {plural(measurement.offered, 'request')}, {share}"
    return _answered(threshold, float(n) if is_count else ratio, said)


def _judged_figure(threshold: Threshold, measurement: Measurement) -> Judgement:
    data = _SUBJECTS[threshold.subject](measurement)
    own = _CENSORED.get(threshold.subject)
    censored = own(measurement) if own else None
    noun = "page" if threshold.subject == "page" else "request"
    seen = figure(data, threshold.figure, censored, noun=noun)
    name = threshold.figure
    if threshold.subject != "latency":
        name = f"{threshold.subject} {name}"
    if seen.value_s is None:
        return _unanswered(threshold, seen.reason)
    holds = _COMPARE[threshold.operator]
    value = format_beside(seen.value_s, threshold.limit, format_duration)
    said = f"{name} was {value}"
    if seen.at_most_s is not None:
        highest = holds(seen.at_most_s, threshold.limit)
        if highest != holds(seen.value_s, threshold.limit):
            said = f"{name} was at least {value}, and may be beyond the limit"
            return _unanswered(threshold, f"{said}: some {noun}s never ended")
    if seen.is_at_least:
        said = f"{name} was at least {value}"
    return _answered(threshold, seen.value_s, said)


def _answered(threshold: Threshold, value: float, sentence: str) -> Judgement:
    is_passed = not _COMPARE[threshold.operator](value, threshold.limit)
    return Judgement(threshold=threshold, is_passed=is_passed, value=value, sentence=sentence)


def _unanswered(threshold: Threshold, reason: str) -> Judgement:
    return Judgement(threshold=threshold, is_passed=False, value=None, sentence=reason)


def is_good_enough(outcome: LoadOutcome) -> bool:
    """Whether the server did what it should: the thresholds hold, and requests were answered.

    Without a threshold of their own, errors may be as many as in a study: one in a thousand.
    """
    measurement = outcome.measurement
    seen = judgements(outcome)
    if measurement.completed == 0 or not all(each.is_passed for each in seen):
        return False
    if outcome.entrance is not None and entrance_trouble(outcome.entrance, outcome.workload):
        return False
    if any(each.threshold.subject == _ERRORS for each in seen):
        return True
    return measurement.n_errors <= Objective().max_error_ratio * measurement.offered
