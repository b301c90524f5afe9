"""The page of a load test."""

import json
from collections.abc import Callable

import pytest
from msgspec import structs
from tests.report.page import assert_loads_nothing, embedded, parsed, shown
from tests.report.sample_load import (
    all_404,
    load_measurement,
    load_outcome,
    open_loop,
    shop,
    with_timeouts,
)

from httpdyno.model import LoadOutcome, ReplayedLog, RequestSpec
from httpdyno.reason import because
from httpdyno.report.load.chart import phases_svg
from httpdyno.report.load.json import load_json
from httpdyno.report.load.page import load_html

OUTCOMES = {
    "good": load_outcome,
    "all_404": all_404,
    "timeouts": with_timeouts,
    "open_loop": open_loop,
    "shop": shop,
}
EVIL = "</script><script>alert(1)</script><b>&amp;\"'`x`"


class Pages(dict[str, str]):
    """Each page is drawn when a test first asks for it."""

    def __missing__(self, name: str) -> str:
        self[name] = load_html(OUTCOMES[name]())
        return self[name]


@pytest.fixture(scope="module")
def pages() -> Pages:
    return Pages()


def words(page: str) -> str:
    return " ".join(" ".join(parsed(page).text).split())


@pytest.mark.parametrize("name", OUTCOMES)
def test_each_kind_of_test_has_the_agreed_page(
    name: str, pages: Pages, golden: Callable[[str, str], None]
) -> None:
    without = "" if name == "shop" else "How it was measured"
    golden(f"report/load_{name}.page.txt", shown(pages[name], without=without))


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_page_is_well_formed_and_loads_nothing(name: str, pages: Pages) -> None:
    assert_loads_nothing(pages[name])


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_page_carries_its_data(name: str, pages: Pages) -> None:
    expected = json.loads(json.dumps(load_json(OUTCOMES[name]())))
    assert embedded(pages[name]) == expected


@pytest.mark.parametrize(("name", "n_figures"), [("good", 5), ("shop", 5), ("timeouts", 2)])
def test_each_figure_is_drawn_wide_and_narrow_with_a_label(
    name: str, n_figures: int, pages: Pages
) -> None:
    figures = pages[name].split("<figure>")[1:]
    assert len(figures) == n_figures
    for figure in figures:
        assert figure.count('role="img" aria-label="') == 2


def test_a_path_that_answers_404_has_a_page_without_drawings(pages: Pages) -> None:
    text = words(pages["all_404"])
    assert "0 of 500 requests completed: all 500 got status 404 (expected 200)" in text
    assert "<svg" not in pages["all_404"]


def test_a_page_says_who_was_the_limit_and_what_to_doubt(pages: Pages) -> None:
    text = words(pages["shop"])
    assert "limited by this client's CPU: its busiest thread used 97 % of a core" in text
    assert "was suspended for 3.1 % of the time" in text


def test_a_page_answers_every_threshold(pages: Pages) -> None:
    text = words(pages["shop"])
    for condition in shop().fail_if:
        assert f"fail if {condition}" in text
    assert "p99.99 needs 100,000 requests" in text


def test_errors_are_drawn_only_where_there_are_some(pages: Pages) -> None:
    assert ">errors</text>" in pages["shop"]
    assert ">errors</text>" not in pages["good"]
    assert ">offered</text>" in pages["open_loop"]
    assert ">offered</text>" not in pages["good"]


def test_an_interrupted_test_says_so() -> None:
    text = words(load_html(structs.replace(load_outcome(), is_interrupted=True)))
    assert "It was interrupted" in text


def test_nothing_sent_is_a_page_all_the_same() -> None:
    assert "no request was sent" in words(load_html(load_outcome(load_measurement(completed=0))))


def evil() -> LoadOutcome:
    """Return a test with a hostile name everywhere that a user's words can go."""
    outcome = shop()
    requests = tuple(RequestSpec(path=f"/{i}{EVIL}") for i in range(6))
    return structs.replace(
        outcome,
        url=EVIL,
        workload=structs.replace(outcome.workload, requests=requests),
        host=structs.replace(outcome.host, cpu=EVIL),
        log=ReplayedLog(n_lines=1, left_out={EVIL: 1}),
    )


def test_hostile_names_stay_text() -> None:
    page = load_html(evil())
    elements = parsed(page)
    assert [tag for tag, _ in elements.seen].count("script") == 1
    assert "<script>alert" not in page
    assert EVIL in "".join(elements.text)
    data = embedded(page)
    assert isinstance(data, dict)
    assert data["provenance"]["url"] == EVIL


def test_numbers_are_held_to_their_units_but_not_in_what_is_to_be_copied() -> None:
    outcome = load_outcome(
        not_looked=because("errors.says", message="it took 3 s; `--look --for 5 s` has more")
    )
    page = load_html(outcome)
    assert "this client used 6.1\u00a0% of a core" in page
    assert "it took 3\u00a0s; <code>--look --for 5 s</code> has more" in page


def test_no_axis_has_powers_of_ten_for_plain_numbers() -> None:
    outcome = load_outcome()
    measurement = outcome.measurement
    slow = structs.replace(measurement.phases.transfer, sum_s=0.3 * measurement.completed)
    phases = structs.replace(measurement.phases, transfer=slow)
    svg = phases_svg(
        structs.replace(outcome, measurement=structs.replace(measurement, phases=phases))
    )
    assert ">100<" in svg
    assert "e+" not in svg
