"""The metrics that an objective may have, and how they are called."""

METRIC_NAMES = {
    "throughput_per_s": "throughput",
    "cpu_s_per_request": "CPU per request",
    "latency_p50_s": "p50 latency",
    "latency_p90_s": "p90 latency",
    "latency_p99_s": "p99 latency",
    "latency_p999_s": "p99.9 latency",
}
"""In words."""

RATIO_OF_METRIC = {
    "throughput_per_s": "throughput",
    "cpu_s_per_request": "cpu_per_request",
    "latency_p50_s": "latency_p50",
    "latency_p90_s": "latency_p90",
    "latency_p99_s": "latency_p99",
    "latency_p999_s": "latency_p999",
}
"""The keys of `Comparison.ratios`, which have no unit."""

RATIO_NAMES = {ratio: METRIC_NAMES[metric] for metric, ratio in RATIO_OF_METRIC.items()}
"""The same in words, by such a key."""

MORE_IS_BETTER = frozenset({"throughput"})
"""Of the ratios; of all others less is better."""
