"""Links of pages lead to a page, and to a heading that it has."""

import re
from pathlib import Path

from tests.rows import each_row

REPOSITORY = Path(__file__).parents[2]
PAGES = [*sorted((REPOSITORY / "docs").glob("*.md")), REPOSITORY / "README.md"]
LINK = re.compile(r"\]\(([^()#\s:]*)(?:#([^()\s]+))?\)")


def headings(page: Path) -> set[str]:
    """Return the names of a page's headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


@each_row("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    for path, heading in LINK.findall(page.read_text("utf-8")):
        target = page.parent / path if path else page
        assert target.exists(), path
        if heading and target.suffix == ".md":
            assert heading in headings(target), f"{path}#{heading}"
