"""What became of the requests is shown wherever a study is."""

from msgspec import structs
from tests.conformance.record import sample_start
from tests.report import sample, sample_trouble
from tests.report.page import parsed
from tests.report.plain import plain_text

from httpdyno.experiment.decide.evidence import arm_summary
from httpdyno.model import Configuration
from httpdyno.report.study.arms import answers_lines, answers_text
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text


def test_an_arm_sums_up_the_answers_and_errors_of_its_windows() -> None:
    starts = [sample_start(start=number, n_blocks=2) for number in range(3)]
    arm = arm_summary(starts, 1, Configuration())
    assert arm.statuses == {"200": 3 * 2 * 240}
    assert arm.errors == {"timeout": 3 * 2 * 10}


def test_failed_requests_of_a_step_are_told_by_status_and_kind_everywhere() -> None:
    outcome = sample_trouble.out_of_time()
    arm = outcome.steps[0].comparison.b
    n = arm.statuses["503"]
    line = f"{n:,} with 200, {n:,} with 503; errors: {n:,} wrong status, 3 timeout"
    assert answers_text(arm) == line
    assert line in " ".join(plain_text(outcome_text(outcome)).split())
    assert line in " ".join(parsed(outcome_html(outcome)).text)
    told = outcome_json(outcome)["steps"][0]["comparison"]["b"]
    assert (told["statuses"], told["errors"]) == (arm.statuses, arm.errors)


def test_answers_that_are_all_right_take_one_line() -> None:
    final = sample.ladder().final
    assert final is not None
    both = structs.replace(final.b, statuses={"303": 5, "200": 9})
    assert answers_lines([("a", final.a), ("b", both)]) == [
        ("", "all answers were right: status 200 and 303")
    ]
    failing = sample_trouble.half_failing(final.b)
    assert [name for name, _ in answers_lines([("a", final.a), ("b", failing)])] == ["a", "b"]


def test_a_sheet_counts_the_answers_of_both_arms() -> None:
    text = " ".join(parsed(outcome_html(sample.ladder())).text)
    assert "Answers" in text
    assert "status 200" in text
