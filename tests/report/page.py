"""A page taken apart: what it says, what its elements are, and the data that it carries."""

import json
import re
from html.parser import HTMLParser

VOID = {"meta", "br", "link"}


def skeleton(page: str) -> str:
    """Return the page without drawings, style and data, whose bytes are others' or tested apart."""
    page = re.sub(r"<svg.*?</svg>", "<svg/>", page, flags=re.DOTALL)
    page = re.sub(r"<style>.*?</style>", "<style/>", page, flags=re.DOTALL)
    return re.sub(r'(<script type="application/json"[^>]*>).*?(</script>)', r"\1\2", page)


def embedded(page: str) -> object:
    found = re.search(r'<script type="application/json" id="outcome">(.*?)</script>', page)
    assert found is not None
    return json.loads(found[1])


class Elements(HTMLParser):
    """Collects elements, and complains of those that don't nest."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        # What holds a number to its unit on the page is a space, or nothing, to who reads it.
        self.text.append(data.replace("\N{NO-BREAK SPACE}", " ").replace("\N{WORD JOINER}", ""))


def parsed(page: str) -> Elements:
    parser = Elements()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser
