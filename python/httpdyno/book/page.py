"""The book as one page: then beside now."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from httpdyno import __version__
from httpdyno.book.advice import AdviceHere
from httpdyno.book.axis import axis_of, marks, own_axis, zones
from httpdyno.book.document import book_json
from httpdyno.book.experiment import WORDS, Experiment, way_of
from httpdyno.book.result import Now
from httpdyno.book.rule import RULE_NOTES, RULE_ROWS
from httpdyno.book.text import ADVICE_TITLE, borders_words, day, way_words, why
from httpdyno.report.shared.machine_card import card_rows
from httpdyno.report.shared.template import rendered
from httpdyno.units import format_duration


def book_html(
    experiments: Sequence[Experiment],
    reasons: Mapping[str, str],
    found: Mapping[str, Now],
    advice: Sequence[AdviceHere] = (),
) -> str:
    """Return the page as one self-contained file.

    Args:
        experiments: In the order of the documents.
        reasons: Why each cannot be run here; empty where it can.
        found: The last results here, by name.
        advice: Without figures, in the order of the documents.
    """
    documents: dict[str, list[dict[str, Any]]] = {}
    for each in experiments:
        row = _row(each, reasons.get(each.name, ""), found.get(each.name))
        documents.setdefault(each.chapter.partition(",")[0], []).append(row)
    # Each measurement once: the same data printed again is shown with the result of the other.
    own = [each for each in experiments if not each.same_as]
    results = [found[each.name] for each in own if each.name in found]
    words = Counter(now.verdict for now in results)
    years = sorted(each.year for each in experiments)
    values = {
        "version": __version__,
        "documents": documents,
        "overview": _overview(experiments, found),
        "rule_rows": [(where, word, kind_of(word)) for where, word in RULE_ROWS],
        "rule_notes": RULE_NOTES,
        "n": len(experiments),
        "n_own": len(own),
        "n_measured": len(results),
        "years": (years[0], years[-1]),
        "words": [(word, kind_of(word), words[word]) for word in WORDS if words[word]],
        "machines": _machines(results),
        "dates": sorted({day(now) for now in results}),
        "advice_title": ADVICE_TITLE,
        "advice": [_advice_row(here) for here in advice],
        "n_advised": sum(here.now is not None for here in advice),
    }
    data = book_json(experiments, reasons, found, advice)
    return rendered("book.html.j2", values, data, css=("page.css", "book.css"))


def kind_of(word: str) -> str:
    """Return a word as a class of the style sheet."""
    return word.replace(",", "").replace(" ", "-")


def _overview(experiments: Sequence[Experiment], found: Mapping[str, Now]) -> dict[str, Any]:
    """Return all that were measured or counted, on one axis."""
    shown = [each for each in experiments if not each.same_as]
    ratios: list[float] = []
    for each in shown:
        now = found.get(each.name)
        of_now = (now.low, now.ratio, now.high) if now else ()
        ratios += [value for value in (each.then.ratio, *of_now) if value is not None]
    axis = axis_of(ratios)
    rows = []
    for each in shown:
        now = found.get(each.name)
        rows.append(
            {
                "name": each.name,
                "title": each.title,
                "word": now.verdict if now else "",
                "kind": kind_of(now.verdict) if now else "open",
                "bar": marks(axis, each.then, now),
                "words": _in_words(each, now),
                "counted": _counted(each, now),
            }
        )
    return {"rows": rows, "ticks": axis.ticks(), "one": axis.place(1.0)}


def _in_words(each: Experiment, now: Now | None) -> str:
    """Return what a bar shows, for those who do not see it."""
    today = f", now {now.ratio:.3g} times" if now and now.ratio is not None else ""
    if now and now.low is not None and now.high is not None:
        today += f" ({now.low:.3g} to {now.high:.3g})"
    return "" if each.then.ratio is None else f"then {each.then.ratio:.3g} times{today}"


def _counted(each: Experiment, now: Now | None) -> str:
    if each.then.count is None:
        return ""
    today = f" → {now.count:.3g}" if now and now.count is not None else ""
    return f"{each.then.count:g}{today}"


def _machines(results: Sequence[Now]) -> list[dict[str, Any]]:
    """Return the machines that were measured on, with the last card and the servers of each."""
    machines = []
    for host in dict.fromkeys(now.host for now in results):
        here = [now for now in results if now.host == host]
        last = max(here, key=lambda now: now.measured_at)
        card = card_rows(last.machine)
        servers = sorted({now.server for now in here if now.server})
        machines.append({"host": host, "card": card, "servers": servers, "n": len(here)})
    return machines


def _row(each: Experiment, reason: str, now: Now | None) -> dict[str, Any]:
    one = way_of(each)
    row: dict[str, Any] = {
        "name": each.name,
        "title": each.title,
        "where": each.chapter.partition(", ")[2] or each.chapter,
        "year": each.year,
        "then": each.then.says,
        "way": way_words(one) if one.way else "",
        "judged": borders_words(one.then) if one.way else "",
        "same_as": each.same_as,
        "reason": reason,
        "word": "",
        "kind": "open",
        "now": "",
        "because": "",
        "moved": (),
        "bar": None,
        "zones": (),
        "words": _in_words(each, now),
        "provenance": (),
    }
    if now is None:
        return row
    axis = own_axis(each.then, now)
    return {
        **row,
        "word": now.verdict,
        "kind": kind_of(now.verdict),
        "now": now.says,
        "because": why(one, now),
        "moved": now.evidence,
        "bar": marks(axis, each.then, now) if axis else None,
        "zones": zones(axis, each.then) if axis else (),
        "provenance": _provenance(now),
    }


def _advice_row(here: AdviceHere) -> dict[str, Any]:
    now = here.now
    row: dict[str, Any] = {
        "name": here.name,
        "title": here.title,
        "where": here.advice.chapter,
        "says": here.advice.says,
        "reason": here.reason,
        "command": here.advice.command,
        "word": now.badge if now else "",
        "kind": now.verdict if now else "open",
        "now": f"{now.claim}: {now.says}" if now else "",
        "measured": f"{now.measured_at[:10]}, {now.host}" if now else "",
        "report": f"httpdyno report {now.run_id}" if now else "",
    }
    return row


def _provenance(now: Now) -> list[tuple[str, str]]:
    """Return when it was measured and how it is again, as (name, words)."""
    took = format_duration(now.duration_s)
    lines = [("measured", f"{day(now)}, in {took}"), ("again", now.command)]
    return [*lines, ("all of it", f"httpdyno report {now.run_id}")] if now.run_id else lines
