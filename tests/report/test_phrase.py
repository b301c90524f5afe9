import math

import pytest
from msgspec import structs
from tests.report import sample

from httpdyno.model import RatioInterval
from httpdyno.report.phrase import (
    bounds_text,
    changes_title,
    configuration_changes,
    deciding,
    evidence_text,
    headline,
    interval_text,
    metric_name,
    next_command,
    of_objective,
    ratio_key,
    ratio_text,
    verdict_words,
)


def test_headlines_say_the_verdict_before_the_number() -> None:
    assert {name: headline(o) for name, o in sample.all_outcomes().items()} == {
        "ladder": "better: 4.90 × the throughput (4.60 … 5.23)",
        "sweep": "the knee of MaxRequestWorkers is 8, at 6,190/s; the best is 16, at 6,205/s",
        "compare": "a and b are equivalent: 1.003 × the throughput (0.997 … 1.009)",
        "failed_start": "nothing was proven to help: no change was kept",
        "interrupted": "interrupted after 2 of 6 steps; "
        "2 changes kept, 2.82 × by their product, not confirmed",
        "unbounded": "inconclusive: 1.20 × the throughput so far (unbounded)",
        "tie_break": "inconclusive: 1.00 × the throughput so far (0.97 … 1.03)",
        "tied_compare": "b is better by CPU per request: 0.81 × (0.75 … 0.87), "
        "throughput 1.00 × (0.97 … 1.03)",
    }


def test_a_failed_study_says_why() -> None:
    failed = structs.replace(sample.ladder(), status="failed", message="apache2 is not installed")
    assert headline(failed) == "failed: apache2 is not installed"


def test_an_unfinished_sweep_does_not_pose_as_a_whole_one() -> None:
    cut = structs.replace(sample.sweep(), status="interrupted")
    assert headline(cut).startswith("interrupted; so far the knee")


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(0.2041, "0.20"), (4.904, "4.90"), (12.34, "12.3"), (123.4, "123"), (None, "–"),
     (math.inf, "–")],
)  # fmt: skip
def test_ratios_have_the_digits_that_matter(ratio: float | None, text: str) -> None:
    assert ratio_text(ratio) == text


def test_a_narrow_interval_gets_the_digit_that_shows_its_width() -> None:
    narrow = RatioInterval(ratio=1.003, low=0.997, high=1.009, confidence=0.95)
    assert interval_text(narrow, 6) == ("1.003 × (0.997 … 1.009; 95 % anytime-valid over 6 starts)")


def test_half_open_intervals_have_an_end_that_says_so() -> None:
    half = RatioInterval(ratio=1.2, low=0.4, high=math.inf, confidence=0.95)
    assert bounds_text(half) == "0.40 … ∞"


def test_after_a_tie_the_ratio_that_decided_is_named_beside_the_one_that_tied() -> None:
    compared = sample.tied_compare().final
    assert compared is not None
    assert deciding(compared) == compared.ratios["cpu_per_request"]
    assert of_objective(compared) == compared.ratios["throughput"]
    assert verdict_words(compared) == "better by CPU"
    assert evidence_text(compared) == (
        "by CPU per request: 0.81 × (0.75 … 0.87; 95 % anytime-valid over 6 starts), "
        "throughput 1.00 × (0.97 … 1.03)"
    )


def test_what_was_interrupted_goes_on_by_its_id_alone() -> None:
    whole = sample.interrupted()
    by_path = structs.replace(whole.plan.study, name="studies/mine/study.toml")
    cut = structs.replace(whole, plan=structs.replace(whole.plan, study=by_path))
    assert next_command(cut) == "httpdyno study run --resume 20250611-asp-c0de"


def test_any_percentile_can_decide() -> None:
    assert ratio_key("latency_p99_s") == "latency_p99"
    assert metric_name("latency_p95_s") == "latency p95"


def test_the_changes_are_the_smallest_difference_from_the_start() -> None:
    assert configuration_changes(sample.ladder()) == [
        ("state_dir", "disk", "memory"),
        ("asp_debug", "1", "0"),
        ("MaxConnectionsPerChild", "50", "500"),
    ]


def test_changes_are_called_proven_only_when_the_final_comparison_proved_them() -> None:
    whole = sample.ladder()
    assert whole.final is not None
    unproven = structs.replace(whole, final=structs.replace(whole.final, verdict="inconclusive"))
    assert changes_title(whole) == "proven changes"
    assert changes_title(unproven) == "changes kept, not confirmed"
    assert changes_title(sample.interrupted()) == "changes kept so far"
