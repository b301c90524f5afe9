"""What sample outcomes are made of: a host, knobs, arms with latencies, comparisons of them."""

import math
from functools import cache
from statistics import NormalDist
from typing import Any

from msgspec import structs

from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import (
    ArmSummary,
    Comparison,
    Configuration,
    Effective,
    HistogramData,
    HostFacts,
    Knob,
    Level,
    MachineCard,
    Method,
    Objective,
    RatioInterval,
    RequestSpec,
    ServerSpec,
    Study,
    Verdict,
    Workload,
)
from httpdyno.reason import because
from httpdyno.stats.histogram import can_show, mean_s, quantile_s

HOST = HostFacts(
    httpdyno="0.1.0",
    python="3.11.2",
    kernel="Linux 6.1.0-26-amd64",
    cpu="AMD EPYC 7B13",
    n_cpus=2,
    memory_bytes=8_323_006_464,
    limits={"open_files": 1_048_576, "local_ports": 28_232, "somaxconn": 4096},
    load_average=(0.42, 0.35, 0.21),
    card=MachineCard(
        stat_s=7.69e-7,
        fork_s=4.12e-4,
        switch_s=3.4e-6,
        copy_bytes_per_s=6.2e9,
        round_trips_per_s=31_400.0,
        requests_per_s=48_200.0,
    ),
    card_taken_at="2025-06-11T09:13:58+00:00",
    server="Apache/2.4.62 (Debian) mod_perl/2.0.12 Perl/v5.36.0",
)


@cache
def latency_data(median_s: float, spread: float, n: int) -> HistogramData:
    """Return a log-normal latency distribution of `n` requests on a three-digit grid."""
    normal, values = NormalDist(), []
    counts: dict[int, int] = {}
    for rank in range(n):
        values.append(median_s * math.exp(spread * normal.inv_cdf((rank + 0.5) / n)))
        grid = 10 ** (math.floor(math.log10(values[-1] * 1e9)) - 2)
        bound_ns = math.ceil(values[-1] * 1e9 / grid) * grid
        counts[bound_ns] = counts.get(bound_ns, 0) + 1
    return HistogramData(
        bounds_ns=tuple(counts), counts=tuple(counts.values()), sum_s=sum(values), max_s=values[-1]
    )


def arm(
    values: dict[str, Level],
    throughput_per_s: float,
    *,
    clients: int = 5,
    cores: float = 1.9,
    n_starts: int = 6,
) -> ArmSummary:
    """Return an arm that a closed loop of `clients` kept busy."""
    latency = latency_data(clients / throughput_per_s * 0.93, 0.38, int(throughput_per_s * 6))
    quantiles = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
    return ArmSummary(
        configuration=Configuration(values=values),
        n_starts=n_starts,
        figures={
            "throughput_per_s": throughput_per_s,
            "cpu_s_per_request": cores / throughput_per_s,
            "pss_bytes": 61_500_000.0,
            **{
                f"latency_{name}_s": quantile_s(latency, q)
                for name, q in quantiles.items()
                if can_show(latency, q)
            },
        },
        statuses={"200": int(throughput_per_s * 6)},
        latency_s={
            "mean": mean_s(latency),
            **{
                name: quantile_s(latency, q)
                for name, q in quantiles.items()
                if can_show(latency, q)
            },
            "max": latency.max_s,
        },
        latency=latency,
        n_processes=6.0,
        start_throughputs_per_s=tuple(
            throughput_per_s * (1 + 0.012 * math.sin(2.1 * i + throughput_per_s))
            for i in range(n_starts)
        ),
    )


def with_figures(arm: ArmSummary, **figures: float | None) -> ArmSummary:
    """Return the arm with these figures, without those that are None."""
    both = {**arm.figures, **figures}
    return structs.replace(arm, figures={k: v for k, v in both.items() if v is not None})


def interval(ratio: float, half_width: float) -> RatioInterval:
    """Return a 95 % interval that is symmetric on the log scale."""
    return RatioInterval(
        ratio=ratio,
        low=ratio * math.exp(-half_width),
        high=ratio * math.exp(half_width),
        confidence=0.95,
    )


def comparison(  # noqa: PLR0913 - a sample's every figure is given
    index: int,
    a: ArmSummary,
    b: ArmSummary,
    verdict: Verdict,
    reason: str,
    *,
    half_width: float = 0.03,
    needed_s: float | None = None,
) -> Comparison:
    """Return a comparison whose ratios follow from the arms."""
    ratio = b.throughput_per_s / a.throughput_per_s
    return Comparison(
        index=index,
        a=a,
        b=b,
        verdict=verdict,
        reasons=said(reason),
        metric="throughput_per_s",
        n_starts=6,
        ratios={
            "throughput": interval(ratio, half_width),
            "cpu_per_request": interval(b.cpu_s_per_request / a.cpu_s_per_request, half_width / 2),
            "latency_p50": interval(1.01 / ratio, half_width),
            "latency_p90": interval(1.02 / ratio, half_width * 1.3),
            "latency_p99": interval(1.1 / ratio, half_width * 3),
        },
        per_start_ratio=tuple(
            ratio * math.exp(half_width * 0.7 * math.sin(1.7 * i + index)) for i in range(6)
        ),
        noise={"between_starts": half_width / 2, "between_windows": 0.041},
        needed_s=needed_s,
        duration_s=31.5,
    )


KNOBS = (
    Knob(
        name="state_dir",
        title="where Apache::ASP keeps sessions",
        start="disk",
        levels=("memory",),
        why="every request reads and writes a session file",
        book_ratio=(2.16,),
    ),
    Knob(name="asp_debug", title="Apache::ASP's Debug", start=1, levels=(0,), book_ratio=(1.12,)),
    Knob(
        name="access_file",
        title="where the handler is configured",
        start=".htaccess",
        levels=("httpd.conf",),
        book_ratio=(1.09,),
    ),
    Knob(
        name="MaxConnectionsPerChild",
        title="requests that a child serves before it is replaced",
        start=50,
        levels=(500,),
        why="a new child compiles every page again",
        book_ratio=(1.31,),
    ),
    Knob(
        name="session_serialize",
        title="lock the session for the whole request",
        start=0,
        levels=(1,),
        book_ratio=(1.12,),
    ),
    Knob(name="workers", title="MaxRequestWorkers", start=5, levels=(2,)),
)


def study_of(name: str, title: str, knobs: tuple[Knob, ...], method: Method, **more: Any) -> Study:
    return Study(
        name=name,
        title=title,
        folder=f"studies/{name}",
        server=ServerSpec(adapter="apache"),
        knobs=knobs,
        workload=Workload(
            requests=(RequestSpec(path="/index"),),
            connections=more.get("connections", 5),
            requests_per_connection=1,
        ),
        objective=Objective(),
        method=method,
        budget_s=280.0,
        about="The article tuned one setting after the other and kept what helped.",
        book_figure=more.get("book_figure", ""),
        book_ratio=more.get("book_ratio"),
    )


SERVER = because("experiment.said", words="the running server")


def told(arm: ArmSummary, **more: str) -> ArmSummary:
    """Return the arm with what its server said of itself, and who was the limit."""
    asked = {name: str(value) for name, value in arm.configuration.values.items()}
    return structs.replace(
        arm,
        effective=Effective(values={**more, **asked}, asked=asked, sources=(SERVER,)),
        limited_by={"server": 23, "client_cpu": 1},
    )


def tied(whole: Comparison, values: dict[str, Level]) -> Comparison:
    """Return a comparison whose throughput tied and whose CPU per request decided."""
    rate = whole.a.throughput_per_s
    compared = comparison(
        whole.index,
        told(whole.a, Timeout="60"),
        told(arm(values, rate * 1.001, cores=1.9 * 0.81), Timeout="60"),
        "better",
        "throughput shows no difference yet; CPU per request decides: "
        "the whole interval lies below 1 after 6 starts",
        half_width=0.0301,
    )
    by_cpu = {"cpu_per_request": interval(0.81, 0.074)}
    return structs.replace(
        compared, decided_by="cpu_s_per_request", ratios={**compared.ratios, **by_cpu}
    )
