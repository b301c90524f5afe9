"""The metrics that an objective may have, and how they are called."""

_METRICS = {
    "throughput_per_s": ("throughput", "throughput"),
    "cpu_s_per_request": ("cpu_per_request", "CPU per request"),
    "pss_bytes": ("memory", "memory"),
    "bytes_per_request": ("bytes_per_request", "bytes per request"),
    "latency_p50_s": ("latency_p50", "p50 latency"),
    "latency_p90_s": ("latency_p90", "p90 latency"),
    "latency_p99_s": ("latency_p99", "p99 latency"),
    "latency_p999_s": ("latency_p999", "p99.9 latency"),
}
"""Of each the key of its ratio, which has no unit, and its name in words."""


def metric_named(text: str) -> str:
    """Return the metric that is meant by `p99_s` as well as by `latency_p99_s`."""
    longer = f"latency_{text}"
    return longer if longer in _METRICS else text


METRIC_NAMES = {metric: name for metric, (_, name) in _METRICS.items()}
"""In words."""

RATIO_OF_METRIC = {metric: ratio for metric, (ratio, _) in _METRICS.items()}
"""The keys of `Comparison.ratios`."""

RATIO_NAMES = dict(_METRICS.values())
"""The same in words, by such a key."""

MORE_IS_BETTER = frozenset({"throughput"})
"""Of the ratios; of all others less is better."""
