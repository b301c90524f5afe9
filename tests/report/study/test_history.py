from msgspec import structs
from tests.report import sample
from tests.report.plain import plain_text

from httpdyno.report.study.history import history_json, history_row, history_text


def test_each_study_has_its_id_when_it_began_and_what_was_found() -> None:
    rows = [history_row(sample.ladder()), history_row(sample.interrupted())]
    assert plain_text(history_text(rows)).splitlines() == [
        "20250611-asp-7f3a  2025-06-11 09:14 UTC  4 min 34 s  complete",
        "    asp-bookmarks: better: 4.90 × the throughput of the start (4.59 … 5.23)",
        "20250611-asp-c0de  2025-06-11 13:00 UTC      71.0 s  interrupted",
        "    asp-bookmarks: interrupted after 2 of 6 steps; 2 changes kept, 2.82 × by",
        "    their product, not confirmed",
    ]


def test_an_empty_store_says_how_to_fill_it() -> None:
    assert "httpdyno demo" in plain_text(history_text([]))


def test_those_that_are_not_listed_are_counted() -> None:
    rows = [history_row(sample.ladder())]
    assert plain_text(history_text(rows, 21)).splitlines()[-1] == (
        "and 21 other runs: `httpdyno history -n 22` lists them all"
    )


def test_rows_are_plain_in_json() -> None:
    row = history_row(sample.sweep())
    assert history_json([row])[0]["headline"] == row.headline


def test_a_comparison_that_goes_on_is_no_ladder_without_steps():
    outcome = structs.replace(sample.tied_compare(), final=None, status="running")
    assert history_row(outcome).headline == "running before the comparison was decided"
