"""A study's outcome as one HTML file that needs no network and no script."""

import re
from collections.abc import Sequence
from typing import Any

from httpdyno.host.foreign_text import readable
from httpdyno.metrics import METRICS, named
from httpdyno.model import ArmSummary, Comparison, Outcome, level_text
from httpdyno.report.shared import message
from httpdyno.report.shared.interval import (
    bounds_text,
    confidence_text,
    interval_ratio_text,
    proven_bound_text,
    ratio_bounds_text,
    ratio_text,
)
from httpdyno.report.shared.message import joined
from httpdyno.report.shared.phrase import NOTHING, capital, plural
from httpdyno.report.shared.template import rendered
from httpdyno.report.shared.view import Grid
from httpdyno.report.study.arms import (
    HEAD,
    answers_table,
    figure_text,
    full_handshakes_text,
    header_line,
    header_name,
    header_sentences,
    latency_text,
    offered_text,
    rows_grid,
    tiles_of,
    unit_cells,
    words_text,
)
from httpdyno.report.study.factorial import factorial_page
from httpdyno.report.study.figure import (
    cost_figure,
    drawn_confidence,
    evidence,
    latency_figure,
    main_figure,
    skipped,
    starts_figure,
)
from httpdyno.report.study.finding import (
    arm_names,
    best_name,
    changes_title,
    configuration_changes,
    final_label,
    headline,
    n_tried,
    out_of_time_text,
    outcome_caveats,
    reference_name,
    row_name,
)
from httpdyno.report.study.json import outcome_json
from httpdyno.report.study.limit import (
    LOG_NOTE,
    LOG_TITLE,
    brief_limits,
    limit_rows,
    log_rows,
    looked_text,
    shown_rows,
)
from httpdyno.report.study.method import effective_table, method_sentences, provenance
from httpdyno.report.study.phases import age_grid, cut_short, phases_page
from httpdyno.report.study.sweep import pool_text
from httpdyno.report.study.verdict import (
    also_clauses,
    brief_clause,
    decider,
    deciding,
    detail_text,
    differing_clause,
    evidence_text,
    has_figure,
    needed_text,
    of_objective,
    second_clause,
    verdict_badge,
)
from httpdyno.units import format_count

# What the page shows, as plain values for its template; no markup of its own.

_STAND_INS = {
    "RUN": "the folder that each start had for itself",
    "MEMORY": "the folder in memory that each start had for itself",
    "PORT": "the port that it listened on",
}


def sheet(outcome: Outcome) -> dict[str, Any]:
    """Return the template's values."""
    arms = _arms(outcome)
    logged, more_logged = shown_rows(log_rows(outcome))
    is_code = outcome.plan.study.fragments is not None
    has_arms = outcome.final is not None and has_figure(outcome.final) and not is_code
    measured = arms if has_arms else []
    return {
        "outcome": outcome,
        "study": outcome.plan.study,
        "host": outcome.host,
        "subtitle": _subtitle(outcome),
        "hero": _hero(outcome),
        "tiles": _tiles(outcome.final),
        "main_figure": main_figure(outcome),
        "cost": cost_figure(outcome),
        "rows": rows_grid(outcome),
        "phases": phases_page(outcome),
        "ages": age_grid(outcome),
        "cut_short": cut_short(outcome),
        "factorial": factorial_page(outcome.factorial) if outcome.factorial else None,
        "changes_title": capital(changes_title(outcome)),
        "changes": _changes(outcome),
        "diff": diff_lines(outcome.overlay_diff),
        "stand_ins": stand_ins_text(outcome.overlay_diff),
        "before_after_title": "a and b side by side"
        if _is_compare(outcome)
        else "Before and after",
        "latency": latency_figure(measured),
        "starts": starts_figure(measured),
        "answers": answers_table(arms),
        "evidence_title": _evidence_title(outcome),
        "confidence": drawn_confidence(outcome),
        "dot": "process that called both" if is_code else "start of both servers side by side",
        "steps": evidence(outcome),
        "limits": limit_rows(outcome),
        "brief_limits": brief_limits(outcome),
        "looked": capital(looked_text(outcome)),
        "log_title": capital(LOG_TITLE),
        "log_note": capital(LOG_NOTE),
        "logged": logged,
        "more_logged": more_logged,
        "skipped": skipped(outcome),
        "caveats": outcome_caveats(outcome),
        "method": (*method_sentences(outcome), *header_sentences(outcome)),
        "provenance": provenance(outcome),
        "effective": effective_table(outcome),
    }


def _evidence_title(outcome: Outcome) -> str:
    if outcome.plan.reference is not None:
        return f"Every {row_name(outcome)}'s evidence"
    return "Every step's evidence" if outcome.steps else "The evidence"


def _is_compare(outcome: Outcome) -> bool:
    return outcome.plan.command == "compare"


def _arms(outcome: Outcome) -> list[tuple[str, ArmSummary]]:
    if outcome.final is None:
        return []
    return list(zip(arm_names(outcome), (outcome.final.a, outcome.final.b), strict=True))


def _subtitle(outcome: Outcome) -> str:
    study = outcome.plan.study
    server = outcome.host.server or study.server.adapter
    parts = [study.name, server, offered_text(study)]
    return " · ".join(parts)


def _hero(outcome: Outcome) -> dict[str, Any]:
    if outcome.status != "failed":
        if outcome.sweep is not None:
            return _sweep_hero(outcome)
        if outcome.final is not None:
            has_figure = deciding(outcome.final) is not None
            return (_final_hero if has_figure else _wordy_hero)(outcome, outcome.final)
    figure, unit = _plain_figure(outcome)
    lines = [joined(outcome.ended_by)] if outcome.ended_by and outcome.status != "failed" else []
    return {
        "figure": figure,
        "unit": unit,
        "claim": headline(outcome),
        "verdict": "",
        "badge": "",
        "lines": lines,
    }


def _plain_figure(outcome: Outcome) -> tuple[str, str]:
    """Return the large figure of an outcome that rests on no final comparison."""
    if outcome.status == "failed":
        return "failed", ""
    if outcome.factorial is not None:
        single = [each for each in outcome.factorial.effects if len(each.knobs) == 1]
        n_proven = sum(each.verdict in {"better", "worse"} for each in single)
        return str(n_proven), f"of {plural(len(single), 'effect')} proven"
    n_kept = sum(step.kept for step in outcome.steps)
    if outcome.plan.reference is not None:
        rows = plural(len(outcome.plan.steps), row_name(outcome))
        return str(n_kept), f"of {rows} better than {reference_name(outcome)}"
    planned = plural(len(outcome.plan.steps), "step")
    if outcome.not_tried:
        return str(n_tried(outcome)), f"of {planned} tried"
    return str(n_kept), f"of {planned} kept"


def _wordy_hero(outcome: Outcome, final: Comparison) -> dict[str, Any]:
    """Return a hero without a figure: the candidate failed, or nothing could be measured."""
    # The claim has the first line of a server's words, and the whole of a reason.
    detail = detail_text(final.b) if final.b.status != "complete" else ""
    return {
        "figure": verdict_badge(final),
        "unit": "",
        "claim": headline(outcome),
        "verdict": final.verdict,
        "badge": "",
        "lines": detail.splitlines()[1:],
    }


def _final_hero(outcome: Outcome, final: Comparison) -> dict[str, Any]:
    interval = deciding(final)
    if interval is None:
        raise ValueError("a hero needs an interval")
    more_is_better = named(decider(final)).is_more_better
    name = named(decider(final)).label
    claim = f"{name}, b over a" if _is_compare(outcome) else f"the {name} of the start"
    if outcome.withdrawn:
        claim = headline(outcome)
    lines = [f"interval {bounds_text(interval)}, {confidence_text(interval, final.n_starts)}"]
    if final.verdict == "better":
        bound = proven_bound_text(interval, more_is_better=more_is_better)
        side = "at least" if more_is_better else "at most"
        lines.insert(0, f"proven: {side} {bound} ×")
    else:
        lines.append(
            "; ".join(text for text in (joined(final.reasons), needed_text(final)) if text)
        )
    if outcome.status != "complete":
        lines.insert(0, joined(outcome.ended_by) or outcome.status)
    if final.decided_by:
        tied = f"{named(final.metric).label} {ratio_bounds_text(of_objective(final))}"
        lines.append(f"{tied}, so {name} decided")
    second = second_clause(final)
    if second and not (outcome.withdrawn and differing_clause(final)):
        lines.append(second)
    lines += also_clauses(final)
    if outcome.plan.study.book_ratio is not None and not _is_compare(outcome):
        book = outcome.plan.study.book_figure
        lines.append(
            f"published: {ratio_text(outcome.plan.study.book_ratio)} ×{f', {book}' if book else ''}"
        )
    if outcome.not_tried and not outcome.withdrawn:
        lines.append(out_of_time_text(outcome))
    return {
        "figure": interval_ratio_text(interval),
        "unit": "×",
        "claim": claim,
        "verdict": final.verdict,
        "badge": verdict_badge(final),
        "lines": lines,
    }


def _sweep_hero(outcome: Outcome) -> dict[str, Any]:
    sweep = outcome.sweep
    if sweep is None or not sweep.points:
        return {
            "figure": "0",
            "unit": "levels",
            "claim": "",
            "verdict": "",
            "badge": "",
            "lines": [],
        }
    lines = [f"rule: {message.text(sweep.rule)}"]
    if pool := pool_text(sweep):
        lines.append(pool)
    arms = [(level_text(point.level), point.arm) for point in sweep.points]
    if words := header_line(arms):
        lines.append(f"{header_name(arm for _, arm in arms)}: {words}")
    if outcome.final is not None:
        lines.append(
            f"{final_label(outcome)}: {verdict_badge(outcome.final)}, "
            f"{evidence_text(outcome.final)}{brief_clause(outcome.final)}"
        )
    if outcome.plan.study.book_figure:
        lines.append(f"published: {outcome.plan.study.book_figure}")
    return {
        "figure": level_text(sweep.knee),
        "unit": sweep.unit,
        "claim": headline(outcome),
        "verdict": "",
        "badge": "",
        "lines": lines,
    }


def _tiles(final: Comparison | None) -> list[dict[str, str]]:
    if final is None or not has_figure(final):
        return []
    a, b = final.a, final.b
    if a.calls is not None and b.calls is not None:
        return _named(tiles_of(a.calls, b.calls))
    if b.throughput_per_s <= 0:
        return []
    of = {name: (x, y) for name, x, y in zip(HEAD, unit_cells(a), unit_cells(b), strict=True)}
    tiles = [
        ("throughput", *of["throughput"]),
        ("CPU per request", *of["CPU/request"]),
        *(
            (f"{name} latency", latency_text(a, name), latency_text(b, name))
            for name in (_middle(a, b), _tail(a, b))
        ),
        ("memory", *of["memory"]),
        *_bytes_tile(a, b),
        *_count_tiles(a, b),
        *_handshakes_tile(a, b),
        *_calls_tile(a, b),
        *_header_tile(a, b),
        ("errors", *of["errors"]),
    ]
    return _named(tiles)


def _middle(a: ArmSummary, b: ArmSummary) -> str:
    """Return which latency most requests are known by: no median where one lies between kinds."""
    is_known = NOTHING not in {latency_text(a, "p50"), latency_text(b, "p50")}
    return "p50" if is_known or "mean" not in a.latency_s.keys() & b.latency_s.keys() else "mean"


def _named(tiles: Sequence[tuple[str, str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "before": before, "after": after} for name, before, after in tiles]


def _bytes_tile(a: ArmSummary, b: ArmSummary) -> list[tuple[str, str, str]]:
    """Return the bytes of a request, where they differ by what can be seen."""
    sizes = [figure_text(arm, "bytes_per_request") for arm in (a, b)]
    is_other = sizes[0] != sizes[1] and NOTHING not in sizes
    return [("bytes per request", sizes[0], sizes[1])] if is_other else []


def _count_tiles(a: ArmSummary, b: ArmSummary) -> list[tuple[str, str, str]]:
    """Return names looked up, and what else has a tile, where both servers have a count."""
    names = [each.name for each in METRICS if each.is_tile]
    both = {metric: (figure_text(a, metric), figure_text(b, metric)) for metric in names}
    return [(named(each).label, *told) for each, told in both.items() if NOTHING not in told]


def _handshakes_tile(a: ArmSummary, b: ArmSummary) -> list[tuple[str, str, str]]:
    """Return for how many of the requests a server signed, where there is TLS."""
    if not (a.connecting.has_tls or b.connecting.has_tls):
        return []
    return [("full handshakes of requests", full_handshakes_text(a), full_handshakes_text(b))]


def _calls_tile(a: ArmSummary, b: ArmSummary) -> list[tuple[str, str, str]]:
    """Return the system calls of a request, where each start counted them."""
    if a.system_calls is None or b.system_calls is None:
        return []
    before, after = a.system_calls.per_request, b.system_calls.per_request
    return [(named("calls_per_request").label, format_count(before), format_count(after))]


def _header_tile(a: ArmSummary, b: ArmSummary) -> list[tuple[str, str, str]]:
    """Return the words of a header in both sides' answers, where the study counts one."""
    name = header_name((a, b))
    return [(name, words_text(a.header_words), words_text(b.header_words))] if name else []


def _tail(a: ArmSummary, b: ArmSummary) -> str:
    """Return the furthest percentile that both samples carry."""
    return next(
        (name for name in ("p99", "p90") if name in a.latency_s.keys() & b.latency_s.keys()), "max"
    )


def _changes(outcome: Outcome) -> Grid | None:
    changes = configuration_changes(outcome)
    if not changes:
        return None
    titles = {knob.name: knob.title or knob.why for knob in outcome.plan.study.knobs}
    head = ["knob", *_arm_heads(outcome), "what it is"]
    rows = [[name, before, after, titles.get(name, "")] for name, before, after in changes]
    return Grid(head=head, rows=rows, text_columns=len(head))


def _arm_heads(outcome: Outcome) -> tuple[str, str]:
    if outcome.plan.reference is not None:
        return reference_name(outcome), best_name(outcome)
    return ("a", "b") if _is_compare(outcome) else ("from", "to")


def diff_lines(diff: str) -> list[tuple[str, str]]:
    """Return a unified diff's lines, each with what it is: meta, add, del or same."""
    return [(_diff_kind(line), line) for line in readable(diff).splitlines()]


def stand_ins_text(diff: str) -> str:
    """Return what the words in capitals stand for; empty where there are none."""
    words = [word for word in _STAND_INS if re.search(rf"\b{word}\b", diff)]
    return "; ".join(f"{word} stands for {_STAND_INS[word]}" for word in words)


def _diff_kind(line: str) -> str:
    if line.startswith(("+++", "---", "@@")):
        return "meta"
    return {"+": "add", "-": "del"}.get(line[:1], "same")


# The page: a study's outcome as one HTML file that needs no network and no script.


def outcome_html(outcome: Outcome) -> str:
    """Return the sheet as one self-contained file."""
    return rendered("study.html.j2", sheet(outcome), outcome_json(outcome), css=("page.css",))
