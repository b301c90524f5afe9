"""How figures were made: method, machine, software, settings, and who was the limit."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from httpdyno.metrics import named, sources
from httpdyno.model import ArmSummary, Comparison, Effective, Objective, Outcome
from httpdyno.report.shared import message
from httpdyno.report.shared.interval import ratio_text
from httpdyno.report.shared.machine_card import card_facts, control_groups
from httpdyno.report.shared.phrase import NOTHING, plural
from httpdyno.report.shared.view import Grid
from httpdyno.report.study.arms import method_words, offered_text
from httpdyno.report.study.finding import arm_names, final_label, so_far
from httpdyno.report.study.verdict import confidences_text, of_objective
from httpdyno.units import format_bytes, format_change, format_duration, format_percent

# What the measured servers said of themselves, and who was the limit while they were loaded.

_KNOWN = {
    "said": "said by the server",
    "seen": "seen from outside",
    "read": "read from its files",
}


def effective_table(outcome: Outcome) -> Grid | None:
    """Return each setting as the servers have it, differing ones first; None when none told."""
    arms = [(name, arm.effective) for name, arm in _ends(outcome) if arm.effective.values]
    if not arms:
        return None
    told = [effective for _, effective in arms]
    names = sorted(_names(told), key=lambda name: _rank(name, told))
    n_different = sum(_is_different(name, told) for name in names)
    differ = f", {n_different} of them different" if len(arms) > 1 else ""
    unverified = ", ".join(dict.fromkeys(name for each in told for name in each.unverified))
    sources = ", ".join(
        dict.fromkeys(", ".join(message.texts(each.sources)) for each in told if each.sources)
    )
    notes = [f"{plural(len(names), 'setting')}{differ}"]
    if sources:
        notes.append(f"source: {sources}")
    if unverified:
        notes.append(f"not reported, so not checked: {unverified}")
    head = ["setting", *(name for name, _ in arms)]
    rows = [[name, *(each.values.get(name, NOTHING) for each in told)] for name in names]
    evidence = {name: how for each in told for name, how in each.evidence.items()}
    if evidence:
        head.append("known")
        rows = [[*row, _KNOWN.get(evidence.get(row[0], ""), NOTHING)] for row in rows]
    return Grid(head=head, rows=rows, text_columns=len(head), note="; ".join(notes))


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


# How a study's figures were made, and with what confidence they hold, in sentences.


def method_sentences(outcome: Outcome) -> tuple[str, str]:
    """Return how the figures were made, in two sentences."""
    method, objective = outcome.plan.study.method, outcome.plan.study.objective
    arms = "the levels" if outcome.sweep is not None else "both configurations"
    arms = "all combinations" if outcome.factorial is not None else arms
    n_windows = int(outcome.calibration.get("n_blocks", method.blocks_per_start))
    windows = f"{plural(n_windows, 'window')} of {format_duration(method.window_s)} each"
    if method.phases:
        names = ", ".join(phase.name for phase in method.phases)
        windows = f"{plural(n_windows, 'turn')} each, through the phases {names}"
    elif not outcome.plan.study.workload.is_open_loop:
        windows = f"up to {windows}, fewer and longer ones where latencies demanded it"
    is_one_by_one = method.side_by_side == 1 or method.is_fresh or method.is_all_at_once
    together = "" if is_one_by_one else f", at most {method.side_by_side} such starts at a time"
    first = (
        f"Private instances of {arms} stood side by side and were loaded in turn, in random "
        f"order, {windows}{_in_turn(objective)}; then all were stopped and started "
        f"afresh{together}, and nothing is claimed from fewer than {method.min_starts} such starts."
    )
    if outcome.plan.study.fragments is not None:
        first = method_words(outcome)
    second = (
        f"Each start gives one ratio, and the interval around their geometric mean is "
        f"anytime-valid: {_confidence_words(outcome)}; differences within "
        f"±{objective.margin_ratio * 100:g} % are called equivalent."
    )
    return first, second


def _in_turn(objective: Objective) -> str:
    return (
        ", once they had come up one after the other"
        if "coming up" in sources(objective.named)
        else ""
    )


def _confidence_words(outcome: Outcome) -> str:
    """Return what the intervals hold with what confidence, and how two metrics share the risk."""
    objective = outcome.plan.objective
    whole = confidences_text([objective.confidence])
    always = "it holds the truth however often one looks"
    own = f"with {whole} confidence {always}"
    if objective.second:
        parts = [objective.confidence_of(each) for each in (objective.metric, objective.second)]
        role = "the tie breaker" if objective.tie_breaker else "which decides nothing"
        own = f"{always}, {_shared_words(objective, parts, role)}"
        own += _also_words(objective)
        both = "all" if objective.also else "both"
        own = f"{own}, so that with {whole} {both} are right; nothing is claimed by other ratios"
    elif objective.also:
        part = confidences_text([objective.confidence_of(objective.metric)])
        own = f"{always}, of {named(objective.metric).label} with {part} confidence"
        own += f"{_also_words(objective)}, so that with {whole} all are right"
    if outcome.factorial is not None:
        effects = f"{always}, of all effects and interactions with {whole} confidence together"
        return f"{effects}; for {final_label(outcome)}, {own}" if outcome.final else effects
    if outcome.sweep is None:
        return f"{own}{_final_confidence(outcome)}"
    where = ", on the curve" if outcome.sweep.word == "knee" else ""
    curve = f"{always}{where} with {whole} confidence for all levels together"
    return f"{curve}; for {final_label(outcome)}, {own}" if outcome.final is not None else curve


def _shared_words(objective: Objective, parts: Sequence[float], role: str) -> str:
    """Return which of two metrics holds with what confidence."""
    own, other = (confidences_text([each]) for each in parts)
    return (
        f"of {named(objective.metric).label} with {own} confidence and of "
        f"{named(objective.second).label}, {role}, with {other}"
    )


def _also_words(objective: Objective) -> str:
    """Return with what confidence what is told besides holds, each of it."""
    return "".join(
        f" and of {named(metric).label}, which decides nothing, with "
        f"{confidences_text([objective.confidence_of(metric)])}"
        for metric in objective.also
    )


def _final_confidence(outcome: Outcome) -> str:
    """Return what a final claim holds with where its tie breaker decided no step; else empty."""
    objective, final = outcome.plan.study.objective, outcome.final
    interval = of_objective(final) if final else None
    if final is None or interval is None or not objective.tie_breaker:
        return ""
    if interval.confidence == objective.confidence_of(objective.metric):
        return ""
    other = final.ratios.get(named(objective.second).ratio)
    why = "in the final claim, because the tie breaker decided no step"
    if final.second is None or other is None:
        own = confidences_text([interval.confidence])
        return f"; {why}, of {named(objective.metric).label} alone, with {own} confidence"
    parts = [interval.confidence, other.confidence]
    return f"; {why}, {_shared_words(objective, parts, 'which decides nothing there')}"


# Where a study's figures come from: machine, software, time, calibration.


def provenance(outcome: Outcome) -> list[tuple[str, str]]:
    """Return what a result must come with: on what, when, how it was made."""
    host, study = outcome.host, outcome.plan.study
    facts = [
        ("study", f"{study.name}, {study.method.kind}, {outcome.status}"),
        ("began", outcome.began_at),
        ("took", _took(outcome)),
        ("seed", str(outcome.plan.seed)),
        ("httpdyno", f"{host.httpdyno}, Python {host.python}"),
        ("server" if study.fragments is None else "program", host.server or study.server.adapter),
        *([("limits of the server", _limits(outcome))] if study.limits else []),
        ("kernel", host.kernel),
        ("CPU", f"{host.cpu}, {plural(host.n_cpus, 'core')}"),
        ("memory", format_bytes(host.memory_bytes)),
        ("load average before", " ".join(f"{load:.2f}" for load in host.load_average)),
        *card_facts(host),
        *_offered(outcome),
    ]
    if first := study.workload.first:
        facts.append(("first steps", ", ".join(f"{each.method} {each.path}" for each in first)))
    facts += [(name.replace("_", " "), f"{value:,}") for name, value in host.limits.items()]
    facts += [
        _calibration_fact(name, value)
        for name, value in outcome.calibration.items()
        if math.isfinite(value)
    ]
    limit = limit_counts_text(outcome) if study.fragments is None else ""
    if limit:
        facts.append(("who was the limit", limit))
    if outcome.final is None and outcome.steps:
        facts.append(("kept so far", so_far(outcome)))
    return facts


def _offered(outcome: Outcome) -> list[tuple[str, str]]:
    host, study = outcome.host, outcome.plan.study
    if study.fragments is not None:
        return [("measured", offered_text(study)), ("taken off", study.fragments.empty)]
    load = study.load_of(study.start_configuration())
    return [
        ("client on cores", _cores(host.client_cpus)),
        ("server on cores", _cores(host.server_cpus)),
        ("workload", offered_text(study)),
        ("requests", ", ".join(f"{r.method} {r.path}" for r in load.asked)),
    ]


def _limits(outcome: Outcome) -> str:
    by = control_groups(outcome.host.limits_by)
    return f"{outcome.plan.study.limit_words}{f', by {by}' if by else ''}"


def _took(outcome: Outcome) -> str:
    study, took = outcome.plan.study, format_duration(outcome.duration_s)
    if study.is_until_decided:
        return f"{took}, without a limit"
    return f"{took} of {format_duration(study.budget_s)}"


_CALIBRATION = {
    "overhead_s": "a start takes, besides load",
    "block_s": "a window on each configuration takes",
    "n_blocks": "windows of each in a start",
    "aa_ratio": "the start against itself",
    "between_starts_sd": "starts of it differ by",
    "between_windows_sd": "windows of it differ by",
    "detectable_ratio": "changes that can be proven",
    "starts_per_comparison": "starts that each comparison can have",
}


def _calibration_fact(name: str, value: float) -> tuple[str, str]:
    """Return a figure of the calibration in words, by the unit that its name ends in."""
    words = _CALIBRATION.get(name, f"calibration: {name.replace('_', ' ')}")
    if name.endswith("_s"):
        return words, format_duration(value)
    if name.endswith("_sd"):
        return words, f"±{format_percent(value)}"
    if name == "detectable_ratio":
        return words, f"from about {format_change(value)} on"
    return words, f"{ratio_text(value, decimals=3)} ×" if name.endswith("_ratio") else f"{value:g}"


def _cores(cpus: tuple[int, ...]) -> str:
    return " ".join(str(cpu) for cpu in cpus) or "any"
