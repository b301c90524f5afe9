"""A page taken apart: what a person sees, what its elements are, and the data that it carries."""

import json
import re
from html.parser import HTMLParser
from typing import ClassVar

VOID = {"meta", "br", "link"}
MAX_ROWS = 20
"""Of a table that a person reads row by row; longer ones are charts."""
N_FIRST_ROWS, N_LAST_ROWS = 4, 2


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


def assert_loads_nothing(page: str) -> None:
    """Assert that a page is well formed, needs no other file or host and runs no script."""
    elements = parsed(page).seen
    tags = {tag for tag, _ in elements}
    assert not tags & {"link", "img", "iframe", "object", "embed", "audio", "video", "form"}
    assert not any("src" in attributes or "href" in attributes for _, attributes in elements)
    assert not any(key.startswith("on") for _, attributes in elements for key in attributes)
    assert "url(" not in page
    assert "@import" not in page
    scripts = [attributes for tag, attributes in elements if tag == "script"]
    assert [script["type"] for script in scripts] == ["application/json"]


class Shown(Elements):
    """Collects the lines that a person sees: no styles, no data, drawings by their labels."""

    LINES: ClassVar[dict[str, str]] = {
        "title": "title: ",
        "h1": "# ",
        "h2": "\n## ",
        "h3": "### ",
        "p": "",
        "li": "- ",
        "figcaption": "",
        "summary": "> ",
        "tr": "",
        "pre": "",
        "svg": "",
        "div": "",
    }
    """What begins a line, and with what."""
    GAPS: ClassVar[dict[str, str]] = {
        "td": " | ",
        "th": " | ",
        "dd": ": ",
        "span": " ",
        "b": " ",
        "code": " ",
    }
    """What stands between such an element and what comes before it in its line."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.gap = ""
        self.rows: list[int] = []
        """Where the rows of the table that is open begin."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        is_drawn = tag == "title" and "svg" in self.open
        if tag in self.LINES and not is_drawn:
            self.lines.append(self.LINES[tag])
            self.gap = ""
        # A cell's gap stays before what is in it.
        self.gap = self.gap if self.gap.strip() else self.GAPS.get(tag, self.gap)
        if tag == "table":
            self.rows = []
        if tag == "tr":
            self.rows.append(len(self.lines) - 1)
        label = dict(attrs).get("aria-label")
        if tag == "svg" and label:
            self.lines.append(f"[drawing: {label}]")

    def handle_endtag(self, tag: str) -> None:
        super().handle_endtag(tag)
        if tag == "table" and len(self.rows) > MAX_ROWS:
            begin, end = self.rows[N_FIRST_ROWS], self.rows[-N_LAST_ROWS]
            n_left_out = len(self.rows) - N_FIRST_ROWS - N_LAST_ROWS
            self.lines[begin:end] = [f"[{n_left_out} more rows]"]
        if tag in self.LINES and not (tag == "title" and "svg" in self.open):
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        before = len(self.text)
        super().handle_data(data)
        if {"style", "script", "svg"} & set(self.open):
            return
        words = self.text[before]
        if "pre" in self.open:
            first, *others = words.split("\n")
            self.lines[-1] += first
            self.lines.extend(others)
        elif words.strip():
            begun = self.lines.pop() if self.lines else ""
            words = one_line(words)
            if begun.strip("#->\n "):
                words = f"{begun.rstrip()}{self.gap}{words.lstrip()}" if self.gap else begun + words
            else:
                words = begun + words.lstrip()
            self.lines.append(words)
            self.gap = ""


def one_line(words: str) -> str:
    return re.sub(r"\s+", " ", words)


def shown(page: str, *, without: str = "") -> str:
    """Return what a person sees, line by line, but for a section that is the same elsewhere.

    The wide and the narrow drawing are one, and of a table that is a chart's some rows are enough.
    """
    parser = Shown()
    parser.feed(page)
    parser.close()
    lines = [line.rstrip() for line in parser.lines]
    seen = [line for line in lines if line.strip()]
    seen = [
        line
        for line, before in zip(seen, ["", *seen], strict=False)
        if not (line == before and line.startswith("[drawing"))
    ]
    text = "".join(f"{line}\n" for line in seen)
    return (
        re.sub(rf"\n## {without}\n.*?(?=\n## |\Z)", "", text, flags=re.DOTALL) if without else text
    )
