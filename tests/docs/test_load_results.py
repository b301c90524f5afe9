"""The page on results says what the program does."""

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families
from tests.report.plain import plain_text
from tests.report.sample_load import load_outcome, open_loop
from tests.rows import each_row

from httpdyno.cli.load.output import LoadOutputs
from httpdyno.report.load.histogram import COLUMNS
from httpdyno.report.load.json import load_json
from httpdyno.report.load.prometheus import load_prometheus
from httpdyno.report.load.text import load_text
from httpdyno.report.load.threshold import parsed

PAGE = (Path(__file__).parents[2] / "docs" / "load-results.md").read_text(encoding="utf-8")
CONDITION = re.compile(r"`([a-z0-9. ]+ [<>]=? [^`]+)`")


def test_the_example_has_what_is_printed() -> None:
    block = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert block is not None
    assert _names(plain_text(load_text(open_loop()))) <= _names(block[1])


def _names(text: str) -> set[str]:
    """Return headings, rows' names and heads of tables, which no figure changes."""
    lines = [line for line in text.splitlines() if line]
    rows = (re.match(r" {0,2}([a-z][a-z ]*?)(?:  |, |$)", line) for line in lines)
    heads = (" ".join(line.split()) for line in lines if re.match(r" {8,}\w+  ", line))
    return {*(row[1] for row in rows if row), *heads}


def test_every_condition_of_the_page_is_one() -> None:
    conditions = CONDITION.findall(PAGE)
    assert len(conditions) >= 8
    for condition in conditions:
        parsed(condition)


@each_row("key", ["latency_histogram", "course", "intervals"])
def test_the_keys_of_the_page_are_in_the_json(key: str) -> None:
    assert f"`{key}`" in PAGE
    assert key in load_json(load_outcome())


def test_the_columns_of_the_page_are_those_of_the_file() -> None:
    assert f"`{','.join(COLUMNS)}`" in PAGE


def test_the_metrics_of_the_page_are_written() -> None:
    written = load_prometheus(load_outcome())
    names = {family.name for family in text_string_to_metric_families(written)}
    named = set(re.findall(r"`(httpdyno_load_\w+)`", PAGE))
    assert len(named) >= 2
    assert {name.removesuffix("_total") for name in named} <= names


def test_every_file_that_can_be_written_is_on_the_page() -> None:
    for field in ("json", "csv", "hgrm", "hlog", "prometheus", "html"):
        assert field in LoadOutputs.__slots__
        assert f"| `--{field}` |" in PAGE
