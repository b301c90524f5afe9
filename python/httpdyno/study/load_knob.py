"""Knobs of the load: whether the workload of a study can be set so."""

from collections.abc import Mapping

from httpdyno.errors import UsageError
from httpdyno.load.check import check_workload
from httpdyno.model import Level, Replay, Study
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
        if knob.name == "path" and len(study.workload.requests) != 1:
            raise wrong(f"{key}.name", knob.name, "a workload of one request")
        for level in (knob.start, *knob.levels):
            if words := _complaint(study, {knob.name: level}):
                raise wrong(f"{key}.levels", level, words)
    for index, candidate in enumerate(study.candidates):
        if of_load & candidate.values.keys() and (words := _complaint(study, candidate.values)):
            raise wrong(f"candidates[{index}] ({candidate.name}).set", candidate.values, words)


def _complaint(study: Study, values: Mapping[str, Level]) -> str:
    """Return what is expected of the load that these make; empty where it can be."""
    try:
        check_workload(study.load_of(study.start_configuration().with_values(values)))
    except UsageError as error:
        return f"a workload that can be: {error}"
    return ""
