"""The bench against numbers whose truth is known: what it prints has to be what it says."""

import json
import math
import os
import signal
import sys
from threading import Timer

import numpy as np
import pytest
from benches.engine import __main__ as program
from benches.engine import beside, calls, client, coverage, gap, truth
from benches.engine.arrival import Punctuality, punctuality, runs_unlike_the_rest
from benches.engine.figure import Figure, Part, exactly
from benches.engine.interval import Estimate, median_of_runs, ratio_of_pairs
from benches.engine.origin import Log
from benches.engine.pacing import quantile_s
from benches.engine.process import BenchError, peak_bytes, run
from benches.engine.setting import REPOSITORY

from httpdyno.servers.run.live_process import process_info

RATE_PER_S = 1_000


def schedule_ns(n=5_000):
    return np.arange(n) * 1_000_000 + 7_000_000_000


# Intervals


def test_the_interval_of_a_ratio_covers_it_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(200):
        drift = rng.lognormal(0, 0.3, size=8)
        ours = 0.8 * drift * rng.lognormal(0, 0.05, size=8)
        found = ratio_of_pairs(ours.tolist(), (drift * rng.lognormal(0, 0.05, size=8)).tolist())
        covered += found.low <= 0.8 <= found.high
    # 95 % of 200 is 190, with a standard deviation of 3.
    assert 180 <= covered <= 199


def test_few_pairs_have_a_wide_interval():
    found = ratio_of_pairs([0.8, 0.9], [1.0, 1.0])
    assert found.value == pytest.approx(math.sqrt(0.72))
    assert found.low < 0.5
    assert found.high > 1.5


def test_a_median_has_an_interval_around_it():
    found = median_of_runs([1.0, 2.0, 3.0, 4.0, 100.0])
    assert (found.value, found.low, found.high) == (3.0, 1.0, 100.0)


# Figure 4


def test_a_perfect_schedule_is_perfect_and_the_order_of_the_log_does_not_matter():
    at_ns = schedule_ns()
    np.random.default_rng(1).shuffle(at_ns)
    found = punctuality(at_ns, RATE_PER_S)
    assert found.rate_error_ratio < 1e-12
    assert found.distance_p99_s < 1e-12
    assert (found.bunched_ratio, found.n) == (0, 4_250)
    assert found.gap_cv < 1e-9


def test_distances_are_those_that_were_put_in():
    at_ns = schedule_ns()
    at_ns[::2] += 200_000
    found = punctuality(at_ns, RATE_PER_S)
    # Half of them are 0.2 ms late: the best schedule lies between, or on either half.
    assert found.distance_p50_s == pytest.approx(100e-6, rel=0.01)
    assert found.gap_cv == pytest.approx(0.2, rel=0.01)


def test_connections_that_send_in_step_are_bunched():
    at_ns = np.repeat(np.arange(320) * 16_000_000, 16)
    found = punctuality(at_ns, RATE_PER_S)
    assert found.bunched_ratio == pytest.approx(15 / 16, abs=0.002)
    assert found.distance_p50_s == pytest.approx(4e-3, rel=0.1)


def test_a_rate_that_is_a_little_wrong_shows():
    at_ns = (np.arange(5_000) * 1_000_000 * 1.001).astype(np.int64)
    assert punctuality(at_ns, RATE_PER_S).rate_error_ratio == pytest.approx(0.001, rel=0.01)


def seen(cv=0.15, bunched=0.005, p50_s=20e-6):
    return Punctuality(
        n=1, rate_error_ratio=0, distance_p50_s=p50_s, distance_p99_s=0,
        bunched_ratio=bunched, gap_cv=cv,
    )  # fmt: skip


def test_one_run_that_locked_together_is_found_among_twenty():
    rng = np.random.default_rng(2)
    # The spread that one program showed from run to run, and its one run that was different.
    runs = [seen(*each) for each in zip(
        rng.uniform(0.63, 0.82, 19), rng.uniform(0.22, 0.27, 19), rng.uniform(337e-6, 380e-6, 19),
        strict=True,
    )]  # fmt: skip
    assert runs_unlike_the_rest(runs) == []
    assert runs_unlike_the_rest([*runs, seen(3.66, 0.9, 3_826e-6)]) == [19]


def test_runs_that_differ_a_little_are_alike_however_alike_the_others_are():
    assert runs_unlike_the_rest([seen()] * 19 + [seen(0.2, 0.008, 30e-6)]) == []
    assert runs_unlike_the_rest([seen()] * 19 + [seen(0.5)]) == [19]


# Figure 5


def log_of(paths, at_s, answered_s):
    return Log(
        at_ns=np.array([each * 1e9 for each in at_s], dtype=np.int64),
        answered_ns=np.array([each * 1e9 for each in answered_s], dtype=np.int64),
        connection=np.zeros(len(paths), dtype=np.int64),
        path=paths,
        stalls_ns=[],
    )


def test_true_latency_counts_from_the_due_time_in_whatever_order_requests_arrive():
    # Due at 10.000, 10.001, 10.002; the third arrives before the second.
    log = log_of(["/a", "/c", "/b"], [10.0, 10.0025, 10.5], [10.1, 10.2, 10.7])
    total_s, late_s = truth.true_latencies(log, ["/a", "/b", "/c", "/d"], 10_000_000_000, 3)
    assert total_s == pytest.approx([0.1, 0.699, 0.198])
    assert late_s == pytest.approx([0, 0.499, 0.0005])


@pytest.mark.parametrize(
    ("paths", "answered_s", "n", "why"),
    [
        (["/a", "/b"], [1, 0], 2, "never answered 1"),
        (["/a", "/b"], [1, 1], 3, "saw 2, 2 of them"),
        (["/a", "/b", "/c"], [1, 1, 1], 2, "saw 3, 2 of them"),
        (["/a", "/a", "/b"], [1, 1, 1], 2, "saw 3, 2 of them"),
    ],
)
def test_a_log_that_does_not_hold_each_request_once_is_refused(paths, answered_s, n, why):
    log = log_of(paths, [1] * len(paths), answered_s)
    with pytest.raises(BenchError, match=why):
        truth.true_latencies(log, ["/a", "/b", "/c"], 0, n)


def histogram(values_s):
    ordered = sorted(int(each * 1e9) for each in values_s)
    return {"bounds_ns": ordered, "counts": [1] * len(ordered)}


def test_percentiles_are_right_within_two_percent_or_a_millisecond():
    true_s = np.linspace(0.001, 1, 1_000)
    assert truth.judged(true_s, histogram(true_s * 1.019))["is_right"]
    assert not truth.judged(true_s, histogram(true_s * 1.021))["is_right"]
    small_s = true_s / 1_000
    assert truth.judged(small_s, histogram(small_s + 0.0009))["is_right"]
    assert not truth.judged(small_s, histogram(small_s + 0.0011))["is_right"]


def test_what_omits_the_requests_of_a_stall_is_wrong():
    true_s = np.concatenate([np.full(9_000, 1e-4), np.linspace(0, 1, 1_000)])
    omitting = np.concatenate([np.full(9_000, 1e-4), [1.0]])
    assert not truth.judged(true_s, histogram(omitting))["is_right"]


def test_a_quantile_is_the_smallest_value_with_so_many_at_or_below_it():
    values = histogram([0.001 * n for n in range(1, 101)])
    assert [quantile_s(values, q) for q in (0, 0.5, 0.99, 1)] == [0.001, 0.05, 0.099, 0.1]
    assert quantile_s({"bounds_ns": [], "counts": []}, 0.5) == 0


# Figure 8


@pytest.mark.parametrize(("statistic", "p"), [(1.933, 0.1), (2.492, 0.05), (3.857, 0.01)])
def test_the_distribution_of_the_statistic_is_that_of_the_tables(statistic, p):
    assert 1 - gap._distribution(statistic) == pytest.approx(p, abs=0.0003)


def test_exponential_gaps_pass_and_others_do_not():
    rng = np.random.default_rng(4)
    gaps_s = rng.exponential(1e-3, size=5_000)
    assert gap.anderson_darling(gaps_s, RATE_PER_S)[1] > 0.01
    assert gap.lag_one(gaps_s)[1] > 0.01
    assert gap.anderson_darling(gaps_s * 1.06, RATE_PER_S)[1] < 0.01
    assert gap.anderson_darling(rng.uniform(0, 2e-3, size=5_000), RATE_PER_S)[1] < 0.01
    assert gap.anderson_darling(np.full(5_000, 1e-3), RATE_PER_S)[1] < 0.01
    dependent = gaps_s.copy()
    dependent[1::2] = dependent[::2]
    assert gap.lag_one(dependent)[1] < 0.01


# Programs and what they write


def test_cpu_time_is_the_childs_own():
    burning = "import time\nwhile time.process_time() < 0.3: pass"
    ended = run([sys.executable, "-S", "-c", burning]).checked()
    assert 0.3 <= ended.cpu_s <= ended.wall_s + 0.05
    asleep = run([sys.executable, "-S", "-c", "import time; time.sleep(0.5)"]).checked()
    assert asleep.wall_s >= 0.5
    assert asleep.cpu_s < 0.4


def test_a_peak_is_the_programs_own_and_not_ours():
    ballast = np.ones(30_000_000)
    small = peak_bytes([sys.executable, "-S", "-c", "pass"])
    large = peak_bytes([sys.executable, "-S", "-c", "x = b'x' * 64_000_000"])
    assert small < ballast.nbytes / 4
    assert large - small == pytest.approx(64e6, rel=0.1)


def test_a_program_that_fails_or_hangs_is_said_by_name():
    with pytest.raises(BenchError, match=r"`false` ended with status 1"):
        run(["false"]).checked()
    with pytest.raises(BenchError, match=r"`sleep 60` took more than 0.1 s"):
        run(["sleep", "60"], timeout_s=0.1)
    with pytest.raises(BenchError, match="cannot be run"):
        run(["no-such-program"])


def test_the_table_of_strace_is_read_whole_or_not_at_all():
    table = (
        "% time     seconds  usecs/call     calls    errors syscall\n"
        "------ ----------- ----------- --------- --------- ----------------\n"
        " 60.00    0.123456           1     10000           sendto\n"
        " 40.00    0.023456           2     10050        50 recvfrom\n"
        "------ ----------- ----------- --------- --------- ----------------\n"
        "100.00    0.146912           1     20050        50 total\n"
    )
    assert calls._summary(table) == {"sendto": 10_000, "recvfrom": 10_050}
    with pytest.raises(BenchError, match="not understood"):
        calls._summary(table.replace("10050", "many "))


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        (
            "wrk",
            "  100 requests in 3.00s",
            "  Socket errors: connect 0, read 0, write 0, timeout 7",
        ),
        ("wrk", "  100 requests in 3.00s", "  Non-2xx or 3xx responses: 100"),
        (
            "oha",
            "  0.001 [1] |\nError distribution:\n  [64] aborted due to deadline\n",
            "  0.001 [1] |\nError distribution:\n  [64] aborted due to deadline\n  [3] refused\n",
        ),
        (
            "h2load",
            "requests: 9 total, 9 done, 9 succeeded, 0 failed, 0 errored, 0 timeout",
            "requests: 9 total, 9 done, 0 succeeded, 9 failed, 9 errored, 0 timeout",
        ),
    ],
)
def test_a_competitor_whose_requests_failed_is_no_comparison(name, good, bad, monkeypatch):
    monkeypatch.setattr(client, "_packaged", lambda program, _package="": program)
    monkeypatch.setattr(client, "oha", lambda: "oha")
    competitor = next(each for each in client.competitors() if each.name == name)
    competitor.check_clean(run(["echo", good]))
    with pytest.raises(BenchError, match="requests failed"):
        competitor.check_clean(run(["echo", bad]))


COVERED = """\
simulated, 2,000 runs of 2 s each
M/M/1 at 0.7, 1,000/s
  coverage throughput 100.0%^ (1,049 of 1,049), p50 91.7%! (44 of 48), p99 –; refused 951, 2, 50; \
wrong 0.0%, 8.0%, 0.0% of all
  also mean 87.8%! (43 of 49), p90 88.4%! (38 of 43); refused 1, 7; wrong 12.0%, 10.0% of all
  batch means: throughput 100.0%^ (50 of 50), refused 0
real, 200 runs of 2 s each
closed loop, 75 users; truth from the formula
  coverage throughput 95.0% (190 of 200), p50 –, p99 –; refused 0, 200, 200; wrong 5.0% of all
closed loop, 75 users; truth from all runs together
  coverage throughput 99.0% (198 of 200), p50 –, p99 –; refused 0, 200, 200; wrong 5.0% of all
  limited by server; 0 requests failed
  quiet: 3 runs were repeated
"""


def test_coverage_is_read_with_the_first_truth_of_each_case():
    found = coverage.read(COVERED)
    assert [(each.figure, each.held, each.given, each.refused) for each in found] == [
        ("throughput", 1_049, 1_049, 951),
        ("p50", 44, 48, 2),
        ("p99", 0, 0, 50),
        ("throughput", 190, 200, 0),
        ("p50", 0, 0, 200),
        ("p99", 0, 0, 200),
    ]
    assert [each.is_real for each in found] == [False, False, False, True, True, True]
    assert [each.is_within for each in found] == [False, False, False, True, False, False]
    assert found[2].percent is None
    assert coverage.quiet_notes(COVERED) == ["closed loop, 75 users: 3 runs were repeated"]
    with pytest.raises(BenchError, match="not understood"):
        coverage.read(COVERED.replace("p50", "median"))


# What is printed


def test_a_ratio_meets_its_target_only_with_the_whole_interval():
    wide = Estimate(value=0.8, low=0.7, high=0.9)
    assert Part(name="", estimate=wide, at_most=0.85).word == "met"
    assert Part(name="", estimate=wide, at_most=0.85, by_bound=True).word == "missed"
    assert Part(name="", estimate=wide, at_least=0.75, by_bound=True).word == "missed"
    assert Part(name="", estimate=None, at_most=1).word == "not measured"
    assert Part(name="", estimate=wide).word == ""
    assert Part(name="", estimate=wide, at_least=0.7, at_most=0.85).word == "met"
    assert Part(name="", estimate=wide, at_least=0.82, at_most=0.85).word == "missed"
    assert Part(name="", estimate=None).word == ""


@pytest.fixture
def status(monkeypatch, tmp_path):
    """Return a function that measures: 1 misses its target, 2 fails, 3 is interrupted."""

    def missed(_setting):
        return Figure(number=1, name="one", parts=[Part(name="x", estimate=exactly(2), at_most=1)])

    def broken(_setting):
        raise BenchError("no such thing")

    def interrupted(_setting):
        raise KeyboardInterrupt

    figures = {1: ("one", missed), 2: ("two", broken), 3: ("three", interrupted)}
    monkeypatch.setattr(program, "FIGURES", figures)
    monkeypatch.setattr(program, "check_built", lambda: None)
    monkeypatch.setattr("signal.signal", lambda *_: None)

    def measuring(*arguments):
        file = str(tmp_path / "raw.json")
        monkeypatch.setattr(sys, "argv", ["bench", "--json", file, *arguments])
        return program.main()

    return measuring


def test_what_could_not_be_measured_fails_and_a_missed_target_only_when_strict(status, capsys):
    assert status("--only", "1") == 0
    assert status("--only", "1", "--strict") == 1
    assert status("--only", "1,2") == 1
    printed = capsys.readouterr().out
    assert "missed" in printed
    assert "not measured: no such thing" in printed


def test_what_was_measured_before_an_interruption_is_kept(status, tmp_path, capsys):
    assert status("--only", "1,3,2") == 130
    assert "interrupted: not measured 3, 2" in capsys.readouterr().out
    [kept] = json.loads((tmp_path / "raw.json").read_text())["figures"]
    assert kept["number"] == 1


# Beside another checkout


def pairs_of(ours, theirs):
    return [[{"cost": a}, {"cost": b}] for a, b in zip(ours, theirs, strict=True)]


@pytest.mark.parametrize(
    ("ours", "ratio", "word"),
    [
        ([2.0, 3.9, 8.1], 1.0, "met"),
        ([1.0, 2.1, 3.9], 0.5, "met"),
        ([4.0, 8.1, 15.9], 2.0, "missed"),
    ],
)
def test_an_engine_is_worse_only_where_the_whole_interval_says_so(ours, ratio, word):
    part = beside.compared("cost", pairs_of(ours, [2.0, 4.0, 8.0]), lambda run: run["cost"])
    assert part.estimate is not None
    assert part.estimate.value == pytest.approx(ratio, rel=0.02)
    assert part.estimate.low < part.estimate.value < part.estimate.high
    assert part.word == word


def test_a_figure_of_nothing_has_no_ratio():
    with pytest.raises(BenchError, match="has no ratio"):
        beside.compared("cost", pairs_of([0.0, 1.0], [1.0, 1.0]), lambda run: run["cost"])


def test_only_a_checkout_with_an_engine_of_its_own_is_compared_with(tmp_path, capsys, monkeypatch):
    assert beside.checked(REPOSITORY / "python" / "..") == REPOSITORY
    monkeypatch.setattr(sys, "argv", ["bench", "--beside", str(tmp_path)])
    with pytest.raises(SystemExit):
        program.main()
    assert "has no engine of its own: `make setup` there" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["bench", "--beside", str(REPOSITORY), "--only", "1,6"])
    with pytest.raises(SystemExit):
        program.main()
    assert "--beside does not compare figure [6]" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["bench", "--beside", str(REPOSITORY), "--pairs", "1"])
    with pytest.raises(SystemExit):
        program.main()
    assert "needs 2 pairs" in capsys.readouterr().err


def test_a_program_that_runs_ends_with_the_bench_that_a_signal_ends():
    seen = []

    def begun(pid):
        seen.append(pid)
        Timer(0.1, os.kill, [os.getpid(), signal.SIGINT]).start()

    with pytest.raises(KeyboardInterrupt):
        run(["sleep", "60"], on_start=begun)
    assert process_info(seen[0]) is None
