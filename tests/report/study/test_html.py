import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec import structs
from tests.report import sample, sample_trouble
from tests.report.page import assert_loads_nothing, embedded, parsed, shown
from tests.report.sample_sweep import memory_sweep
from tests.rows import each_row

from httpdyno.model import Outcome, ResultWarning
from httpdyno.reason import because
from httpdyno.report.shared.template import glued, script_json
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.page import outcome_html

OUTCOMES = sample_trouble.all_outcomes()
EVIL = "</script><script>alert(1)</script><b>&amp;\"'"


class Pages(dict[str, str]):
    """Each page is drawn when a test first asks for it."""

    def __missing__(self, name: str) -> str:
        self[name] = outcome_html(OUTCOMES[name])
        return self[name]


@pytest.fixture(scope="module")
def pages() -> Pages:
    return Pages()


def evil() -> Outcome:
    """Return a ladder with a hostile name everywhere that a user's words can go."""
    whole = sample.ladder()
    step = structs.replace(whole.steps[0], knob=EVIL, title=EVIL, before=EVIL, after=EVIL)
    study = structs.replace(whole.plan.study, name=EVIL, title=EVIL, book_figure=EVIL)
    return structs.replace(
        whole,
        id=EVIL,
        plan=structs.replace(whole.plan, study=study),
        host=structs.replace(whole.host, server=EVIL),
        steps=(step, *whole.steps[1:]),
        warnings=(ResultWarning(reason=because("experiment.unlike_the_site", words=EVIL)),),
        overlay_diff=f"+{EVIL}",
    )


@pytest.mark.parametrize("name", OUTCOMES)
def test_each_kind_of_outcome_has_the_agreed_page(
    name: str, pages: Pages, golden: Callable[[str, str], None]
) -> None:
    without = "" if name == "ladder" else "How it was measured"
    golden(f"report/{name}.page.txt", shown(pages[name], without=without))


@pytest.mark.parametrize("name", OUTCOMES)
def test_a_page_is_well_formed_and_loads_nothing(name: str, pages: Pages) -> None:
    assert_loads_nothing(pages[name])


@pytest.mark.parametrize("name", OUTCOMES)
def test_the_page_carries_its_data(name: str, pages: Pages) -> None:
    expected = json.loads(json.dumps(outcome_json(OUTCOMES[name])))
    assert embedded(pages[name]) == expected


def test_hostile_names_stay_text() -> None:
    page = outcome_html(evil())
    elements = parsed(page)
    assert [tag for tag, _ in elements.seen].count("script") == 1
    assert not any(tag == "b" and "alert" in str(attributes) for tag, attributes in elements.seen)
    assert "<script>alert" not in page
    assert EVIL in "".join(elements.text)
    data = embedded(page)
    assert isinstance(data, dict)
    assert data["steps"][0]["knob"] == EVIL


def test_nothing_in_the_data_can_end_its_element() -> None:
    text = script_json({"path": "</script><!--", "and": "&"})
    assert not set("<>&") & set(text)
    assert json.loads(text) == {"path": "</script><!--", "and": "&"}


def test_each_chart_has_a_label_and_a_table_beside_it(pages: Pages) -> None:
    page = pages["ladder"]
    figures = re.findall(r"<figure>.*?</figure>", page, flags=re.DOTALL)
    assert len(figures) == 3
    for figure in figures:
        assert figure.count('role="img" aria-label="') == 2
        assert "<table>" in figure


def test_a_sheet_shows_every_step_and_what_was_not_worth_it(pages: Pages) -> None:
    text = " ".join(parsed(pages["ladder"]).text)
    for step in OUTCOMES["ladder"].steps:
        assert step.knob in text
    assert "Not worth it, or not proven" in text
    assert "about 3 min more would decide it" in text


def test_a_card_names_the_ratio_that_broke_the_tie(pages: Pages) -> None:
    text = " ".join(parsed(pages["tie_break"]).text)
    assert "CPU per request 0.81 × (0.75 … 0.88); throughput 1.00 × (0.97 … 1.04); " in text
    assert "drawn: throughput" in text


def test_a_tie_break_is_the_large_figure_of_a_comparison(pages: Pages) -> None:
    text = " ".join(parsed(pages["tied_compare"]).text)
    assert "proven: at most 0.88 ×" in text
    assert "throughput 1.00 × (0.97 … 1.04), so CPU per request decided" in text


def test_a_sheet_shows_what_the_servers_said_folded_up(pages: Pages) -> None:
    assert "what the servers said they run" in pages["tie_break"]
    assert "what the servers said they run" not in pages["unbounded"]


def test_an_interrupted_ladder_claims_nothing_final(pages: Pages) -> None:
    text = " ".join(parsed(pages["interrupted"]).text)
    assert "not confirmed" in text
    assert "Changes kept so far" in text
    assert "proven: at least" not in text


@pytest.mark.parametrize("name", ["cut_comparison", "cut_final"])
def test_a_run_that_was_cut_says_so_beside_its_figure(name: str, pages: Pages) -> None:
    """Else it looks as if it had spent its budget."""
    hero = " ".join(parsed(pages[name]).text).partition(" confidence, ")[0]
    assert "interrupted; `httpdyno study run --resume" in hero


def test_a_candidate_that_did_not_start_says_so_in_the_server_s_words(
    pages: Pages,
) -> None:
    assert "No space left on device" in " ".join(parsed(pages["failed_start"]).text)


def test_importing_the_page_maker_draws_nothing_in() -> None:
    """Heavy imports wait until a page is made: `httpdyno --help` must stay quick."""
    import sys  # noqa: PLC0415

    code = (
        "import sys, httpdyno.report.study.page, httpdyno.report.study.text, httpdyno.report.load\n"
        "print(sorted({'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=30
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.skipif(shutil.which("chromium") is None, reason="there is no browser to print with")
def test_a_sheet_is_printed_without_pages_that_are_half_empty(pages: Pages, tmp_path: Path) -> None:
    """Eight pages it was, three of them two cards each."""
    sheet, pdf = tmp_path / "sheet.html", tmp_path / "sheet.pdf"
    sheet.write_text(pages["ladder"], encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", f"--user-data-dir={tmp_path}/profile"]
    command += [f"--print-to-pdf={pdf}", sheet.as_uri()]
    subprocess.run(command, capture_output=True, check=True, timeout=50)
    assert 1 <= len(re.findall(rb"/Type /Page\b", pdf.read_bytes())) <= 5


def test_numbers_are_held_to_their_units(pages: Pages) -> None:
    assert glued("10.0/s, 4.59 … 5.23, 16.9 ms of 6 starts") == (
        "10.0/\u2060s, 4.59\u00a0…\u00a05.23, 16.9\u00a0ms of 6\u00a0starts"
    )
    assert "proven: at least 4.59\u00a0×" in pages["ladder"]
    # What is to be copied into a file keeps its spaces.
    assert "+MaxConnectionsPerChild 500<" in pages["ladder"]


@each_row(
    ("metric", "columns"),
    [
        ("pss_bytes", "throughput | memory | interval | of best | CPU/request | p99 | errors"),
        ("latency_p99_s", "throughput | p99 latency | interval | of best | CPU/request | errors"),
        ("cpu_s_per_request", "throughput | CPU per request | interval | of best | p99 | errors"),
    ],
)
def test_what_a_sweep_is_of_stands_once_in_its_table(metric: str, columns: str) -> None:
    whole = memory_sweep()
    assert whole.sweep is not None
    of_metric = structs.replace(whole.sweep, metric=metric)
    lines = shown(outcome_html(structs.replace(whole, sweep=of_metric)), without="").splitlines()
    head = next(n for n, line in enumerate(lines) if line.startswith("MaxRequestWorkers | status"))
    assert lines[head] == f"MaxRequestWorkers | status | {columns} | book"
    n_columns = lines[head].count("|")
    assert [line.count("|") for line in lines[head : head + 11]] == [n_columns] * 11


@each_row(
    ("metric", "columns"),
    [
        ("throughput_per_s", "CPU/request | p50 | p99"),
        ("cpu_s_per_request", "throughput | p50 | p99"),
        ("latency_p50_s", "throughput | CPU/request | p99"),
        ("latency_p99_s", "throughput | CPU/request | p50"),
        ("pss_bytes", "throughput | CPU/request | p50 | p99"),
    ],
)
def test_the_deciding_ratio_stands_once_in_a_ladders_table(metric: str, columns: str) -> None:
    whole = sample.ladder()
    objective = structs.replace(whole.plan.study.objective, metric=metric)
    study = structs.replace(whole.plan.study, objective=objective)
    of_metric = structs.replace(whole, plan=structs.replace(whole.plan, study=study))
    lines = shown(outcome_html(of_metric), without="").splitlines()
    head = f"change | verdict | ratio | interval | total | {columns} | book"
    row = lines[lines.index(head) + 1]
    assert row.count("|") == head.count("|")


@pytest.mark.parametrize("name", ["tie_break", "tied_compare", "second_ladder", "second_compare"])
def test_a_card_has_no_ratio_below_its_sentence_that_is_in_it(name: str, pages: Pages) -> None:
    cards = shown(pages[name], without="How it was measured").partition("evidence\n")[2]
    for said, below in re.findall(r"^(\S.* × \(.*)\n((?:[^\n#]*: [\d.]+ ×\n)+)", cards, re.M):
        named = [line.partition(":")[0] for line in below.splitlines()]
        assert not [name for name in named if name in said and name != "published"]


def test_words_that_stand_for_what_differs_from_start_to_start_are_explained(pages: Pages) -> None:
    diff = "-folder RUN/a\n+folder MEMORY/a\n"
    text = " ".join(parsed(outcome_html(structs.replace(sample.ladder(), overlay_diff=diff))).text)
    assert "RUN stands for the folder that each start had for itself; MEMORY stands" in text
    assert "stands for" not in " ".join(parsed(pages["ladder"]).text)
