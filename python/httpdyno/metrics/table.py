"""Every metric that an objective may have, a row each: all that is said of one stands here.

A metric of everything (`latency_p90_s`) may have others of one request, one kind of system calls or
one word (`latency_p90_s of search`): a family makes those as they are asked for.
"""

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from httpdyno.metrics.metric import (
    Asked,
    Counted,
    Found,
    Metric,
    Needs,
    Source,
    Unanswered,
    nobody_counted,
    too_soon,
    uncounted,
)
from httpdyno.metrics.totals import QUANTILES, ArmTotals
from httpdyno.model import StartRecord
from httpdyno.model.header_words import is_word
from httpdyno.model.measurement import times_of_request
from httpdyno.reason import Reason, because
from httpdyno.units import (
    format_bytes,
    format_count,
    format_duration,
    format_per_thousand,
    format_percent,
    format_rate,
)

CALL_METRIC = "cpu_s_per_call"
"""What decides between bodies of code: wall time is also others' who have the core."""

_OF = " of "


def _no_cpu(n_starts: int) -> Reason:
    return because("metrics.no_cpu", n=n_starts)


def _no_memory(n_starts: int) -> Reason:
    return because("metrics.no_memory", n=n_starts)


# Latencies, and what else is a time.


def _percentiles(
    distribution: str,
    names: Sequence[str] = ("p50", "p90", "p95", "p99"),
    *,
    label: str,
    always: Collection[str] = (),
    needs: Needs = "",
) -> tuple[Metric, ...]:
    """Return the percentiles of one distribution, on demand but for those that are always there.

    A distribution is kept, and its ratios made, where an objective names one of them.
    """

    def row(name: str) -> Metric:
        key = f"{distribution}_{name}"
        return Metric(
            name=f"{key}_s",
            ratio=key,
            label=label.format(name.replace("p999", "p99.9")),
            short=key.removeprefix("latency_").replace("_", " "),
            write=format_duration,
            figure=lambda totals: totals.time_s(distribution, name),
            distribution=distribution,
            percentile=name,
            is_on_demand=name not in always,
            needs=needs,
        )

    return tuple(map(row, names))


def _latency_of_request(metric: Metric, request: str) -> Metric:
    distribution = times_of_request(request)
    return replace(
        metric,
        name=f"{metric.name}{_OF}{request}",
        ratio=f"{metric.ratio}{_OF}{request}",
        label=f"{metric.label}{_OF}{request}",
        short=f"{metric.short}{_OF}{request}",
        figure=lambda totals: totals.time_s(distribution, metric.percentile),
        of=request,
        distribution=distribution,
        is_on_demand=True,
    )


# System calls.


def _calls_counted(start: StartRecord, arm: int) -> Found:
    found = start.system_calls[arm] if start.system_calls else None
    return None if found is None else (found.n_answers, [found.untraced] if found.untraced else [])


def _system_calls(kind: str) -> Metric:
    def figure(totals: ArmTotals) -> float:
        return math.nan if totals.system_calls is None else totals.system_calls.of(kind)

    return Metric(
        name="calls_per_request",
        ratio="calls_per_request",
        label="system calls per request",
        short="calls",
        write=format_count,
        figure=figure,
        zero=Counted(uncounted=nobody_counted(_calls_counted)),
        of=kind,
        is_on_demand=True,
        source="system calls",
        needs="requests",
        doc="`calls_per_request` is the system calls of an answer, without what its connection "
        "takes, and `calls_per_request of open` those of a kind, as `inspect --census` names them, "
        "`.htaccess` or `missing`: each start counts them after its windows, by `strace` over some "
        "twenty answers.",
    )


def _calls_of_kind(kind: str) -> Metric:
    whole = _system_calls(kind)
    name = f"{whole.name}{_OF}{kind}"
    return replace(
        whole, name=name, ratio=name, label=f"{whole.label}{_OF}{kind}", short=f"{kind} calls"
    )


# Names looked up.


def _untold_lookups(asked: Asked) -> Reason | None:
    windows = [
        window for each in asked.starts for window in each.windows if window.arm in asked.arms
    ]
    if windows and all(window.telemetry.lookups is None for window in windows):
        return uncounted(asked.metric, len(asked.starts))
    return None


# Answers by the first word of a header.


def _words_counted(start: StartRecord, arm: int) -> Found:
    found = start.header_words[arm] if start.header_words else None
    return None if found is None else (found.n_answers, found.uncounted)


def _answers_with(word: str) -> Metric:
    """Return the share of answers whose header begins with a word.

    Which words there are a server decides, so any may be asked for. More is better of a word that
    says that a cache had the answer, by its letters alone: as `HIT`, `TCP_MEM_HIT` do.
    """

    def figure(totals: ArmTotals) -> float:
        words = totals.header_words
        share = None if words is None else words.ratio_of(word)
        return math.nan if share is None else share

    return Metric(
        name=f"answers_ratio{_OF}{word}",
        ratio=f"answers_ratio{_OF}{word}",
        label=f"share of answers with {word}",
        short=word,
        write=format_percent,
        figure=figure,
        is_more_better=word.lower().endswith("hit"),
        zero=Counted(uncounted=nobody_counted(_words_counted)),
        of=word,
        is_on_demand=True,
        source="header words",
        needs="header",
    )


# Processes that end.


def _exits_counted(start: StartRecord, arm: int) -> Found:
    of_arms = start.counts.get("exits_per_request", ())
    found = of_arms[arm] if of_arms else None
    if found is None:
        return None
    return (found.n_answers, []) if found.uncounted is None else (0, [found.uncounted])


METRICS: tuple[Metric, ...] = (
    Metric(
        name="throughput_per_s",
        ratio="throughput",
        label="throughput",
        short="rate",
        write=format_rate,
        figure=lambda totals: totals.rate_per_s,
        is_more_better=True,
        is_rate=True,
    ),
    Metric(
        name="usual_throughput_per_s",
        ratio="usual_throughput",
        label="throughput of the usual users",
        short="usual rate",
        write=format_rate,
        figure=lambda totals: totals.rate_of_per_s("usual"),
        is_more_better=True,
        zero=Unanswered(users="usual"),
        is_on_demand=True,
        is_rate=True,
        needs="usual users",
    ),
    Metric(
        name="slow_throughput_per_s",
        ratio="slow_throughput",
        label="throughput of the slow users",
        short="slow rate",
        write=format_rate,
        figure=lambda totals: totals.rate_of_per_s("slow"),
        is_more_better=True,
        zero=Unanswered(users="slow"),
        is_on_demand=True,
        is_rate=True,
        needs="slow users",
    ),
    Metric(
        name="cpu_s_per_request",
        ratio="cpu_per_request",
        label="CPU per request",
        short="CPU",
        write=format_duration,
        figure=lambda totals: totals.each(totals.cpu_s),
        silence=_no_cpu,
    ),
    Metric(
        name="pss_bytes",
        ratio="memory",
        label="memory",
        short="memory",
        write=format_bytes,
        figure=lambda totals: totals.pss_bytes,
        silence=_no_memory,
    ),
    Metric(
        name="uss_bytes_per_process",
        ratio="uss_per_process",
        label="private memory per process",
        short="private",
        write=format_bytes,
        figure=lambda totals: totals.uss_bytes_per_process,
        silence=_no_memory,
    ),
    Metric(
        name="bytes_per_request",
        ratio="bytes_per_request",
        label="bytes per request",
        short="bytes per request",
        write=format_bytes,
        figure=lambda totals: totals.each(totals.bytes_received),
    ),
    _system_calls(""),
    Metric(
        name="handshakes_full_per_request",
        ratio="handshakes_full_per_request",
        label="full TLS handshakes per request",
        short="handshakes",
        write=format_percent,
        figure=lambda totals: totals.each(totals.handshakes_full),
        zero=Counted(),
        is_on_demand=True,
        needs="TLS",
        doc="`handshakes_full_per_request` is for how many of the answers a server that speaks TLS "
        "signed.",
    ),
    Metric(
        name="lookups_per_request",
        ratio="lookups_per_request",
        label="lookups per request",
        short="lookups",
        write=format_count,
        figure=lambda totals: totals.lookups / totals.looked_up if totals.looked_up else math.nan,
        zero=Counted(uncounted=_untold_lookups),
        is_on_demand=True,
        is_tile=True,
        needs="resolver",
        doc="`lookups_per_request` is what a server asks a resolver of its own.",
    ),
    Metric(
        name="exits_per_request",
        ratio="exits_per_request",
        label="process exits per 1,000 requests",
        short="exits per 1,000",
        write=format_per_thousand,
        figure=lambda totals: totals.count_of("exits_per_request"),
        zero=Counted(uncounted=nobody_counted(_exits_counted)),
        is_on_demand=True,
        is_tile=True,
        source="watch",
        doc="`exits_per_request` is how many of the server's processes end, told of a thousand "
        "requests: each start counts them after its windows, under four seconds of load more.",
    ),
    Metric(
        name="ready_s",
        ratio="ready",
        label="time until it is ready",
        short="ready",
        write=format_duration,
        figure=lambda totals: totals.ready_s,
        zero=too_soon,
        is_on_demand=True,
        source="coming up",
        needs="one server",
        resolution_s=0.005,
        doc="`ready_s` is the time from a server's spawning until it answers: they come up one "
        "after the other then, and less than 0.1 s is not compared.",
    ),
    *_percentiles(
        "latency", tuple(QUANTILES), label="{} latency", always=("p50", "p90", "p99", "p999")
    ),
    *_percentiles("first_byte", label="{} time to the first byte"),
    *_percentiles("page", label="{} page time", needs="pages"),
    *_percentiles("usual", label="{} latency of the usual users", needs="usual users"),
    *_percentiles("slow", label="{} latency of the slow users", needs="slow users"),
    Metric(
        name=CALL_METRIC,
        ratio="cpu_per_call",
        label="CPU per call",
        short="CPU",
        write=format_duration,
        figure=lambda totals: totals.call_figures.cpu_s if totals.call_figures else math.nan,
        is_of_code=True,
        silence=_no_cpu,
    ),
    Metric(
        name="wall_s_per_call",
        ratio="wall_per_call",
        label="wall time per call",
        short="wall",
        write=format_duration,
        figure=lambda totals: totals.call_figures.wall_s if totals.call_figures else math.nan,
        is_of_code=True,
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Metrics that are of one of many things."""

    whole: str
    """What stands before ` of `."""
    make: Callable[[str], Metric]
    """Returns that of one thing."""
    holds: Callable[[str], bool] = bool
    """Whether a text may be such a thing."""
    any: str = ""
    """What lists have in place of all of them, where any thing may be named: `WORD`."""
    doc: str = ""
    """As that of a metric."""


FAMILIES: tuple[Family, ...] = (
    *(
        Family(whole=each.name, make=partial(_latency_of_request, each))
        for each in METRICS
        if each.distribution == "latency"
    ),
    Family(whole="calls_per_request", make=_calls_of_kind),
    Family(
        whole="answers_ratio",
        make=_answers_with,
        holds=is_word,
        any="WORD",
        doc="`answers_ratio of MISS` is the share of the answers whose counted header "
        "(`workload.count_header`) began with that word, as the server spells it: more is better "
        "of a word that is or ends in `hit`, in small letters or capitals, and less of all others.",
    ),
)

_BY_NAME = {each.name: each for each in METRICS}
_BY_RATIO = {each.ratio: each for each in METRICS}
_FAMILY_OF = {each.whole: each for each in FAMILIES} | {
    _BY_NAME[each.whole].ratio: each for each in FAMILIES if each.whole in _BY_NAME
}

REQUEST_METRICS = tuple(each.name for each in METRICS if not each.is_of_code)
"""Of a server under load."""
CALL_RATIOS = tuple(each.ratio for each in METRICS if each.is_of_code)
RATES = frozenset(each.name for each in METRICS if each.is_rate)
"""What the schedule of an open loop decides, and no server."""
ANY_OF = tuple(f"{each.whole}{_OF}{each.any}" for each in FAMILIES if each.any)
"""What lists of metrics have in place of families of which any thing may be named."""

_DOCS = (*(each.doc for each in METRICS), *(each.doc for each in FAMILIES))
METRICS_TEXT = " ".join(filter(None, _DOCS))
"""What the reference of study files says of them."""


def named(name: str) -> Metric:
    """Return the metric of this name.

    Raises:
        KeyError: There is none.
    """
    return _BY_NAME[name] if name in _BY_NAME else _of_family(name)


def of_ratio(key: str) -> Metric:
    """Return the metric that has this key in `Comparison.ratios`.

    Raises:
        KeyError: There is none.
    """
    return _BY_RATIO[key] if key in _BY_RATIO else _of_family(key)


@cache
def _of_family(text: str) -> Metric:
    whole, _, of = text.partition(_OF)
    if not of or not _FAMILY_OF[whole].holds(of):
        raise KeyError(text)
    return _FAMILY_OF[whole].make(of)


def meant_by(text: str) -> str:
    """Return the metric that is meant by `p99_s` or `p99` as well as by `latency_p99_s`."""
    percentile = text.partition(_OF)[0]
    if percentile in QUANTILES:
        text = text.replace(percentile, f"{percentile}_s", 1)
    longer = f"latency_{text}"
    return longer if longer.partition(_OF)[0] in _BY_NAME else text


def is_among(name: str, names: Collection[str]) -> bool:
    """Whether a metric is one of these: of a family of any things, where that is listed."""
    if name in names:
        return True
    whole, _, of = name.partition(_OF)
    family = _FAMILY_OF.get(whole)
    if family is None or not family.any or not family.holds(of):
        return False
    return f"{whole}{_OF}{family.any}" in names


def of_request(request: str) -> tuple[str, ...]:
    """Return the metrics of one request of a mix: its latencies."""
    return tuple(f"{m.name}{_OF}{request}" for m in METRICS if m.distribution == "latency")


def calls_of_kind(kind: str) -> str:
    """Return the metric of system calls of a kind."""
    return f"calls_per_request{_OF}{kind}"


def sources(names: Iterable[str]) -> frozenset[Source]:
    """Return where the figures of these metrics are from."""
    return frozenset(named(name).source for name in names)
