"""Words of a header in the answers of each side, told with how many there were."""

from msgspec import structs
from tests.report import sample, sample_second
from tests.report.plain import WIDTH, plain_text

from httpdyno.experiment.trial.engine_loads import said
from httpdyno.model import HeaderWords, Outcome
from httpdyno.report.shared.template import glued
from httpdyno.report.study.arms import header_table, words_text
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text

WITHOUT = HeaderWords(name="X-Cache", n_without=1_200)
HITS = HeaderWords(name="X-Cache", counts={"MISS": 60, "HIT": 1_140})
TOLD = "HIT 1,140 (95 %), MISS 60 (5 %)"
NOTE = "X-Cache: its first word, in answers to the same load after the windows"


def answered(whole: Outcome, a: HeaderWords | None, b: HeaderWords | None) -> Outcome:
    """Return a comparison whose answers said so."""
    assert whole.final is not None
    final = structs.replace(
        whole.final,
        a=structs.replace(whole.final.a, header_words=a),
        b=structs.replace(whole.final.b, header_words=b),
    )
    return structs.replace(whole, final=final)


def test_they_have_a_column_a_tile_and_figures_with_their_counts() -> None:
    outcome = answered(sample_second.second_compare(), WITHOUT, HITS)
    lines = [line.rstrip() for line in plain_text(outcome_text(outcome)).splitlines()]
    (head,) = [number for number, line in enumerate(lines) if line.endswith("X-Cache")]
    assert lines[head + 1].endswith("without 1,200 (100 %)")
    assert lines[head + 2].endswith(TOLD)
    assert all(len(line) <= WIDTH for line in lines)
    assert glued(TOLD) in outcome_html(outcome)
    assert NOTE in " ".join(plain_text(outcome_text(outcome)).split())
    assert NOTE in outcome_html(outcome)
    final = outcome_json(outcome)["final"]
    assert (final["a"]["header_words"]["name"], final["a"]["header_words"]["n_without"]) == (
        "X-Cache",
        1_200,
    )
    assert final["b"]["header_words"]["counts"] == {"MISS": 60, "HIT": 1_140}


def test_a_study_that_counts_none_says_nothing_of_any() -> None:
    outcome = sample_second.second_compare()
    assert "X-Cache" not in plain_text(outcome_text(outcome)) + outcome_html(outcome)
    assert outcome_json(outcome)["final"]["b"]["header_words"] is None


def test_a_column_has_room_for_three_words_and_one_for_the_rest() -> None:
    counts = {"HIT": 900, "EXPIRED": 50, "MISS": 40, "STALE": 6, "BYPASS": 4}
    words = words_text(HeaderWords(name="X-Cache", counts=counts))
    assert words == "HIT 900 (90 %), EXPIRED 50 (5 %), MISS 40 (4 %), others 10 (1 %)"


def test_words_are_no_markup_whatever_a_server_says() -> None:
    words = HeaderWords(name="X-Cache", counts={"[/]": 3, "[bold]HIT": 1})
    told = "[/] 3 (75 %), [bold]HIT 1 (25 %)"
    outcome = answered(sample_second.second_compare(), WITHOUT, words)
    assert told in plain_text(outcome_text(outcome))
    assert outcome.final is not None
    table = header_table([("[b]", outcome.final.b)])
    assert f"[b] {told}" in "".join(map(plain_text, table))


def test_why_nothing_was_counted_is_told() -> None:
    untold = HeaderWords(name="X-Cache", uncounted=said("no answer came"))
    outcome = answered(sample_second.second_compare(), HITS, untold)
    text = " ".join(plain_text(outcome_text(outcome)).split())
    assert "not counted" in text
    why = "X-Cache was not counted of some answers: no answer came"
    assert why in text
    assert why in outcome_html(outcome)


def test_why_some_starts_have_no_count_is_told_beside_what_the_others_say() -> None:
    cold = HeaderWords(name="X-Cache", uncounted=said("no answer came"))
    some = structs.replace(
        HITS, uncounted=said("in 1 of 6 starts: it crashed"), beside={"cold": cold}
    )
    text = " ".join(
        plain_text(outcome_text(answered(sample_second.phased(), WITHOUT, some))).split()
    )
    assert TOLD in text
    assert "X-Cache was not counted of some answers: in 1 of 6 starts: it crashed" in text
    assert "X-Cache was not counted of some answers: phase cold, no answer came" in text


def test_each_phase_that_does_not_decide_has_a_line_of_them() -> None:
    cold = HeaderWords(name="X-Cache", counts={"MISS": 50})
    outcome = answered(
        sample_second.phased(), WITHOUT, structs.replace(HITS, beside={"cold": cold})
    )
    text = " ".join(plain_text(outcome_text(outcome)).split())
    assert TOLD in text
    assert "X-Cache in cold: " in text
    assert "MISS 50 (100 %)" in text
    assert "X-Cache in warm" not in text
    assert glued("MISS 50 (100 %)") in outcome_html(outcome)


def test_a_sweep_tells_them_level_by_level() -> None:
    whole = sample.sweep()
    assert whole.sweep is not None
    points = tuple(
        structs.replace(point, arm=structs.replace(point.arm, header_words=HITS))
        for point in whole.sweep.points
    )
    outcome = structs.replace(whole, sweep=structs.replace(whole.sweep, points=points))
    lines = [line.strip() for line in plain_text(outcome_text(outcome)).splitlines()]
    assert f"1 {TOLD}" in lines
    assert f"256 {TOLD}" in lines
    assert NOTE in " ".join(lines)
    assert glued(f"X-Cache: 1: {TOLD}; 2: {TOLD}") in outcome_html(outcome)
