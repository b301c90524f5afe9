"""What servers' error logs said: which kinds are told, of whom, and with what remark."""

from msgspec import structs
from tests.report.page import shown
from tests.report.plain import plain_text
from tests.report.sample import a_against_a, ladder

from httpdyno.model import LogKind, LogLines
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.limit import log_rows, shown_rows
from httpdyno.report.study.page import outcome_html
from httpdyno.report.study.text import outcome_text

FULL = LogKind(
    form="AH00161: server reached MaxRequestWorkers setting",
    example="[Tue Nov 24 10:00:01 2026] [mpm_prefork:error] [pid 8] AH00161: server reached "
    "MaxRequestWorkers setting",
    count=6,
    n_starts=6,
    level="error",
)
LATE = LogKind(form="late by # s", example="WARN: late by 3 s", count=1, level="warning")
UNTOLD = LogKind(form="it goes on", example="it goes on", count=900)


def logged(*kinds, n_starts=6):
    n_lines = sum(kind.count for kind in kinds)
    return LogLines(n_lines=n_lines, n_starts=n_starts, kinds=kinds)


def compared():
    """A comparison of two whose first one wrote more."""
    outcome = a_against_a()
    final = outcome.final
    assert final is not None
    b = structs.replace(final.b, configuration=final.b.configuration.replaced("n", 7))
    arms = {
        "a": structs.replace(final.a, log=logged(UNTOLD, LATE, FULL)),
        "b": structs.replace(b, log=logged(structs.replace(FULL, count=2, n_starts=2))),
    }
    return structs.replace(outcome, final=structs.replace(final, **arms))


def test_a_kind_is_told_once_the_worst_first_with_the_lines_of_each():
    rows = log_rows(compared())
    assert [(row.level, row.text) for row in rows] == [
        ("error", FULL.form),
        ("warning", "late by 3 s"),
    ]
    assert rows[0].where == "a: 6 lines in 6 of 6 starts; b: 2 lines in 2 of 6 starts"
    assert rows[1].where == "a: 1 line in 1 of 6 starts; b: none"


def test_where_a_log_was_not_read_whole_there_are_at_least_so_many():
    outcome = compared()
    final = outcome.final
    assert final is not None
    a = structs.replace(final.a, log=structs.replace(final.a.log, unread_bytes=1))
    rows = log_rows(structs.replace(outcome, final=structs.replace(final, a=a)))
    assert rows[0].where.startswith("a: at least 6 lines in 6 of 6 starts; b: 2 lines")


def test_apaches_word_of_its_limit_is_not_called_saturation():
    rows = log_rows(compared())
    assert rows[0].remark.startswith("by itself no sign of too few workers")
    assert rows[1].remark == ""


def test_the_starts_of_all_comparisons_count():
    outcome = ladder()
    steps = [
        structs.replace(
            step,
            comparison=structs.replace(
                step.comparison, a=structs.replace(step.comparison.a, log=logged(LATE))
            ),
        )
        for step in outcome.steps[:1]
    ]
    final = outcome.final
    assert final is not None
    final = structs.replace(final, a=structs.replace(final.a, log=logged(LATE, n_starts=12)))
    [row] = log_rows(structs.replace(outcome, steps=tuple(steps), final=final))
    assert row.where == "start: 2 lines in 2 of 18 starts"


def test_terminal_page_and_json_have_them():
    text = " ".join(plain_text(outcome_text(compared())).split())
    assert "what their error logs said" in text
    assert f"error: {FULL.form} a: 6 lines in 6 of 6 starts" in text
    page = shown(outcome_html(compared()))
    assert "What their error logs said" in page
    assert "late by 3 s" in page
    before = outcome_json(compared())["final"]["a"]["log"]
    assert [kind["count"] for kind in before["kinds"]] == [900, 1, 6]


def test_where_nothing_bad_was_said_there_is_no_section():
    assert log_rows(ladder()) == []
    assert "error logs" not in plain_text(outcome_text(ladder()))
    assert "error logs" not in shown(outcome_html(ladder()))


def test_of_many_kinds_some_are_shown_and_the_others_counted():
    rows = log_rows(compared()) * 4
    shown_ones, more = shown_rows(rows)
    assert (len(shown_ones), more) == (5, "and 3 kinds of lines more")
    assert shown_rows(rows[:5])[1] == ""
