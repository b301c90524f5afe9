"""What the measured servers said of themselves, and who was the limit while they were loaded."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from httpdyno.model import ArmSummary, Comparison, Effective, Outcome
from httpdyno.report.shared.phrase import NOTHING, plural
from httpdyno.report.study.finding import arm_names

_KNOWN = {
    "said": "said by the server",
    "seen": "seen from outside",
    "read": "read from its files",
}


def effective_table(outcome: Outcome) -> dict[str, Any] | None:
    """Return each setting as the servers have it, differing ones first; None when none told."""
    arms = [(name, arm.effective) for name, arm in _ends(outcome) if arm.effective.values]
    if not arms:
        return None
    told = [effective for _, effective in arms]
    names = sorted(_names(told), key=lambda name: _rank(name, told))
    n_different = sum(_is_different(name, told) for name in names)
    differ = f", {n_different} of them different" if len(arms) > 1 else ""
    unverified = ", ".join(dict.fromkeys(name for each in told for name in each.unverified))
    sources = ", ".join(dict.fromkeys(each.source for each in told if each.source))
    notes = [f"{plural(len(names), 'setting')}{differ}"]
    if sources:
        notes.append(f"source: {sources}")
    if unverified:
        notes.append(f"not told, so not checked: {unverified}")
    head = ["setting", *(name for name, _ in arms)]
    rows = [[name, *(each.values.get(name, NOTHING) for each in told)] for name in names]
    evidence = {name: how for each in told for name, how in each.evidence.items()}
    if evidence:
        head.append("known")
        rows = [[*row, _KNOWN.get(evidence.get(row[0], ""), NOTHING)] for row in rows]
    return {
        "head": head,
        "rows": rows,
        "text_columns": len(head),
        "caption": "; ".join(notes),
    }


def limit_counts_text(outcome: Outcome) -> str:
    """Return `server in 118 of 120 windows, client cpu in 2`; empty when nobody looked."""
    windows: Counter[str] = Counter()
    for arm in _arms(outcome):
        windows.update(arm.limited_by)
    n_windows = windows.total()
    if not n_windows:
        return ""
    (first, n_first), *others = [
        (name.replace("_", " ") or "not known", n) for name, n in windows.most_common()
    ]
    most = f"{first} in {n_first:,} of {plural(n_windows, 'window')}"
    return ", ".join([most, *(f"{name} in {n:,}" for name, n in others)])


def _ends(outcome: Outcome) -> list[tuple[str, ArmSummary]]:
    """Return the arms that a reader wants side by side: the first, and the last that counts."""
    if outcome.final is not None:
        return list(zip(arm_names(outcome), (outcome.final.a, outcome.final.b), strict=True))
    if not outcome.steps:
        return []
    kept = [("kept so far", step.comparison.b) for step in outcome.steps if step.kept]
    return [("start", outcome.steps[0].comparison.a), *kept[-1:]]


def _arms(outcome: Outcome) -> Iterator[ArmSummary]:
    """Yield every arm of every comparison: each has windows of its own."""
    comparisons: list[Comparison] = [step.comparison for step in outcome.steps]
    if outcome.final is not None:
        comparisons.append(outcome.final)
    for comparison in comparisons:
        yield from (comparison.a, comparison.b)
    if outcome.sweep is not None:
        yield from (point.arm for point in outcome.sweep.points)
    if outcome.factorial is not None:
        yield from outcome.factorial.arms


def _names(told: list[Effective]) -> list[str]:
    return list(dict.fromkeys(name for each in told for name in each.values))


def _is_different(name: str, told: list[Effective]) -> bool:
    return len({each.values.get(name) for each in told}) > 1


def _rank(name: str, told: list[Effective]) -> tuple[bool, bool]:
    """Return what sorts first: what differs, then what was asked for, then the server's own."""
    return not _is_different(name, told), not any(name in each.asked for each in told)
