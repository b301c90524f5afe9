"""What the windows of starts make, and what each look at them costs."""

import pytest
from msgspec import structs
from tests.conformance.record import sample_start, sample_window
from tests.experiment.cycles import start_of
from tests.rows import each_row

from httpdyno.experiment.decide import evidence
from httpdyno.experiment.decide.claim import Terms, claim
from httpdyno.experiment.decide.usable import limit_broken
from httpdyno.metrics import named, of_ratio
from httpdyno.metrics.totals import ArmTotals, arm_totals
from httpdyno.model import (
    Configuration,
    Cycles,
    HistogramData,
    Objective,
    Pages,
    Phases,
    Portion,
)
from httpdyno.model.measurement import Evidence
from httpdyno.report.shared.message import joined, text
from httpdyno.stats.histogram import merge


def test_each_look_merges_only_what_is_new(monkeypatch):
    n_merged = 0

    def counted(parts):
        nonlocal n_merged
        known = list(parts)
        n_merged += len(known)
        return merge(known)

    monkeypatch.setattr("httpdyno.metrics.totals.merge", counted)
    objective = Objective(tie_breaker="latency_p50_s", max_error_ratio=0.1)
    starts = []
    for number in range(60):
        starts.append(sample_start(start=number, n_blocks=4))
        claim(
            starts,
            Terms(objective=objective, min_starts=6),
        )
    assert n_merged == 60 * 2 * 4, "each window once"


def test_totals_kept_are_those_of_the_very_start():
    for n_blocks in (1, 2, 3):
        start = sample_start(n_blocks=n_blocks)
        totals = arm_totals(start, 1)
        assert totals.completed == 240 * n_blocks
        assert totals is arm_totals(start, 1)


def test_the_totals_of_all_starts_are_those_of_all_windows():
    starts = [sample_start(start=number, n_blocks=1 + number) for number in range(3)]
    windows = [w for start in starts for w in start.windows if w.arm == 0]
    together = ArmTotals.sum([arm_totals(start, 0) for start in starts])
    of_windows = ArmTotals.of(windows)
    assert together.completed == of_windows.completed
    counts = {name: data.counts for name, data in of_windows.times.items()}
    assert {name: data.counts for name, data in together.times.items()} == counts
    assert counts["latency"]
    for name in ("throughput", "cpu_per_request", "latency_p50"):
        assert of_ratio(name).figure(together) == pytest.approx(of_ratio(name).figure(of_windows))


def starts_with(*counts):
    """Return starts whose second arm has so many latencies, and whose first one has many."""
    return [
        structs.replace(
            sample_start(start=number),
            windows=tuple(
                sample_window(start=number, arm=arm, completed=n) for arm, n in enumerate((900, n))
            ),
        )
        for number, n in enumerate(counts)
    ]


@each_row(
    ("counts", "is_carried"),
    [
        ((302,) * 6, True),
        ((298,) * 6, False),
        # Of many starts one is always thin.
        ((330,) * 29 + (280,), True),
        ((330,) * 29 + (190,), False),
        ((280,) * 4 + (900,) * 2, False),
        ((), False),
    ],
)
def test_a_percentile_is_carried_by_the_median_start_and_no_start_is_far_below(counts, is_carried):
    starts = starts_with(*counts)
    assert evidence.carries(starts, "latency_p99") == is_carried
    assert evidence.carries(starts, "throughput")


def test_one_thin_start_does_not_end_a_comparison_that_was_carried_for_long():
    objective = Objective(metric="latency_p99_s", max_error_ratio=0.1)
    terms = Terms(objective=objective, min_starts=6)
    state = claim(starts_with(*(330,) * 29, 280), terms)
    assert (state.verdict, state.n_starts) == ("equivalent", 30)
    told = claim(starts_with(*(280,) * 30), terms)
    assert told.verdict == "not_measured"
    assert "a start holds 280 requests, too few requests for its p99 latency" in joined(
        told.reasons
    )


def with_times(start, slower, n_slow=26):
    """Return a start whose arms differ in pages, first bytes and usual users, not in requests."""

    def taking(seconds):
        bounds = tuple(round(seconds * share * 1e9) for share in (0.5, 1.0, 1.5))
        return HistogramData(bounds_ns=bounds, counts=(60, 60, 60), sum_s=1.0, max_s=2 * seconds)

    def window(each):
        seconds = 0.1 * (slower if each.arm == 1 else 1.0)
        seen = structs.replace(
            each.measurement,
            phases=Phases(first_byte=taking(seconds)),
            pages=Pages(time=taking(2 * seconds)),
            of_request={"search": taking(4 * seconds), "list": taking(9.0)},
            by_population={
                "usual": Portion(completed=90, latency=taking(3 * seconds)),
                "slow": Portion(
                    completed=10 if each.arm == 0 else n_slow, latency=taking(5 * seconds)
                ),
            },
        )
        return structs.replace(each, measurement=seen)

    return structs.replace(start, windows=tuple(map(window, start.windows)))


def test_of_p95_there_is_a_ratio_where_an_objective_names_it_and_a_figure_always():
    starts = [with_times(sample_start(start=n), 0.8 + 0.001 * (n % 3)) for n in range(8)]
    named = evidence.ratio_intervals(starts, Objective(metric="latency_p95_s"))
    assert "latency_p95" in named
    assert "latency_p95" not in evidence.ratio_intervals(starts, Objective())
    summary = evidence.arm_summary(starts, 0, Configuration(values={}))
    assert summary.latency_s["p90"] <= summary.latency_s["p95"] <= summary.latency_s["p99"]


@each_row(
    "metric",
    [
        "first_byte_p50_s",
        "first_byte_p99_s",
        "page_p90_s",
        "page_p95_s",
        "page_p99_s",
        "usual_p50_s",
        "usual_p99_s",
        "slow_p90_s",
        "latency_p90_s of search",
        "latency_p95_s of search",
    ],
)
def test_what_an_objective_names_is_claimed_of_and_nothing_of_it_is_told_otherwise(metric):
    starts = [with_times(sample_start(start=n), 0.8 + 0.001 * (n % 3)) for n in range(8)]
    objective = Objective(metric=metric, max_error_ratio=0.1)
    state = claim(starts, Terms(objective=objective, min_starts=6))
    assert state.verdict == "better"
    assert state.interval is not None
    assert state.interval.low <= 0.801 <= state.interval.high
    name = named(metric).ratio
    assert name in evidence.ratio_intervals(starts, objective)
    assert name not in evidence.ratio_intervals(starts, Objective())
    summary = evidence.arm_summary(starts, 0, Configuration(values={}))
    assert summary.figures[metric] > 0


def test_usual_and_slow_users_have_their_parts_of_the_throughput():
    starts = [with_times(sample_start(start=n), 1.0) for n in range(8)]
    usual, slow = (
        [
            evidence.figure(starts[0], arm, named(f"{whose}_throughput_per_s"))
            / evidence.figure(starts[0], arm, named("throughput_per_s"))
            for arm in (0, 1)
        ]
        for whose in ("usual", "slow")
    )
    assert usual == pytest.approx([0.9, 90 / 116])
    assert slow == pytest.approx([0.1, 26 / 116])
    for whose in ("usual", "slow"):
        objective = Objective(metric=f"{whose}_throughput_per_s", max_error_ratio=0.1)
        assert f"{whose}_throughput" in evidence.ratio_intervals(starts, objective)
        assert f"{whose}_throughput" not in evidence.ratio_intervals(starts, Objective())
    summary = evidence.arm_summary(starts, 0, Configuration(values={}))
    rate = summary.throughput_per_s
    assert summary.figures["usual_throughput_per_s"] == pytest.approx(0.9 * rate)
    assert summary.figures["slow_throughput_per_s"] == pytest.approx(0.1 * rate)
    none = evidence.arm_summary([sample_start()], 0, Configuration(values={}))
    assert not {"usual_throughput_per_s", "slow_throughput_per_s"} & none.figures.keys()


def test_a_start_without_an_answer_to_a_slow_user_is_not_left_out_in_silence():
    starts = [with_times(sample_start(start=n), 1.0) for n in range(7)]
    starts.append(with_times(sample_start(start=7), 1.0, n_slow=0))
    objective = Objective(metric="slow_throughput_per_s", max_error_ratio=0.1)
    state = claim(starts, Terms(objective=objective, min_starts=6))
    assert (state.verdict, state.interval) == ("not_measured", None)
    assert "no ratio: in 1 of 8 starts the slow users of an arm got no right answer" in joined(
        state.reasons
    )
    assert "slow_throughput" not in evidence.ratio_intervals(starts, objective)


def test_a_figure_that_no_window_has_is_not_claimed_of():
    starts = [sample_start(start=n) for n in range(8)]
    terms = Terms(objective=Objective(metric="page_p50_s", max_error_ratio=0.1), min_starts=6)
    state = claim(starts, terms)
    assert state.verdict == "not_measured"
    assert "a start holds 0 pages, too few pages for its p50 page time" in joined(state.reasons)


@each_row(
    ("lookups", "per_request"),
    [((None, None), None), ((0, 0), 0.0), ((3, None), 1.5), ((3, 5), 2.0)],
)
def test_names_looked_up_are_of_the_windows_that_tell_them(lookups, per_request):
    windows = tuple(
        structs.replace(
            each,
            measurement=structs.replace(each.measurement, completed=completed),
            telemetry=structs.replace(each.telemetry, lookups=n),
        )
        for each, n, completed in zip(
            [w for w in sample_start().windows if w.arm == 0][:2], lookups, (2, 2), strict=True
        )
    )
    start = structs.replace(sample_start(), windows=windows)
    arm = evidence.arm_summary([start], 0, Configuration(values={}))
    assert arm.figures.get("lookups_per_request") == per_request


def test_what_opening_connections_took_is_added_over_the_arms_windows():
    mine, *_ = [w for w in sample_start().windows if w.arm == 0]
    network = Evidence(listen_overflows=7.0, syn_retransmits=5.0)
    counts = {"handshakes_full": 3, "handshakes_resumed": 9, "completed": 12, "evidence": network}
    loaded = structs.replace(mine, measurement=structs.replace(mine.measurement, **counts))
    start = structs.replace(sample_start(), windows=(loaded, loaded))
    told = evidence.arm_summary([start], 0, Configuration(values={})).connecting
    assert (told.listen_overflows, told.syn_retransmits) == (14, 10)
    assert (told.handshakes_full_per_request, told.handshakes_resumed_per_request) == (0.25, 0.75)


@each_row(("most", "is_broken"), [(None, False), (1 << 40, False), (1, True)])
def test_a_limit_on_memory_is_for_the_largest_that_a_window_saw(most, is_broken):
    arm = evidence.arm_summary([sample_start()], 0, Configuration(values={}))
    sizes = [w.telemetry.pss_bytes or 0 for w in sample_start().windows if w.arm == 0]
    assert arm.largest_pss_bytes == max(sizes)
    broken = limit_broken(arm, Objective(max_error_ratio=1.0, max_memory_bytes=most))
    assert (broken is not None) is is_broken
    assert broken is None or "of memory; the limit is 1.00 B" in text(broken)


def test_the_time_to_the_first_byte_is_stored_where_it_is_asked_for():
    seen = with_times(sample_start(), 1.0).windows[0].measurement
    assert seen.lean(["first_byte"]).phases == Phases(first_byte=seen.phases.first_byte)
    assert seen.lean().phases == Phases()


def test_throughput_is_what_cycles_credit_and_else_what_ended():
    cycles = Cycles(
        credit=7.5, n_users=4, begun=8, begun_right=8, begun_s=4.0, begun_s2=2.0, longest_s=0.5
    )
    start = start_of(0, [[cycles, cycles]], 2.0)
    assert evidence.figure(start, 0, named("throughput_per_s")) == pytest.approx(15 / 4)
    plain = sample_start()
    assert evidence.figure(plain, 0, named("throughput_per_s")) == pytest.approx(240 / 0.25)
    assert plain.windows[0].measurement.latency != HistogramData()
