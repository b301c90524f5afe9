"""The metrics that an objective may have, and how they are called."""

from collections.abc import Iterable

from httpdyno.model.answers import ANSWERS, answers_with, means_hit, word_of_answers

SYSTEM_CALLS = "calls_per_request"
FULL_HANDSHAKES = "handshakes_full_per_request"
LOOKUPS = "lookups_per_request"
EXITS = "exits_per_request"
READY = "ready_s"

_OF_REQUESTS = {
    "throughput_per_s": ("throughput", "throughput"),
    "usual_throughput_per_s": ("usual_throughput", "throughput of the usual users"),
    "slow_throughput_per_s": ("slow_throughput", "throughput of the slow users"),
    "cpu_s_per_request": ("cpu_per_request", "CPU per request"),
    "pss_bytes": ("memory", "memory"),
    "uss_bytes_per_process": ("uss_per_process", "private memory per process"),
    "bytes_per_request": ("bytes_per_request", "bytes per request"),
    SYSTEM_CALLS: (SYSTEM_CALLS, "system calls per request"),
    FULL_HANDSHAKES: (FULL_HANDSHAKES, "full TLS handshakes per request"),
    LOOKUPS: (LOOKUPS, "lookups per request"),
    EXITS: (EXITS, "process exits per 1,000 requests"),
    READY: ("ready", "time until it is ready"),
    "latency_p50_s": ("latency_p50", "p50 latency"),
    "latency_p90_s": ("latency_p90", "p90 latency"),
    "latency_p95_s": ("latency_p95", "p95 latency"),
    "latency_p99_s": ("latency_p99", "p99 latency"),
    "latency_p999_s": ("latency_p999", "p99.9 latency"),
    "first_byte_p50_s": ("first_byte_p50", "p50 time to the first byte"),
    "first_byte_p90_s": ("first_byte_p90", "p90 time to the first byte"),
    "first_byte_p95_s": ("first_byte_p95", "p95 time to the first byte"),
    "first_byte_p99_s": ("first_byte_p99", "p99 time to the first byte"),
    "page_p50_s": ("page_p50", "p50 page time"),
    "page_p90_s": ("page_p90", "p90 page time"),
    "page_p95_s": ("page_p95", "p95 page time"),
    "page_p99_s": ("page_p99", "p99 page time"),
    "usual_p50_s": ("usual_p50", "p50 latency of the usual users"),
    "usual_p90_s": ("usual_p90", "p90 latency of the usual users"),
    "usual_p95_s": ("usual_p95", "p95 latency of the usual users"),
    "usual_p99_s": ("usual_p99", "p99 latency of the usual users"),
    "slow_p50_s": ("slow_p50", "p50 latency of the slow users"),
    "slow_p90_s": ("slow_p90", "p90 latency of the slow users"),
    "slow_p95_s": ("slow_p95", "p95 latency of the slow users"),
    "slow_p99_s": ("slow_p99", "p99 latency of the slow users"),
}
"""Of each the key of its ratio, which has no unit, and its name in words."""

_OF_CALLS = {
    "cpu_s_per_call": ("cpu_per_call", "CPU per call"),
    "wall_s_per_call": ("wall_per_call", "wall time per call"),
}
"""The same, of bodies of code that a program repeats, the empty body's time taken off."""

_METRICS = _OF_REQUESTS | _OF_CALLS

REQUEST_METRICS = tuple(_OF_REQUESTS)
"""Of a server under load."""

USUAL_RATE = "usual_throughput_per_s"
SLOW_RATE = "slow_throughput_per_s"
RATES = ("throughput_per_s", USUAL_RATE, SLOW_RATE)
"""What the schedule of an open loop decides, and no server."""

CALL_METRIC = "cpu_s_per_call"
"""What decides between bodies of code: wall time is also others' who have the core."""

REQUEST_RATIOS = tuple(ratio for ratio, _ in _OF_REQUESTS.values())
CALL_RATIOS = tuple(ratio for ratio, _ in _OF_CALLS.values())

QUANTILES = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p999": 0.999}
_NAMED_ONLY = "p95"
"""A percentile between others, whose ratio is made where an objective names it."""

ON_DEMAND = ("first_byte", "page", "usual", "slow")
"""Distributions that are kept, and their ratios made, where an objective names them: of the time to
an answer's first byte, of pages with all their objects, of those users who are not slow, and of
those who are."""


def metric_named(text: str) -> str:
    """Return the metric that is meant by `p99_s` or `p99` as well as by `latency_p99_s`."""
    percentile = text.partition(_OF)[0]
    if percentile in QUANTILES:
        text = text.replace(percentile, f"{percentile}_s", 1)
    longer = f"latency_{text}"
    return longer if longer.partition(_OF)[0] in _METRICS else text


_OF = " of "


class _WithRequests(dict[str, str]):
    """Also of one request of a mix, `latency_p90_s of search`, or of calls of one kind.

    And of answers that say one word, which have none that they are a part of.
    """

    of_answers = answers_with("")

    def __missing__(self, key: str) -> str:
        whole, of, request = key.partition(_OF)
        if not of:
            raise KeyError(key)
        if whole == ANSWERS:
            return f"{self.of_answers}{request}"
        return f"{self[whole]}{_OF}{request}"


class _InWords(_WithRequests):
    """The same, for people."""

    of_answers = "share of answers with "


METRIC_NAMES = _InWords({metric: name for metric, (_, name) in _METRICS.items()})
"""In words."""

RATIO_OF_METRIC = _WithRequests({metric: ratio for metric, (ratio, _) in _METRICS.items()})
"""The keys of `Comparison.ratios`."""

RATIO_NAMES = _InWords(_METRICS.values())
"""The same in words, by such a key."""


def of_request(name: str) -> tuple[str, ...]:
    """Return the metrics of one request of a mix: its latencies."""
    return tuple(f"{each}{_OF}{name}" for each in _OF_REQUESTS if each.startswith("latency_"))


def request_of(metric: str) -> str:
    """Return the request that a metric, or a ratio, is of, or the kind of calls, or the word.

    Empty: of all.
    """
    return metric.partition(_OF)[2]


def is_of_system_calls(metric: str) -> bool:
    """Whether a metric, or a ratio, is of system calls: of all, or of a kind."""
    return metric.partition(_OF)[0] == SYSTEM_CALLS


def is_counted(metric: str) -> bool:
    """Whether a metric, or a ratio, is a count, which may be nought or the same in each start."""
    of_words = is_of_system_calls(metric) or word_of_answers(metric) != ""
    return of_words or metric in {FULL_HANDSHAKES, LOOKUPS, EXITS}


def calls_of_kind(kind: str) -> str:
    """Return the metric of system calls of a kind, which is its ratio's key too."""
    return f"{SYSTEM_CALLS}{_OF}{kind}"


def kind_of_calls(metric: str) -> str:
    """Return the kind that a metric, or a ratio, of system calls is of; empty: of all, or none."""
    return request_of(metric) if is_of_system_calls(metric) else ""


def times_of_request(name: str) -> str:
    """Return what the distribution of a request's latencies is called."""
    return f"latency{_OF}{name}"


def percentile_of(distribution: str, name: str) -> str:
    """Return the key of the ratio of a distribution's percentile; `distribution_of` goes back."""
    whole, of, request = distribution.partition(_OF)
    return f"{whole}_{name}{of}{request}"


def distribution_of(ratio: str) -> tuple[str, str]:
    """Return which distribution a ratio is a percentile of, and its name; empty for none."""
    whole, of_one, request = ratio.partition(_OF)
    of, _, name = whole.rpartition("_")
    is_one = name in QUANTILES and of in {"latency", *ON_DEMAND}
    return (f"{of}{of_one}{request}", name) if is_one else ("", "")


def is_on_demand(metric: str) -> bool:
    """Whether a metric is looked at only where an objective names it."""
    of, percentile = distribution_of(RATIO_OF_METRIC[metric])
    if metric in {USUAL_RATE, SLOW_RATE, READY} or is_counted(metric) or percentile == _NAMED_ONLY:
        return True
    return bool(request_of(of)) or of in ON_DEMAND


def keeps_first_byte(metrics: Iterable[str]) -> bool:
    """Whether one of these metrics is about the time to the first byte."""
    return any(metric.startswith("first_byte_") for metric in metrics)


MORE_IS_BETTER = frozenset({"throughput", "usual_throughput", "slow_throughput"})
"""Of the ratios; of all others less is better, but for answers of a cache that had them."""


def is_more_better(metric: str) -> bool:
    """Whether more of a metric is better."""
    return RATIO_OF_METRIC[metric] in MORE_IS_BETTER or means_hit(word_of_answers(metric))
