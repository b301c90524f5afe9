"""Knobs of the load: whether the workload of a study can be set so."""

from httpdyno.errors import UsageError
from httpdyno.load.check import check_workload
from httpdyno.model import Configuration, Level, Replay, Study
from httpdyno.study.workload import Wrong


def check_load_knobs(study: Study, wrong: Wrong) -> None:
    """Refuse knobs of the load that set nothing in this workload, and levels that make none.

    Raises:
        StudyFileError: With the knob.
    """
    for index, knob in enumerate(study.knobs):
        if knob.of != "load":
            continue
        key = f"knobs[{index}] ({knob.name})"
        if isinstance(study.workload.arrival, Replay):
            raise wrong(f"{key}.of", "load", "server: requests of a log are sent as they stand")
        if knob.name == "path" and len(study.workload.requests) != 1:
            raise wrong(f"{key}.name", knob.name, "a workload of one request")
        for level in (knob.start, *knob.levels):
            try:
                check_workload(study.load_of(_with(study, knob.name, level)))
            except UsageError as error:
                raise wrong(f"{key}.levels", level, f"a workload that can be: {error}") from error


def _with(study: Study, name: str, level: Level) -> Configuration:
    return study.start_configuration().replaced(name, level)
