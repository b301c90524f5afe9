import math
import re
from pathlib import Path
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from tests.report import sample, sample_trouble
from tests.report.page import parsed
from tests.report.plain import plain_text
from tests.rows import each_row

from httpdyno.experiment.trial.engine_loads import said
from httpdyno.metrics import named
from httpdyno.model import Outcome, RatioInterval, ResultWarning, Verdict
from httpdyno.reason import because
from httpdyno.report.shared import template
from httpdyno.report.shared.interval import (
    bounds_text,
    interval_text,
    proven_bound_text,
    ratio_bounds_text,
    ratio_text,
)
from httpdyno.report.shared.phrase import confidence_percent
from httpdyno.report.shared.svg import VERDICT_COLOURS
from httpdyno.report.study.finding import (
    changes_title,
    configuration_changes,
    headline,
    next_command,
)
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import claim_text, outcome_text
from httpdyno.report.study.verdict import (
    VERDICT_STYLES,
    deciding,
    evidence_text,
    of_objective,
    verdict_badge,
    verdict_words,
)
from httpdyno.units import format_bounds, format_rate


def test_headlines_say_the_verdict_before_the_number() -> None:
    assert {name: headline(o) for name, o in sample_trouble.all_outcomes().items()} == {
        "ladder": "better: 4.90 × the throughput of the start (4.59 … 5.23)",
        "sweep": "the knee of MaxRequestWorkers is 8, at 6,190/s; the best is 16, at 6,205/s",
        "compare": "a and b are equivalent: 1.003 × the throughput (0.996 … 1.010)",
        "failed_start": "no change was proven to help: of 6 steps, 1 crashed",
        "interrupted": "interrupted after 2 of 6 steps; "
        "2 changes kept, 2.82 × by their product, not confirmed",
        "unbounded": "inconclusive: 1.20 × the throughput so far (unbounded)",
        "tie_break": "inconclusive: 1.00 × the throughput of the start so far (0.97 … 1.04)",
        "tied_compare": "b is better by CPU per request: 0.81 × (0.75 … 0.88), "
        "throughput 1.00 × (0.97 … 1.04)",
        "second_compare": "inconclusive: 1.01 × the throughput so far (0.93 … 1.10); "
        "CPU per request is proven better: 0.91 × (0.88 … 0.94; 99 % confidence)",
        "second_ladder": "better: 4.90 × the throughput of the start (4.59 … 5.23)",
        "second_alone": "not measured: a start holds 240 requests, too few requests for its p99.9 "
        "latency; a longer `method.window` or more `blocks_per_start` has more; "
        "CPU per request is proven better: 0.91 × (0.88 … 0.94; 99 % confidence)",
        "phased": "inconclusive: 1.01 × the throughput so far (0.93 … 1.10); "
        "CPU per request is proven better: 0.91 × (0.88 … 0.94; 99 % confidence)",
        "candidates": "ran out of time before 1 step: about 60 s more would try it; "
        "of 3 tried, 2 kept, 1 without a difference",
        "table": "2 of 3 are better than the start, by throughput: "
        "state_dir → memory 2.43 × (2.35 … 2.51), asp_debug → 0 1.16 × (1.13 … 1.19)",
        "words": "the best of coding is brotli-4, at 3,180/s",
        "factorial": "2 of 2 effects proven (keep_alive → true 1.119 × (1.096 … 1.142), "
        "mpm → event 1.34 × (1.31 … 1.38)), 1 of 1 interactions; "
        "the best combination: better: 1.50 × the throughput of the start (1.47 … 1.54)",
        "versus": "2 of 3 are better than a, by throughput: b1 2.43 × (2.35 … 2.51), "
        "memory 1.16 × (1.13 … 1.19)",
        "versus_none": "interrupted after 1 of 3 candidates; none of 3 is proven better than a: "
        "1 without a difference",
        "out_of_time": "ran out of time before 5 steps: about 7 min more would try them; "
        "of 1 tried, 1 worse",
        "not_measured": "not measured: one request takes 3.10 s, longer than a window of 250 ms; "
        "give windows of 12 s and a budget of 20 min",
        "own_site": "better: 4.90 × the throughput of the start (4.59 … 5.23)",
        "settled_on_start": "the start stays: the 2 changes that were kept came out worse on fresh "
        "starts (throughput: the whole interval lies below 1 after 6 starts): "
        "0.790 × (0.766 … 0.815); "
        "ran out of time before 1 step: about 95 s more would try it",
        "out_of_reach": "inconclusive: 1.00 × the throughput so far (0.96 … 1.05)",
        "cut_comparison": "interrupted; inconclusive: 1.00 × the throughput so far (0.96 … 1.05)",
        "cut_final": "interrupted; inconclusive: 1.03 × the throughput of the start so far "
        "(0.98 … 1.09)",
    }


REFUSED = "AH00180: MaxRequestWorkers of 512 exceeds ServerLimit\nAH00181: and more"


def refused() -> Outcome:
    """Return a comparison whose candidate the server refused after some starts had ratios."""
    whole = sample.a_against_a()
    assert whole.final is not None
    broken = structs.replace(whole.final.b, status="refused", detail=said(REFUSED))
    final = structs.replace(
        whole.final, verdict="failed", b=broken, reasons=said("the candidate failed")
    )
    return structs.replace(whole, final=final)


def test_a_refused_candidate_is_never_worse_and_has_no_ratio() -> None:
    outcome = refused()
    assert outcome.final is not None
    assert verdict_badge(outcome.final) == "refused"
    assert headline(outcome) == f"b was refused: {REFUSED.splitlines()[0]} …"
    assert (deciding(outcome.final), of_objective(outcome.final)) == (None, None)
    document = outcome_json(outcome)["final"]
    assert (document["verdict"], document["b"]["status"]) == ("failed", "refused")
    assert document["ratios"] == {}
    shown = [plain_text(outcome_text(outcome)), " ".join(parsed(outcome_html(outcome)).text)]
    for text in shown:
        assert "refused" in text
        assert "AH00181: and more" in text
        assert "worse" not in text.partition('{"schema_version"')[0].partition("</style>")[2]


@each_row("verdict", get_args(Verdict))
def test_each_verdict_has_a_colour_wherever_it_is_shown(verdict: Verdict) -> None:
    assert verdict in VERDICT_STYLES
    assert verdict in VERDICT_COLOURS
    templates = Path(template.__file__).parents[1] / "templates"
    css = (templates / "page.css").read_text(encoding="utf-8")
    for kind in ("big", "badge"):
        assert re.search(rf"\.{kind}\.{verdict}\b[^{{}}]*{{ color: ", css)


def test_a_candidate_that_broke_a_limit_says_so_once() -> None:
    whole = refused()
    assert whole.final is not None
    detail = said("33 % of requests failed; the limit is 20 %")
    failed = because("experiment.candidate_failed_because", status="infeasible", why=detail)
    broken = structs.replace(whole.final.b, status="infeasible", detail=detail)
    final = structs.replace(whole.final, b=broken, reasons=(failed,))
    outcome = structs.replace(whole, final=final)
    told = "b broke a limit: 33 % of requests failed; the limit is 20 %"
    assert headline(outcome) == told
    assert verdict_badge(final) == "broke a limit"
    assert claim_text(final).plain == "broke a limit  " + told.removeprefix("b broke a limit: ")
    card = re.search(r"<article.*?</article>", outcome_html(outcome), flags=re.DOTALL)
    assert card is not None
    assert card[0].count("33 % of requests") == 1
    assert "the candidate" not in card[0]


def test_a_run_that_had_time_for_nothing_does_not_say_that_nothing_helps() -> None:
    none = structs.replace(sample_trouble.out_of_time(), steps=(), needed_s=None)
    assert headline(none) == ("ran out of time before 5 steps: a longer `--budget` would try them")


def test_steps_without_time_are_named_once_in_words_and_page() -> None:
    outcome = sample_trouble.out_of_time()
    reason = because("experiment.steps_not_tried", steps=["state_dir"], needed_s=9.0)
    doubt = ResultWarning(reason=reason)
    doubted = structs.replace(outcome, warnings=(doubt,))
    text = plain_text(outcome_text(doubted))
    assert "not tried: state_dir → memory, asp_debug → 0" in text
    assert "for want of time" not in text
    assert parsed(outcome_html(doubted)).text.count("not tried") == 5


def test_undecided_steps_are_told_in_one_line_with_their_times() -> None:
    whole = sample.ladder()
    steps = [
        structs.replace(
            step,
            comparison=structs.replace(step.comparison, verdict="inconclusive", needed_s=needed_s),
        )
        for step, needed_s in zip(whole.steps, (16.3, 1301.0, 9000.0), strict=False)
    ]
    text = " ".join(plain_text(outcome_text(structs.replace(whole, steps=tuple(steps)))).split())
    assert "would decide: state_dir 16 s, asp_debug 22 min, access_file 2 h the server" in text


def test_a_failed_study_says_why() -> None:
    failed = structs.replace(
        sample.ladder(), status="failed", ended_by=said("apache2 is not installed")
    )
    assert headline(failed) == "failed: apache2 is not installed"


def test_an_unfinished_sweep_does_not_pose_as_a_whole_one() -> None:
    cut = structs.replace(sample.sweep(), status="interrupted")
    assert headline(cut).startswith("interrupted; so far the knee")


@each_row(
    ("ratio", "text"),
    [(0.2041, "0.20"), (4.904, "4.90"), (12.34, "12.3"), (123.4, "123"), (None, "–"),
     (math.inf, "–")],
)  # fmt: skip
def test_ratios_have_the_digits_that_matter(ratio: float | None, text: str) -> None:
    assert ratio_text(ratio) == text


def test_a_narrow_interval_gets_the_digit_that_shows_its_width() -> None:
    narrow = RatioInterval(ratio=1.003, low=0.997, high=1.009, confidence=0.95)
    assert interval_text(narrow, 6) == ("1.003 × (0.997 … 1.009; 95 % confidence, 6 starts)")


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
        "by CPU per request: 0.81 × (0.75 … 0.88; 95 % confidence, 6 starts), "
        "throughput 1.00 × (0.97 … 1.04)"
    )


def test_what_was_interrupted_goes_on_by_its_id_alone() -> None:
    whole = sample.interrupted()
    by_path = structs.replace(whole.plan.study, name="studies/mine/study.toml")
    cut = structs.replace(whole, plan=structs.replace(whole.plan, study=by_path))
    assert next_command(cut) == "httpdyno study run --resume 20250611-asp-c0de"


def test_any_percentile_can_decide() -> None:
    assert named("latency_p99_s").ratio == "latency_p99"
    assert named("latency_p999_s").label == "p99.9 latency"


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


@st.composite
def intervals(draw: st.DrawFn) -> RatioInterval:
    """Intervals as sequences make them: around a ratio, often with an end close to 1."""
    logs = st.floats(-6, 6) | st.floats(-0.01, 0.01) | st.floats(-1e-6, 1e-6)
    low, middle, high = (math.exp(each) for each in sorted(draw(st.tuples(logs, logs, logs))))
    return RatioInterval(ratio=middle, low=low, high=high, confidence=0.95)


@given(intervals())
def test_an_interval_is_rounded_outward_and_never_across_the_line_that_decides(
    interval: RatioInterval,
) -> None:
    middle, ends = ratio_bounds_text(interval).rstrip(")").split(" × (")
    low, high = (float(end) for end in ends.split(" … "))
    assert low <= interval.low <= interval.high <= high
    assert low <= float(middle) <= high
    assert (interval.low > 1, interval.high < 1) == (low > 1, high < 1)


@each_row(
    ("low", "ratio", "high", "text"),
    [
        (0.7201, 0.851, 0.9996, "0.85 × (0.72 … 0.9996)"),
        (1.0003, 1.31, 1.721, "1.31 × (1.0003 … 1.73)"),
        (0.7249, 0.9998, 0.9999, "0.9998 × (0.72 … 0.9999)"),
        (0.9999, 1.21, 1.449, "1.21 × (0.99 … 1.45)"),
        (0.0021, 0.0032, 0.0049, "0.0032 × (0.0021 … 0.0049)"),
        (0.0012, 0.0321, 1.3, "0.032 × (0.0012 … 1.30)"),
    ],
)
def test_an_end_near_the_line_gets_the_digits_that_keep_it_on_its_side(
    low: float, ratio: float, high: float, text: str
) -> None:
    assert ratio_bounds_text(RatioInterval(ratio=ratio, low=low, high=high, confidence=0.95)) == (
        text
    )


def test_a_proven_bound_is_no_more_than_what_is_proven() -> None:
    final = sample.ladder().final
    assert final is not None
    near = RatioInterval(ratio=1.4, low=1.0049, high=1.9, confidence=0.95)
    assert proven_bound_text(near, more_is_better=True) == "1.004"
    assert proven_bound_text(near, more_is_better=False) == "1.90"


@given(st.floats(1e-3, 1e9), st.floats(0, 3))
def test_rates_of_an_interval_are_rounded_outward(low: float, width: float) -> None:
    high = low * (1 + width)
    ends = format_bounds(low, high, format_rate).replace(",", "").replace("/s", "").split(" … ")
    assert float(ends[0]) <= low <= high <= float(ends[1])


@each_row(
    ("confidence", "text"),
    [
        (0.95, "95 %"),
        (0.975, "97.5 %"),
        (0.99, "99 %"),
        # Shares of a risk are said no higher than they are.
        (1 - 0.05 / 3, "98.33 %"),
        (0.986672, "98.66 %"),
        (1 - (1 - 0.95) * 0.8, "96 %"),
    ],
)
def test_a_confidence_is_never_said_higher_than_it_is(confidence: float, text: str) -> None:
    assert confidence_percent(confidence) == text
