"""Realistic load tests, built by code: same bytes every time."""

import math
import random

from msgspec import structs
from tests.report import sample_figures
from tests.report.sample_figures import latency_data

from httpdyno.model import (
    Batches,
    Constant,
    Evidence,
    HistogramData,
    LoadOutcome,
    Measurement,
    Pages,
    Phases,
    Portion,
    RequestSpec,
    SlowUsers,
    TlsSpec,
    Users,
    Visit,
    Visits,
    VisitStep,
    Workload,
)

URL = "http://127.0.0.1:8080/"
BEGAN_AT = "2025-06-11T09:30:00.000+00:00"
CLOSED = Workload(connections=50)
OPEN = Workload(connections=50, arrival=Constant(rate_per_s=500.0))
NONE = HistogramData()
GIVEN_UP_NS = 10_007_609_343
"""The bucket of ten seconds."""


def load_measurement(
    *,
    completed: int = 12_345,
    errors: dict[str, int] | None = None,
    statuses: dict[str, int] | None = None,
    latency: HistogramData | None = None,
) -> Measurement:
    """Return one plain window of ten seconds."""
    errors = errors or {}
    offered = completed + sum(errors.values())
    if latency is None:
        latency = latency_data(0.0039, 0.4, completed) if completed else NONE
    return Measurement(
        opened_s=100.0,
        measured_s=10.0,
        total_s=10.004,
        offered=offered,
        completed=completed,
        errors=errors,
        statuses={"200": completed} if statuses is None else statuses,
        measured_offered=offered,
        measured_completed=completed,
        measured_errors=sum(errors.values()),
        connects=50,
        bytes_sent=offered * 84,
        bytes_received=offered * 1290,
        latency=latency,
        service_time=latency,
        series_completed=(completed // 4,) * 4,
        series_errors=(0,) * 4,
        series_latency_max_s=(0.01, 0.012, 0.02, 0.011),
        client_cpu_s=0.61,
        limited_by="server",
        evidence=Evidence(client_cpu_ratio=0.061, busy_connections=49.2),
    )


def with_phases(measurement: Measurement, *, n_connects: int = 50) -> Measurement:
    """Return it with phases whose sums add up to latency's."""
    n = measurement.completed
    parts = {
        "connect": latency_data(0.00011, 0.2, n_connects),
        "transfer": latency_data(0.00035, 0.3, n),
        "client_queue": latency_data(0.000004, 0.5, n),
    }
    rest_s = measurement.latency.sum_s - sum(data.sum_s for data in parts.values())
    first_byte = structs.replace(measurement.latency, sum_s=rest_s)
    return structs.replace(measurement, phases=Phases(first_byte=first_byte, **parts))


def with_batches(measurement: Measurement, *, n: int = 250, dips: bool = False) -> Measurement:
    """Return it with a course of 40 ms intervals, like noise; perhaps with a slow stretch."""
    rng = random.Random(1)
    weights = [rng.gauss(1, 0.05) / (1 + dips * _dip(i, n)) for i in range(n)]
    completed = _shared_out(measurement.completed, weights)
    errors = _shared_out(measurement.n_errors, [_dip(i, n) for i in range(n)])
    return structs.replace(
        measurement,
        batches=Batches(
            interval_s=0.04,
            offered=_shared_out(measurement.offered, [1.0] * n),
            completed=completed,
            errors=errors,
            latency=tuple(
                latency_data(0.0039 * rng.gauss(1, 0.03) * (1 + dips * _dip(i, n)), 0.3, k)
                for i, k in enumerate(completed)
            ),
        ),
    )


def _dip(i: int, n: int) -> float:
    """Return how much slower things are in an interval: four times, a bit after the middle."""
    return 3 * math.exp(-(((i - 0.6 * n) / 6) ** 2))


def _shared_out(total: int, weights: list[float]) -> tuple[int, ...]:
    """Return whole numbers that add up to the total, in about these proportions."""
    reached = 0.0
    given: list[int] = []
    for weight in weights:
        reached += weight / sum(weights) * total
        given.append(round(reached) - sum(given))
    return tuple(given)


def load_outcome(
    measurement: Measurement | None = None, workload: Workload = CLOSED, **more: object
) -> LoadOutcome:
    """Return a load test of the usual site."""
    outcome = LoadOutcome(
        measurement=measurement or with_batches(with_phases(load_measurement())),
        workload=workload,
        host=structs.replace(sample_figures.HOST, card=None, card_taken_at=""),
        url=URL,
        began_at=BEGAN_AT,
        seed=7,
        schedule_hash="" if workload is CLOSED else "5f1c09ab",
    )
    return structs.replace(outcome, **more)


def all_404() -> LoadOutcome:
    """Return a test of a path that is not there."""
    return load_outcome(
        load_measurement(
            completed=0,
            errors={"wrong_status": 500},
            statuses={"404": 500},
            latency=NONE,
        )
    )


def with_timeouts() -> LoadOutcome:
    """Return 480 answers of about 20 ms, and 60 requests given up after 10 s."""
    fast = latency_data(0.02, 0.3, 480)
    given_up = HistogramData(bounds_ns=(10_066_329_599,), counts=(60,), sum_s=600.0, max_s=10.0)
    latency = HistogramData(
        bounds_ns=(*fast.bounds_ns, GIVEN_UP_NS),
        counts=(*fast.counts, 60),
        sum_s=fast.sum_s + 600.0,
        max_s=10.0,
    )
    measurement = load_measurement(completed=480, errors={"timeout": 60}, latency=latency)
    return load_outcome(structs.replace(measurement, censored=given_up))


def open_loop() -> LoadOutcome:
    """Return a constant rate that the server kept up with."""
    measurement = with_phases(load_measurement(completed=5000))
    late = latency_data(0.000012, 0.6, 5000)
    evidence = Evidence(client_cpu_ratio=0.09, lateness_p99_s=0.000048)
    evidence = structs.replace(evidence, offered_per_s=500.0, achieved_per_s=500.0)
    measurement = structs.replace(
        measurement, lateness=late, limited_by="rate", evidence=evidence, client_cpu_s=0.9
    )
    return load_outcome(with_batches(measurement), OPEN)


def shop() -> LoadOutcome:
    """Return visits to a site with pages, slow users and TLS, which the client made too slow."""
    paths = ("/", "/search?q=shoes", "/item/{n}", "/style.css", "/logo.png", "/cart")
    workload = Workload(
        requests=tuple(RequestSpec(path=path) for path in paths),
        steps=(
            VisitStep(request=0, objects=(3, 4), weight=5),
            VisitStep(request=1, weight=2.5),
            VisitStep(request=2, objects=(3, 4), weight=1.5),
            VisitStep(request=5, weight=1),
        ),
        connections=200,
        arrival=Constant(rate_per_s=2000.0),
        users=Users(has_cookies=True, new_ratio=0.3, visit=Visit(mean_steps=5, is_geometric=True)),
        slow=SlowUsers(ratio=0.2, bytes_per_s=3600.0),
        tls=TlsSpec(server_name="shop.test"),
    )
    measurement = with_phases(
        load_measurement(completed=19_800, errors={"timeout": 150, "reset": 50})
    )
    portions = tuple(
        Portion(
            offered=(n := round(20_000 * weight)),
            completed=n - 20,
            errors={"timeout": 15, "reset": 5},
            latency=_joined(latency_data(0.003 + 0.002 * i, 0.4, n - 20), GIVEN_UP_NS, 15),
        )
        for i, weight in enumerate((0.3, 0.15, 0.1, 0.2, 0.2, 0.05))
    )
    late = latency_data(0.0021, 0.7, 20_000)
    measurement = structs.replace(
        measurement,
        phases=structs.replace(measurement.phases, tls=latency_data(0.0014, 0.2, 200)),
        lateness=late,
        censored=HistogramData(
            bounds_ns=(10_066_329_599,), counts=(150,), sum_s=1500.0, max_s=10.0
        ),
        latency=_joined(measurement.latency, GIVEN_UP_NS, 150),
        service_time=_joined(measurement.service_time, GIVEN_UP_NS, 150),
        by_request=portions,
        by_population={
            "usual": Portion(
                offered=16_000,
                completed=15_950,
                errors={"timeout": 50},
                latency=portions[0].latency,
            ),
            "slow": Portion(
                offered=4000,
                completed=3850,
                errors={"timeout": 100, "reset": 50},
                latency=_joined(latency_data(0.9, 0.2, 3850), GIVEN_UP_NS, 100),
            ),
        },
        pages=Pages(
            offered=1300,
            completed=1260,
            failed=40,
            time=_joined(latency_data(0.021, 0.4, 1260), GIVEN_UP_NS, 30),
            censored=_joined(HistogramData(), GIVEN_UP_NS, 30),
        ),
        visits=Visits(
            started=4000, finished=3790, left=150, cut=60, new_users=1200, returning_users=2800
        ),
        handshakes_full=61,
        handshakes_resumed=139,
        connects=200,
        limited_by="client_cpu",
        evidence=Evidence(
            client_cpu_ratio=0.97,
            client_frozen_ratio=0.031,
            little_residual_ratio=0.034,
            lateness_p99_s=0.0107,
            late_requests=14_210.0,
            service_inflation_ratio=2.2,
            offered_per_s=2000.0,
        ),
        client_cpu_s=9.7,
    )
    return load_outcome(
        with_batches(measurement, dips=True),
        workload,
        url="https://127.0.0.1:8443",
        fail_if=("p99 > 200ms", "errors > 2%", "rate < 1500/s", "p99.99 > 20s", "page p90 > 1s"),
    )


def _joined(data: HistogramData, bound_ns: int, n: int) -> HistogramData:
    """Return a distribution with values of 10 s beside its own."""
    return HistogramData(
        bounds_ns=(*data.bounds_ns, bound_ns),
        counts=(*data.counts, n),
        sum_s=data.sum_s + 10.0 * n,
        max_s=10.0,
    )
