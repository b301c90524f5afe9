"""The book as one page: then beside now."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from httpdyno import __version__
from httpdyno.book.experiment import Experiment
from httpdyno.book.result import Now
from httpdyno.book.rule import RULE
from httpdyno.report.book.json import book_json
from httpdyno.report.book.text import way_words
from httpdyno.report.book.words import because
from httpdyno.report.shared.template import rendered

_LEAST, _MOST = math.log(1 / 100), math.log(100)
"""The scale of all bars: a hundredth to a hundred times."""


def book_html(
    experiments: Sequence[Experiment], reasons: Mapping[str, str], found: Mapping[str, Now]
) -> str:
    """Return the page as one self-contained file.

    Args:
        experiments: In the order of the documents.
        reasons: Why each cannot be run here; empty where it can.
        found: The last results here, by name.
    """
    documents: dict[str, list[dict[str, Any]]] = {}
    for each in experiments:
        row = _row(each, reasons.get(each.name, ""), found.get(each.name))
        documents.setdefault(each.chapter.partition(",")[0], []).append(row)
    measured = [now for name, now in found.items()]
    words: dict[str, int] = {}
    for each in experiments:
        if now := found.get(each.name):
            words[now.word] = words.get(now.word, 0) + 1
    values = {
        "version": __version__,
        "documents": documents,
        "rule": RULE,
        "n": len(experiments),
        "n_measured": sum(1 for each in experiments if each.name in found),
        "words": words,
        "hosts": sorted({now.host for now in measured}),
        "dates": sorted({now.measured_at[:10] for now in measured}),
    }
    data = book_json(experiments, reasons, found)
    return rendered("book.html.j2", values, data, css=("page.css", "book.css"))


def _row(each: Experiment, reason: str, now: Now | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": each.name,
        "title": each.title,
        "where": each.chapter.partition(", ")[2] or each.chapter,
        "year": each.year,
        "then": each.then.says,
        "way": way_words(each) if each.way else "",
        "same_as": each.same_as,
        "reason": reason,
        "word": "",
        "kind": "open",
        "now": "",
        "because": "",
        "moved": (),
        "bar": None,
    }
    if now is None:
        return row
    return {
        **row,
        "word": now.word,
        "kind": now.word.replace(",", "").replace(" ", "-"),
        "now": now.says,
        "because": because(each, now),
        "moved": now.moved,
        "measured": now.measured_at[:10],
        "bar": _bar(each, now),
    }


def _bar(each: Experiment, now: Now) -> dict[str, float] | None:
    """Return where ratios lie, in percent of the width; None where there is none to draw."""
    if each.then.ratio is None or now.low is None or now.ratio is None:
        return None
    high = now.high if now.high is not None else math.exp(_MOST)
    return {
        "one": _place(1.0),
        "then": _place(each.then.ratio),
        "now": _place(now.ratio),
        "low": _place(now.low),
        "width": max(0.4, _place(high) - _place(now.low)),
    }


def _place(ratio: float) -> float:
    part = (math.log(ratio) - _LEAST) / (_MOST - _LEAST)
    return round(100 * min(1.0, max(0.0, part)), 2)
