"""What the dyno sheet shows, as plain values for its template; no markup of its own."""

from typing import Any

from httpdyno.model import ArmSummary, Comparison, LadderStep, Outcome, level_text
from httpdyno.report import chart
from httpdyno.report.effective import effective_table, limit_text
from httpdyno.report.figure import (
    Drawn,
    cost_figure,
    latency_figure,
    latency_text,
    main_figure,
    starts_figure,
)
from httpdyno.report.load.offer import offer_text
from httpdyno.report.phrase import (
    MORE_IS_BETTER,
    NAMES,
    NOTHING,
    arm_names,
    bounds_text,
    changes_title,
    confidence_text,
    configuration_changes,
    decider,
    deciding,
    evidence_text,
    final_label,
    headline,
    interval_ratio_text,
    method_sentences,
    metric_name,
    needed_text,
    of_objective,
    outcome_caveats,
    plural,
    proven_bound_text,
    ratio_bounds_text,
    ratio_key,
    ratio_text,
    so_far,
    step_name,
)
from httpdyno.units import format_bytes, format_duration, format_percent, format_rate


def sheet(outcome: Outcome, *, drawn: Drawn) -> dict[str, Any]:
    """Return the template's values."""
    arms = _arms(outcome)
    return {
        "outcome": outcome,
        "study": outcome.plan.study,
        "host": outcome.host,
        "subtitle": _subtitle(outcome),
        "hero": _hero(outcome),
        "tiles": _tiles(outcome.final),
        "main_figure": main_figure(outcome, drawn),
        "cost": cost_figure(outcome, drawn),
        "changes_title": _capital(changes_title(outcome)),
        "changes": _changes(outcome),
        "diff": diff_lines(outcome.overlay_diff),
        "before_after_title": "a and b side by side"
        if _is_compare(outcome)
        else "Before and after",
        "latency": latency_figure(arms, drawn),
        "starts": starts_figure(arms, drawn),
        "evidence_title": "Every step's evidence" if outcome.steps else "The evidence",
        "steps": _evidence(outcome, drawn),
        "skipped": _skipped(outcome),
        "caveats": outcome_caveats(outcome),
        "method": method_sentences(outcome),
        "provenance": _provenance(outcome),
        "effective": effective_table(outcome),
    }


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_compare(outcome: Outcome) -> bool:
    return outcome.plan.command == "compare"


def _arms(outcome: Outcome) -> list[tuple[str, ArmSummary]]:
    if outcome.final is None:
        return []
    return list(zip(arm_names(outcome), (outcome.final.a, outcome.final.b), strict=True))


def _subtitle(outcome: Outcome) -> str:
    study = outcome.plan.study
    server = outcome.host.server or study.server.adapter
    parts = [study.name, server, offer_text(study.workload)]
    return " · ".join(parts)


def _hero(outcome: Outcome) -> dict[str, Any]:
    if outcome.status != "failed":
        if outcome.sweep is not None:
            return _sweep_hero(outcome)
        interval = None if outcome.final is None else deciding(outcome.final)
        if outcome.final is not None and interval is not None:
            return _final_hero(outcome, outcome.final)
    figure, unit = _plain_figure(outcome)
    lines = [outcome.message] if outcome.message and outcome.status != "failed" else []
    return {
        "figure": figure,
        "unit": unit,
        "claim": headline(outcome),
        "verdict": "",
        "lines": lines,
    }


def _plain_figure(outcome: Outcome) -> tuple[str, str]:
    """Return the large figure of an outcome that rests on no final comparison."""
    if outcome.status == "failed":
        return "failed", ""
    n_kept = sum(step.kept for step in outcome.steps)
    return str(n_kept), f"of {plural(len(outcome.plan.steps), 'change')} kept"


def _final_hero(outcome: Outcome, final: Comparison) -> dict[str, Any]:
    interval = deciding(final)
    if interval is None:
        raise ValueError("a hero needs an interval")
    more_is_better = ratio_key(decider(final)) in MORE_IS_BETTER
    name = metric_name(decider(final))
    claim = f"{name}, b over a" if _is_compare(outcome) else f"the {name} of the start"
    lines = [f"interval {bounds_text(interval)}, {confidence_text(interval, final.n_starts)}"]
    if final.verdict == "better":
        bound = proven_bound_text(interval, more_is_better=more_is_better)
        side = "at least" if more_is_better else "at most"
        lines.insert(0, f"proven: {side} {bound} ×")
    else:
        lines.append("; ".join(text for text in (final.reason, needed_text(final)) if text))
    if final.decided_by:
        tied = f"{metric_name(final.metric)} {ratio_bounds_text(of_objective(final))}"
        lines.append(f"{tied}, so {name} decided")
    if outcome.plan.study.book_ratio is not None and not _is_compare(outcome):
        book = outcome.plan.study.book_figure
        lines.append(
            f"the book: {ratio_text(outcome.plan.study.book_ratio)} ×{f', {book}' if book else ''}"
        )
    return {
        "figure": interval_ratio_text(interval),
        "unit": "×",
        "claim": claim,
        "verdict": final.verdict,
        "lines": lines,
    }


def _sweep_hero(outcome: Outcome) -> dict[str, Any]:
    sweep = outcome.sweep
    if sweep is None or not sweep.points:
        return {"figure": "0", "unit": "levels", "claim": "", "verdict": "", "lines": []}
    lines = [f"rule: {sweep.rule}"]
    if outcome.final is not None:
        lines.append(
            f"{final_label(outcome)}: {outcome.final.verdict}, {evidence_text(outcome.final)}"
        )
    if outcome.plan.study.book_figure:
        lines.append(f"the book: {outcome.plan.study.book_figure}")
    return {
        "figure": level_text(sweep.knee),
        "unit": sweep.unit,
        "claim": headline(outcome),
        "verdict": "",
        "lines": lines,
    }


def _tiles(final: Comparison | None) -> list[dict[str, str]]:
    if final is None or final.b.throughput_per_s <= 0:
        return []
    a, b = final.a, final.b
    tiles = [
        ("throughput", format_rate(a.throughput_per_s), format_rate(b.throughput_per_s)),
        (
            "CPU per request",
            format_duration(a.cpu_s_per_request),
            format_duration(b.cpu_s_per_request),
        ),
        *(
            (f"{name} latency", latency_text(a, name), latency_text(b, name))
            for name in ("p50", _tail(a, b))
        ),
        ("memory", _memory(a), _memory(b)),
        ("errors", format_percent(a.error_ratio), format_percent(b.error_ratio)),
    ]
    return [{"name": name, "before": before, "after": after} for name, before, after in tiles]


def _tail(a: ArmSummary, b: ArmSummary) -> str:
    """Return the furthest percentile that both samples carry."""
    return next(
        (name for name in ("p99", "p90") if name in a.latency_s.keys() & b.latency_s.keys()), "max"
    )


def _memory(arm: ArmSummary) -> str:
    return NOTHING if arm.pss_bytes is None else format_bytes(arm.pss_bytes)


def _changes(outcome: Outcome) -> dict[str, Any] | None:
    changes = configuration_changes(outcome)
    if not changes:
        return None
    titles = {knob.name: knob.title or knob.why for knob in outcome.plan.study.knobs}
    head = ["knob", *(("a", "b") if _is_compare(outcome) else ("from", "to")), "what it is"]
    rows = [[name, before, after, titles.get(name, "")] for name, before, after in changes]
    return {"head": head, "rows": rows, "text_columns": len(head)}


def diff_lines(diff: str) -> list[tuple[str, str]]:
    """Return a unified diff's lines, each with what it is: meta, add, del or same."""
    return [(_diff_kind(line), line) for line in diff.splitlines()]


def _diff_kind(line: str) -> str:
    if line.startswith(("+++", "---", "@@")):
        return "meta"
    return {"+": "add", "-": "del"}.get(line[:1], "same")


def _evidence(outcome: Outcome, drawn: Drawn) -> list[dict[str, Any]]:
    margin_ratio = outcome.plan.study.objective.margin_ratio
    cards = [_step_card(step, drawn, margin_ratio=margin_ratio) for step in outcome.steps]
    if outcome.final is not None:
        is_ladder = not _is_compare(outcome) and outcome.sweep is None
        line = "all kept changes together" if is_ladder else "two configurations"
        cards.append(
            {
                "knob": final_label(outcome),
                "title": "",
                "before": line,
                "after": "",
                **_card(outcome.final, drawn, margin_ratio=margin_ratio),
            }
        )
    return cards


def _step_card(step: LadderStep, drawn: Drawn, *, margin_ratio: float) -> dict[str, Any]:
    return {
        "knob": step_name(step),
        "title": step.title,
        "before": level_text(step.before),
        "after": level_text(step.after),
        **_card(
            step.comparison,
            drawn,
            margin_ratio=margin_ratio,
            kept=step.kept,
            book_ratio=step.book_ratio,
        ),
    }


def _card(
    comparison: Comparison,
    drawn: Drawn,
    *,
    margin_ratio: float,
    kept: bool | None = None,
    book_ratio: float | None = None,
) -> dict[str, Any]:
    interval, key = of_objective(comparison), ratio_key(comparison.metric)
    name = "" if comparison.decided_by else f"{metric_name(comparison.metric)} "
    detail = comparison.b.detail if comparison.b.status != "complete" else ""
    sentence = "; ".join(
        text
        for text in (
            f"{name}{evidence_text(comparison)}",
            comparison.reason,
            needed_text(comparison),
            {True: "kept", False: "not kept", None: ""}[kept],
            detail,
        )
        if text
    )
    facts = [
        (NAMES[name], f"{interval_ratio_text(comparison.ratios[name])} ×")
        for name in ("throughput", "cpu_per_request", "latency_p50", "latency_p99")
        if name in comparison.ratios and name != key
    ]
    if book_ratio is not None:
        facts.append(("the book", f"{ratio_text(book_ratio)} ×"))
    if "between_starts" in comparison.noise:
        facts.append(("noise of a start", f"±{comparison.noise['between_starts'] * 100:.1f} %"))
    return {
        "verdict": comparison.verdict,
        "svg": drawn(chart.strip_svg(comparison, margin_ratio)) if interval else "",
        "drawn": f"drawn: {metric_name(comparison.metric)}" if comparison.decided_by else "",
        "sentence": sentence,
        "facts": facts,
    }


def _skipped(outcome: Outcome) -> list[dict[str, str]]:
    return [
        {
            "verdict": step.comparison.verdict,
            "change": step.change,
            "why": "; ".join(
                text
                for text in (
                    evidence_text(step.comparison),
                    step.comparison.reason,
                    needed_text(step.comparison),
                )
                if text
            ),
        }
        for step in outcome.steps
        if not step.kept
    ]


def _provenance(outcome: Outcome) -> list[tuple[str, str]]:
    host, study = outcome.host, outcome.plan.study
    facts = [
        ("study", f"{study.name}, {study.method.kind}, {outcome.status}"),
        ("began", outcome.began_at),
        ("took", f"{format_duration(outcome.duration_s)} of {format_duration(study.budget_s)}"),
        ("seed", str(outcome.plan.seed)),
        ("httpdyno", f"{host.httpdyno}, Python {host.python}"),
        ("server", host.server or study.server.adapter),
        ("kernel", host.kernel),
        ("CPU", f"{host.cpu}, {plural(host.n_cpus, 'core')}"),
        ("memory", format_bytes(host.memory_bytes)),
        ("load average before", " ".join(f"{load:.2f}" for load in host.load_average)),
        ("client on cores", _cores(host.client_cpus)),
        ("server on cores", _cores(host.server_cpus)),
        ("workload", offer_text(study.workload)),
        ("requests", ", ".join(f"{r.method} {r.path}" for r in study.workload.requests)),
    ]
    facts += [(name.replace("_", " "), f"{value:,}") for name, value in host.limits.items()]
    facts += [_calibration_fact(name, value) for name, value in outcome.calibration.items()]
    limit = limit_text(outcome)
    if limit:
        facts.append(("who was the limit", limit))
    if outcome.final is None and outcome.steps:
        facts.append(("kept so far", so_far(outcome)))
    return facts


def _calibration_fact(name: str, value: float) -> tuple[str, str]:
    """Return a figure of the calibration by the unit that its name ends in."""
    words = name.removeprefix("n_").removesuffix("_s").replace("_", " ")
    if name.endswith("_s"):
        return f"calibration: {words}", format_duration(value)
    return f"calibration: {words}", f"{value:.4g}"


def _cores(cpus: tuple[int, ...]) -> str:
    return " ".join(str(cpu) for cpu in cpus) or "any"
