import re
from xml.etree import ElementTree

import pytest
from msgspec import structs
from tests.report import sample
from tests.report.sample_factorial import factorial
from tests.report.sample_sweep import memory_sweep
from tests.rows import each_row

from httpdyno.model import HistogramData
from httpdyno.reason import because
from httpdyno.report.shared.svg import (
    NARROW,
    WIDE,
    Axis,
    label_places,
    log_ticks,
    nice_ticks,
    number_text,
    padded,
    percentile_points,
    percentiles_svg,
    ratio_ticks,
)
from httpdyno.report.study.chart import (
    book_points,
    cost_svg,
    effect_rows,
    effects_svg,
    ladder_rows,
    ladder_svg,
    starts_svg,
    strip_svg,
    sweep_svg,
)
from httpdyno.report.study.json import book_ratios

SVG = "{http://www.w3.org/2000/svg}"


def marks(svg: str, kind: str) -> int:
    """Return how many marks of a kind there are."""
    return len(titles(svg, kind))


def titles(svg: str, kind: str) -> list[str]:
    """Return what each mark of a kind stands for."""
    found = (each for each in ElementTree.fromstring(svg).iter() if each.get("class") == kind)
    return [each.findtext(f"{SVG}title", "") for each in found]


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_the_ladder_has_a_dot_for_each_step_and_the_final_and_a_diamond_for_the_book(
    width: int,
) -> None:
    outcome = sample.ladder()
    svg = ladder_svg(outcome, width=width)
    n_rows = len(outcome.steps) + 1
    n_book = sum(step.book_ratio is not None for step in outcome.steps) + 1
    assert (marks(svg, "dot"), marks(svg, "diamond")) == (n_rows, n_book)
    assert titles(svg, "dot")[0] == "state_dir: 2.43 × (2.35 … 2.51, better)"
    assert re.search(rf'viewBox="0 0 {width} ', svg)


def test_each_rung_starts_where_the_kept_ones_before_it_ended() -> None:
    rows = ladder_rows(sample.ladder())
    assert [row.begin for row in rows[:3]] == pytest.approx([1.0, 2.431, 2.431 * 1.162])
    assert rows[3].begin == rows[2].begin
    assert rows[-1].begin == 1.0


def test_a_rung_that_did_not_run_has_a_row_but_no_dot() -> None:
    whole, failed = sample.ladder(), sample.failed_start()
    mixed = structs.replace(whole, steps=(failed.steps[0], *whole.steps[1:]))
    assert marks(ladder_svg(mixed), "dot") == marks(ladder_svg(whole), "dot") - 1


def test_a_knob_that_is_tried_twice_has_two_rungs() -> None:
    whole = sample.ladder()
    again = structs.replace(whole, steps=(whole.steps[0], *whole.steps))
    for kind in ("dot", "diamond"):
        assert marks(ladder_svg(again), kind) == marks(ladder_svg(whole), kind) + 1


def test_a_strip_has_a_dot_for_each_start() -> None:
    comparison = sample.ladder().steps[0].comparison
    svg = strip_svg(comparison, 0.01)
    ratios = [float(title.split()[2]) for title in titles(svg, "dot")]
    assert ratios == pytest.approx(comparison.per_start_ratio, rel=1e-3)
    assert titles(svg, "whisker")[0] == "2.35 … 2.51"


def test_a_strip_without_bounds_shows_its_dots_only() -> None:
    final = sample.unbounded().final
    assert final is not None
    svg = strip_svg(final, 0.01)
    assert (marks(svg, "dot"), marks(svg, "whisker")) == (2, 0)


def test_a_sweep_has_a_dot_and_an_interval_for_each_level_that_ran() -> None:
    outcome = sample.sweep()
    assert outcome.sweep is not None
    book = book_ratios(outcome)
    svg = sweep_svg(outcome.sweep, book)
    n_ran = sum(point.arm.status == "complete" for point in outcome.sweep.points)
    n_failed = len(outcome.sweep.points) - n_ran
    assert marks(svg, "dot") == marks(svg, "whisker") == n_ran
    assert (marks(svg, "diamond"), marks(svg, "cross")) == (len(book), n_failed)
    assert "knee 8" in svg
    assert "refused" in svg


def test_a_curve_of_memory_is_drawn_in_its_unit_with_throughput_among_the_costs() -> None:
    sweep = memory_sweep().sweep
    assert sweep is not None
    assert "memory, MB" in sweep_svg(sweep, {})
    assert ">40</text>" in sweep_svg(sweep, {})
    assert "requests per second" in cost_svg(sweep)


def test_a_curve_of_system_calls_is_drawn_in_calls() -> None:
    sweep = memory_sweep().sweep
    assert sweep is not None
    points = tuple(structs.replace(point, value=point.value / 1e6) for point in sweep.points)
    of_calls = structs.replace(sweep, metric="calls_per_request of open", points=points)
    assert "system calls per request of open" in sweep_svg(of_calls, {})


def test_a_curve_of_handshakes_is_drawn_in_percent() -> None:
    sweep = memory_sweep().sweep
    assert sweep is not None
    points = tuple(structs.replace(point, value=point.value / 1e8) for point in sweep.points)
    signing = structs.replace(sweep, metric="handshakes_full_per_request", points=points)
    assert ">40</text>" in sweep_svg(signing, {})
    assert "full TLS handshakes per request, %" in sweep_svg(signing, {})


def test_the_book_s_curve_meets_ours_at_its_best() -> None:
    outcome = sample.sweep()
    assert outcome.sweep is not None
    points = book_points(outcome.sweep, {128: 0.5, 256: 0.25})
    assert [level for level, _ in points] == [128, 256]
    assert [value for _, value in points] == pytest.approx([6205.0, 3102.5])


def test_levels_that_are_words_have_a_place_each() -> None:
    outcome = sample.sweep()
    assert outcome.sweep is not None
    points = tuple(
        structs.replace(point, level=name)
        for point, name in zip(outcome.sweep.points, ("sync", "gthread", "gevent"), strict=False)
    )
    sweep = structs.replace(outcome.sweep, points=points, best="gevent", knee="gthread")
    svg = sweep_svg(sweep, {})
    assert (marks(svg, "dot"), marks(svg, "line")) == (3, 0)
    assert all(name in svg for name in ("sync", "gthread", "gevent"))


def test_what_levels_cost_is_drawn_for_those_that_ran() -> None:
    sweep = sample.sweep().sweep
    assert sweep is not None
    assert marks(cost_svg(sweep), "dot") == 2 * (len(sweep.points) - 1)


def test_a_percentile_curve_ends_where_ten_requests_lie_beyond() -> None:
    final = sample.ladder().final
    assert final is not None
    furthest, _ = percentile_points(final.a.latency)[-1]
    assert furthest == pytest.approx(sum(final.a.latency.counts) / 10)


def test_percentile_curves_rise() -> None:
    final = sample.ladder().final
    assert final is not None
    curve = [ms for _, ms in percentile_points(final.a.latency)]
    assert curve == sorted(curve)
    assert curve[-1] > curve[0]


def test_arms_without_a_sample_have_no_curve() -> None:
    final = sample.ladder().final
    assert final is not None
    empty = structs.replace(final.a, latency=HistogramData(), start_throughputs_per_s=())
    assert percentiles_svg([("start", empty.latency)]) == ""
    assert starts_svg([("start", empty)]) == ""


def test_both_arms_have_a_curve_and_a_name() -> None:
    final = sample.ladder().final
    assert final is not None
    svg = percentiles_svg([("start", final.a.latency), ("final", final.b.latency)])
    assert (marks(svg, "line"), marks(svg, "words")) == (2, 2)


def test_each_start_is_a_dot() -> None:
    final = sample.ladder().final
    assert final is not None
    dots = titles(starts_svg([("start", final.a), ("final", final.b)]), "dot")
    assert len(dots) == 12
    assert dots[0].startswith("start, start 1: 11")


def test_a_drawing_is_one_labelled_image_that_asks_for_nothing() -> None:
    svg = ladder_svg(sample.ladder())
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "ladder of 6 changes"
    assert sum("aria-label" in element.attrib for element in root.iter()) == 1
    assert "href=" not in svg
    assert set(re.findall(r"https?://[^\"]+", svg)) == {"http://www.w3.org/2000/svg"}


def test_colours_follow_the_page() -> None:
    svg = strip_svg(sample.ladder().steps[0].comparison, 0.01)
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', svg))
    assert all(colour.startswith("var(--") or colour == "none" for colour in colours)


@each_row(("low", "high"), [(0.9, 6.0), (0.98, 1.02), (0.05, 1.3), (0.8, 400.0)])
def test_ratio_ticks_are_few_round_and_hold_one(low: float, high: float) -> None:
    ticks = ratio_ticks(low, high)
    assert 1.0 in ticks
    assert 3 <= len(ticks) <= 10
    assert all(low <= tick <= high for tick in ticks)
    assert list(ticks) == sorted(ticks)


@each_row(
    ("low", "high", "ticks"),
    [
        (0, 1000, (0, 200, 400, 600, 800, 1000)),
        (0, 7.3, (0, 2, 4, 6)),
        (3, 0.5 + 3, (3, 3.1, 3.2, 3.3, 3.4, 3.5)),
        (0, 4e-5, (0, 1e-5, 2e-5, 3e-5, 4e-5)),
    ],
)
def test_ticks_are_round(low: float, high: float, ticks: tuple[float, ...]) -> None:
    assert nice_ticks(low, high, 5) == pytest.approx(ticks)


def test_ticks_of_few_decades_are_1_2_and_5_and_of_many_powers_of_ten() -> None:
    assert log_ticks(0.9, 12) == (1, 2, 5, 10)
    assert log_ticks(2.9, 9) == (3, 4, 5, 6, 7, 8, 9)
    assert log_ticks(0.9, 2e5) == (1, 10, 100, 1e3, 1e4, 1e5)


@each_row(
    ("value", "text"), [(1e6, "1,000,000"), (0.00002, "0.00002"), (1.5, "1.5"), (0.1 + 0.2, "0.3")]
)
def test_numbers_on_axes_have_no_powers_of_ten(value: float, text: str) -> None:
    assert number_text(value) == text


def test_an_axis_may_be_logarithmic_or_run_down() -> None:
    assert Axis(low=1, high=100, is_log=True).share(10) == pytest.approx(0.5)
    assert [Axis.rows(2).share(row) for row in (0, 1)] == [0.75, 0.25]


def test_names_of_lines_keep_apart_and_within() -> None:
    places = label_places({"a": 98.0, "b": 97.0, "c": 10.0}, 100.0)
    assert places == {"c": 10.0, "b": 89.0, "a": 104.0}


def test_a_log_domain_never_collapses() -> None:
    assert padded([1.0]) == pytest.approx((0.978, 1.0226), abs=1e-3)


def test_a_sweep_that_bounds_nothing_yet_has_dots_but_no_intervals() -> None:
    sweep = sample.young_sweep().sweep
    assert sweep is not None
    svg = sweep_svg(sweep, {})
    assert marks(svg, "dot") + marks(svg, "cross") == len(sweep.points)
    assert marks(svg, "whisker") == 0
    # No level carries a p99: only CPU per request is left to draw.
    assert marks(cost_svg(sweep), "dot") == len(sweep.points) - 1


def test_a_factorial_draws_effects_and_both_sides_of_each_pair() -> None:
    found = factorial().factorial
    assert found is not None
    svg = effects_svg(found)
    n_effects, n_sides = len(found.effects), len(found.simple)
    assert marks(svg, "dot") == marks(svg, "whisker") == n_effects + n_sides
    assert [row.name for row in effect_rows(found)] == [
        *("keep_alive → true", "mpm → event", "keep_alive × mpm"),
        *("keep_alive → true", "mpm → event"),
    ]


def test_what_a_factorial_cannot_tell_is_a_row_without_a_mark() -> None:
    found = factorial().factorial
    assert found is not None
    *single, pair = found.effects
    lost = structs.replace(
        pair,
        ratio=None,
        verdict="not_measured",
        reasons=(because("experiment.one_of_four_does_not_run"),),
    )
    without = tuple(each for each in found.simple if not each.is_given_changed)
    beside = tuple(
        structs.replace(each, ratio=None) for each in found.simple if each.is_given_changed
    )
    svg = effects_svg(structs.replace(found, effects=(*single, lost), simple=(*without, *beside)))
    assert marks(svg, "dot") == len(single) + len(without)
    assert ">unknown<" in svg
