"""Links of pages lead to a page, and to a heading that it has."""

import re
from functools import cache
from pathlib import Path

from tests.rows import each_row

from httpdyno.report.shared.formula_reference import formula_reference
from httpdyno.report.shared.reference import rule_reference, study_reference

REPOSITORY = Path(__file__).parents[2]
PAGES = [*sorted((REPOSITORY / "docs").glob("*.md")), REPOSITORY / "README.md"]
LINK = re.compile(r"\]\(([^()#\s:]*)(?:#([^()\s]+))?\)")


BUILT = {"study.md": study_reference, "rules.md": rule_reference, "formulas.md": formula_reference}
"""Of `docs/reference`, which `make docs` writes."""


def text_of(page: Path) -> str:
    is_built = page.parent == REPOSITORY / "docs" / "reference"
    return BUILT[page.name]() if is_built else page.read_text("utf-8")


@cache
def headings(page: Path) -> set[str]:
    """Return the names of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@each_row("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    for path, heading in LINK.findall(page.read_text("utf-8")):
        target = page.parent / path if path else page
        assert target.parent.name == "reference" or target.exists(), path
        if heading and target.suffix == ".md":
            assert heading in headings(target), f"{path}#{heading}"
