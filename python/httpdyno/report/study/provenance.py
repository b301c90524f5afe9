"""Where a study's figures come from: machine, software, time, calibration."""

import math

from httpdyno.model import Outcome
from httpdyno.report.shared.machine_card import card_facts
from httpdyno.report.shared.phrase import plural
from httpdyno.report.study.calls_text import offered_text
from httpdyno.report.study.effective import limit_counts_text
from httpdyno.report.study.finding import so_far
from httpdyno.report.study.verdict_text import ratio_text
from httpdyno.units import format_bytes, format_change, format_duration, format_percent


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
    by = outcome.host.limited_by
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
