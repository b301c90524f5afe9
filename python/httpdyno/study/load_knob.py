"""Knobs of the load: whether the workload of a study can be set so."""

from collections.abc import Mapping, Set

from httpdyno.errors import UsageError
from httpdyno.load.check import check_workload
from httpdyno.model import Configuration, Level, Replay, Study, Workload, level_text
from httpdyno.study.also import workload_for
from httpdyno.study.workload import Wrong


def check_load_knobs(study: Study, wrong: Wrong) -> None:
    """Refuse knobs of the load that set nothing in this workload, and levels that make none.

    Raises:
        StudyFileError: With the knob, or the candidate.
    """
    of_load = frozenset(knob.name for knob in study.knobs if knob.of == "load")
    for index, knob in enumerate(study.knobs):
        if knob.name not in of_load:
            continue
        key = f"knobs[{index}] ({knob.name})"
        if isinstance(study.workload.arrival, Replay):
            raise wrong(f"{key}.of", "load", "server: requests of a log are sent as they stand")
        if expected := _workload_of(knob.name, study.workload, of_load):
            raise wrong(f"{key}.name", knob.name, expected)
        for level in (knob.start, *knob.levels):
            if words := _complaint(study, {knob.name: level}):
                raise wrong(f"{key}.levels", level, words)
    for index, candidate in enumerate(study.candidates):
        if of_load & candidate.values.keys() and (words := _complaint(study, candidate.values)):
            raise wrong(f"candidates[{index}] ({candidate.name}).set", candidate.values, words)


def check_load(study: Study, configuration: Configuration) -> None:
    """Refuse a configuration with which there is no load, or none that shows what is claimed.

    Raises:
        UsageError: With the sentence that says what.
    """
    load = study.load_of(configuration)
    if load == study.workload:
        return
    check_workload(load)
    for metric in sorted(study.objective.named):
        if expected := workload_for(metric, load):
            raise UsageError(f"it has no {metric}, which takes {expected}")


def check_loads(study: Study) -> None:
    """Refuse a study of which a level, or a candidate, makes a load that shows nothing claimed.

    Its file is checked so for what the file claims; a command line may claim more.

    Raises:
        UsageError: With the first of them, and what it has no figure of.
    """
    of_load = frozenset(knob.name for knob in study.knobs if knob.of == "load")
    levels = [
        {knob.name: level}
        for knob in study.knobs
        if knob.name in of_load
        for level in (knob.start, *knob.levels)
    ]
    candidates = [each.values for each in study.candidates if of_load & each.values.keys()]
    for values in (*levels, *candidates):
        try:
            check_load(study, study.start_configuration().with_values(values))
        except UsageError as error:
            words = ", ".join(f"{name}={level_text(level)}" for name, level in values.items())
            raise UsageError(f"study {study.name} with {words}: {error}") from error


def _workload_of(name: str, workload: Workload, of_load: Set[str]) -> str:
    """Return in which workload a knob sets something; empty where it does in this one."""
    if name == "path" and len(workload.requests) != 1:
        return "a workload of one request"
    if name == "objects" and sum(bool(step.objects) for step in workload.steps) != 1:
        return "a workload of one page, a request with `objects`"
    if name == "slow_buffer" and workload.slow is None and "slow" not in of_load:
        return "a workload in which some are `slow`"
    return ""


def _complaint(study: Study, values: Mapping[str, Level]) -> str:
    """Return what is expected of the load that these make; empty where it can be."""
    try:
        check_load(study, study.start_configuration().with_values(values))
    except UsageError as error:
        return f"a workload that can be: {error}"
    return ""
