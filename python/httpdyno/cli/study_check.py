"""`httpdyno study check`: does it run, what does it answer, and what will it cost?"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from httpdyno.catalog import open_study
from httpdyno.cli.console import messages, results
from httpdyno.cli.launch import enter_namespace_for, seed_or_new
from httpdyno.cli.option import DryRunOption, ForceOption, JsonOption, StudyArgument, TrustOption
from httpdyno.cli.output import Outputs
from httpdyno.cli.standard_streams import tell
from httpdyno.cli.trusted_study import open_to_run, runs_as, uses_json, uses_table
from httpdyno.errors import AdapterError
from httpdyno.experiment.answer.likeness import UnlikeRehearsalError, not_rehearsed
from httpdyno.experiment.decide.evidence import arm_summary
from httpdyno.experiment.decide.usable import arm_trouble
from httpdyno.experiment.decide.warning import tried_outside
from httpdyno.experiment.design.plan import make_plan
from httpdyno.experiment.design.smoke_test import (
    Answered,
    OneStart,
    one_start,
    rehearse,
    start_of_arms,
    start_of_two,
    whole_s,
)
from httpdyno.experiment.trial.budget import budget_for
from httpdyno.host.only_read import only_reading
from httpdyno.model import Plan, StartRecord, Study
from httpdyno.reason import Reason
from httpdyno.registry import load_target
from httpdyno.report.shared.message import error_text, joined, text, texts
from httpdyno.report.shared.phrase import plural
from httpdyno.report.study.arms import arms_table, calls_grid
from httpdyno.report.study.verdict import detail_text
from httpdyno.servers.limits.limit_group import LIMITS_HINT, limits_complaint
from httpdyno.servers.stack.stack import Stack
from httpdyno.study.uses import uses_of
from httpdyno.telemetry.syscalls.strace import can_trace
from httpdyno.units import format_bytes, format_duration, format_guess

EXAMPLE = """Example:

\b
  httpdyno study check bookmarks
"""

_EXIT_WRONG_ANSWERS = 1


def check(
    study: StudyArgument,
    *,
    dry_run: DryRunOption = False,
    trust: TrustOption = False,
    json: JsonOption = None,
    force: ForceOption = False,
) -> int:
    """Start a study's server once and send each request once.

    It reports each response, the start's duration and the budget to expect. It stores nothing.
    Exit code 1 if a response is wrong, or differs from an adopted server's smoke test.
    """
    outputs = Outputs(json=json, is_forced=force)
    outputs.check()
    if dry_run:
        return _check_nothing(open_study(study), outputs)
    opened = open_to_run(study, is_trusted=trust)
    enter_namespace_for(opened)
    adapter = load_target(opened)
    plan = make_plan(opened, seed=seed_or_new(None))
    missing = texts(adapter.missing(opened.server))
    if missing:
        raise AdapterError(f"study {opened.name} cannot run here: {joined(missing)}")
    if cannot := limits_complaint(limits for _, limits in opened.limits):
        raise AdapterError(
            f"study {opened.name} cannot run here", why=[cannot], hints=[LIMITS_HINT]
        )
    rehearse(plan, adapter)
    if opened.fragments is not None:
        return _check_code(plan, adapter, outputs)
    with messages().status("starting it once, and asking each request once"):
        found = one_start(adapter, opened)
    is_right = all(answer.is_right for answer in found.answers)
    record, unlike = None, None
    if is_right:
        with messages().status("one start of two of it side by side, with all of its windows"):
            try:
                record = start_of_two(adapter, opened, seed=plan.seed)
            except UnlikeRehearsalError as error:
                unlike = error
    if outputs.json is not None:
        outputs.write_json(_document(found, plan, record, unlike))
    if outputs.has_text:
        results().print(_sheet(found, plan, record, unlike))
    holds = is_right and unlike is None and not _under_load(record, opened)
    return 0 if holds else _EXIT_WRONG_ANSWERS


def _check_nothing(study: Study, outputs: Outputs) -> int:
    """Say what a check would start and ask, and what is known to be wrong; nothing is run."""
    with only_reading():
        notes = rehearse(make_plan(study, seed=seed_or_new(None)), load_target(study))
    uses, load = uses_of(study), study.load_of(study.start_configuration())
    asked = [f"{each.method} {each.path}" for each in load.asked]
    if outputs.json is not None:
        document = {"study": study.name, "runs": uses_json(uses), "asks": asked}
        outputs.write_json({**document, "notes": texts(notes)})
    if outputs.has_text:
        results().print(Text.assemble(*runs_as()), uses_table(uses), sep="\n")
        if study.fragments is None:
            results().print(Text(f"asked once each: {', '.join(asked)}"))
        tell(*texts(notes))
    return 0


def _check_code(plan: Plan, adapter: Stack, outputs: Outputs) -> int:
    """Have each body called in one process, and say what a call takes, or what is wrong."""
    study, start = plan.study, plan.study.start_configuration()
    steps = [start.with_values(step.values) for step in plan.steps]
    with messages().status("one process that calls each body, with all of its batches"):
        record = start_of_arms(adapter, study, (start, *steps), seed=plan.seed)
    bodies = [
        (arm.label(), arm_summary([record], number, arm))
        for number, arm in enumerate((start, *steps))
    ]
    failed = [f"{name}: {detail_text(arm)}" for name, arm in bodies if arm.status != "complete"]
    if outputs.json is not None:
        document = {
            "study": study.name,
            "program": adapter.version(study.server, Path(study.folder)),
            "bodies": [
                {
                    "configuration": arm.configuration.values,
                    "status": arm.status,
                    "detail": detail_text(arm),
                    "calls": msgspec.to_builtins(arm.calls),
                }
                for _, arm in bodies
            ],
            "budget_s": study.budget_s,
        }
        outputs.write_json(document)
    if outputs.has_text:
        pair = None
        if not failed:
            with messages().status("one start of two of them"):
                pair = start_of_two(adapter, study, seed=plan.seed)
        lines = [Text(each, "red") for each in failed]
        costs = [] if pair is None else [Text(), *_costs(plan, pair)]
        results().print(Group(arms_table(calls_grid(bodies)), *lines, *costs))
    return _EXIT_WRONG_ANSWERS if failed else 0


def _document(
    found: OneStart, plan: Plan, record: StartRecord | None, unlike: UnlikeRehearsalError | None
) -> dict[str, object]:
    return {
        "study": plan.study.name,
        "server": found.version,
        "ready_s": found.ready_s,
        "prepare_s": found.prepare_s,
        "answers": [_answer_json(answer) for answer in found.answers],
        "n_left_out": found.n_left_out,
        "effective": found.effective.values,
        "unverified": list(found.effective.unverified),
        "under_load": _under_load(record, plan.study),
        "start_s": record and record.duration_s,
        "whole_s": record and whole_s(plan, record, can_count=can_trace()),
        "budget_s": plan.study.budget_s,
        "uncompared": texts(record.uncompared) if record else [],
        "varied": texts(record.varied) if record else [],
        "tried": list(texts(_tried(found, record))),
        "unlike_rehearsal": error_text(unlike) if unlike else "",
        "not_rehearsed": text(why) if (why := not_rehearsed(plan.study)) else "",
    }


def _answer_json(answer: Answered) -> dict[str, Any]:
    own = {"expected": text(answer.expected), "words": text(answer.why) if answer.why else ""}
    return {**asdict(answer), **own}


def _sheet(
    found: OneStart, plan: Plan, record: StartRecord | None, unlike: UnlikeRehearsalError | None
) -> RenderableType:
    study = plan.study
    parts: list[RenderableType] = [
        Text.assemble((study.name, "bold"), f": {found.version}"),
        Text(_ready(found)),
        Text(),
        _answers(found.answers),
    ]
    if found.n_left_out:
        parts.append(Text(f"{found.n_left_out:,} more requests of the log were not asked"))
    if tried := _tried(found, record):
        parts += [
            Text(),
            Text(text(tried_outside(tried)), "yellow"),
            Text("to measure that too, allow it in the study: `[[site.doors]]`"),
        ]
    unverified = found.effective.unverified
    if unverified:
        parts += [
            Text(),
            Text.assemble(
                ("not read back: ", "yellow"),
                f"{', '.join(unverified)}; an `effective_path` would say that they are in force",
            ),
        ]
    if unlike is not None:
        return Group(*parts, Text(), Text(error_text(unlike), "red"), Text(unlike.hint))
    if why := not_rehearsed(study):
        parts += [Text(), Text(text(why), "yellow")]
    wrong = sum(not answer.is_right for answer in found.answers)
    if record is None:
        say = f"{plural(wrong, 'answer')} of {len(found.answers)} not as expected"
        parts += [Text(), Text(f"{say}: correct the requests, or what answers them")]
        return Group(*parts)
    return Group(*parts, *_unlike(record), Text(), *_costs(plan, record))


def _tried(found: OneStart, record: StartRecord | None) -> tuple[str | Reason, ...]:
    return tuple(dict.fromkeys((*found.tried, *(record.tried if record else ()))))


def _ready(found: OneStart) -> str:
    said = f"ready after {format_duration(found.ready_s)}"
    if not found.prepare_s:
        return said
    return f"{said}, {format_duration(found.prepare_s)} of which its `prepare` took"


def _answers(answers: tuple[Answered, ...]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    for name in ("status", "time", "size"):
        table.add_column(name, justify="right")
    table.add_column("request", overflow="fold")
    for answer in answers:
        words = answer.request
        if not answer.is_right:
            why = f"{text(answer.why)}; " if answer.why else ""
            words += f"\n{why}expected {text(answer.expected)}"
        table.add_row(
            Text(str(answer.status or "none"), "green" if answer.is_right else "red"),
            format_duration(answer.duration_s),
            format_bytes(answer.n_bytes),
            Text(words),
        )
    return table


def _unlike(record: StartRecord) -> list[RenderableType]:
    """Return what is answered otherwise each time, and the way out where that is too much."""
    lines: list[RenderableType] = (
        [Text(), *map(Text, texts(record.varied))] if record.varied else []
    )
    if record.uncompared:
        lines += [
            Text(),
            *(Text(each, "yellow") for each in texts(record.uncompared)),
            Text(
                "other answers there are not noticed; name what may differ, and the rest is "
                'compared: `may_differ = ["PATTERN"]` in [workload]'
            ),
        ]
    return lines


def _under_load(record: StartRecord | None, study: Study) -> str:
    """Return why a run would not take such a start; empty where it would."""
    arms = range(len(record.statuses)) if record else ()
    troubles = (arm_trouble(record, arm, study) for arm in arms if record is not None)
    return next((text(trouble) for trouble in troubles if trouble is not None), "")


def _costs(plan: Plan, record: StartRecord) -> list[RenderableType]:
    study = plan.study
    if failed := _under_load(record, study):
        return [Text(f"under load it did not hold: {failed}", "red")]
    least_s, most_s = whole_s(plan, record, can_count=can_trace())
    start = format_duration(record.duration_s)
    what = {
        "sweep": "levels and the final claim",
        "factorial": "knobs in all combinations and the final claim",
        "table": "rows",
    }.get(study.method.kind, "steps and the final claim")
    between = f"{format_guess(least_s)} to {format_guess(most_s)}"
    about = format_guess(most_s) if least_s == most_s else between
    lines: list[RenderableType] = [
        Text(f"a start of two, with all of its windows, takes {start}"),
        Text(
            f"{study.method.min_starts} starts each, the fewest, for {len(plan.steps)} {what} "
            f"take about {about}; more where those do not decide"
        ),
    ]
    if study.is_until_decided:
        return lines
    enough = f"is too short for that: `--budget {budget_for(most_s)}` is enough"
    if study.budget_s >= least_s:
        enough = "is enough for that" if study.budget_s >= most_s else "may be enough for that"
    return [*lines, Text(f"the study's budget of {format_duration(study.budget_s)} {enough}")]
