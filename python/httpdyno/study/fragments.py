"""`[fragments]` of a study file: code that a program repeats, in place of a server."""

from pathlib import Path

from msgspec import structs

from httpdyno.errors import StudyFileError
from httpdyno.host.foreign_files import is_there
from httpdyno.load.setting import WorkloadTable
from httpdyno.metrics.table import CALL_METRIC
from httpdyno.model import Fragments, Method, Objective, ServerSpec, Study, level_text
from httpdyno.study.complaint import Wrong
from httpdyno.study.table import StudyFile

ADAPTER = "fragments"
"""What stands for the adapter of a server."""
KIND = "table"


def program_of(table: Fragments, folder: Path, wrong: Wrong) -> ServerSpec:
    """Return how the program is started, in a server's words.

    Raises:
        StudyFileError: Something in it makes no sense.
    """
    if not table.command or not table.command[0]:
        raise wrong("fragments.command", list(table.command), "a program first")
    if not _is_word(table.empty):
        raise wrong("fragments.empty", table.empty, "the name of a body: a word without spaces")
    for index, entry in enumerate(table.files):
        if not is_there(folder / entry.source):
            raise wrong(f"fragments.files[{index}].from", entry.source, f"a file in {folder}")
    return ServerSpec(
        adapter=ADAPTER,
        command=table.command,
        files=table.files,
        environment=table.environment,
        settings={"perl_modules": table.perl_modules} if table.perl_modules else {},
    )


def with_fragments(study: Study, typed: StudyFile, wrong: Wrong) -> Study:
    """Return a study about code as it is measured; it has no load.

    Raises:
        StudyFileError: It says what only a server has, or no knob names its bodies.
    """
    fragments = study.fragments
    if fragments is None:
        return study
    names = [knob.name for knob in study.knobs]
    if fragments.knob not in names:
        raise wrong("fragments.knob", fragments.knob, f"a knob: {', '.join(names)}")
    knob = study.knob(fragments.knob)
    for level in (knob.start, *knob.levels):
        if not _is_word(level_text(level)):
            raise wrong(f"knobs ({knob.name}).levels", level, "names of bodies, without spaces")
        if level == fragments.empty:
            raise wrong(
                f"knobs ({knob.name}).levels",
                level,
                "bodies with something in them: what the empty one takes is taken off",
            )
    if any(each.of == "load" for each in study.knobs):
        raise wrong("knobs", "load", "none of the load beside [fragments]")
    if typed.workload != WorkloadTable():
        raise wrong("workload", "workload", "none beside [fragments]: nothing is requested")
    if study.method.kind != KIND or study.method.phases:
        raise wrong("method.kind", study.method.kind, f"{KIND} without phases, beside [fragments]")
    objective = study.objective
    if objective.tie_breaker or objective.also:
        raise wrong("objective", "tie_breaker, also", f"{CALL_METRIC} alone, beside [fragments]")
    return structs.replace(study, method=_unloaded(study.method), objective=_alone(objective))


def _unloaded(method: Method) -> Method:
    """Return the method without what is for a load; the first batches are for warming up."""
    return structs.replace(method, warm_up_s=0.0, warm_up_requests=0, side_by_side=1)


def _alone(objective: Objective) -> Objective:
    """Return the objective with all of the risk for CPU time: wall time is told, not claimed."""
    return structs.replace(objective, second_metric="")


def _is_word(text: str) -> bool:
    return bool(text) and text.isprintable() and not any(each.isspace() for each in text)


def target_of(typed: StudyFile, file: Path) -> Fragments | None:
    """Return the table of a study about code; None where it is about a server.

    Raises:
        StudyFileError: It is about both.
    """
    table = typed.fragments
    others = [
        name
        for name in ("server", "site", "companions")
        if table is not None and getattr(typed, name)
    ]
    if others:
        raise StudyFileError(
            f"`{file}`: [{others[0]}] and [fragments] exclude each other",
            hint="[fragments] is about code that a program repeats, without any server",
        )
    return table
