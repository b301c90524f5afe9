"""`[[method.phases]]` of a study file: what each turn goes through."""

from collections.abc import Callable

from httpdyno.errors import StudyFileError
from httpdyno.model.arrival import Constant, Poisson, Replay, Sessions
from httpdyno.model.study import Method
from httpdyno.model.workload import Workload
from httpdyno.units import duration_text

Wrong = Callable[[str, object, str], StudyFileError]


def check_turn(method: Method, wrong: Wrong) -> None:
    """Refuse phases that make no sense, or of which none decides.

    Raises:
        StudyFileError: With the key.
    """
    names = [phase.name for phase in method.phases]
    if method.decides and method.decides not in names:
        raise wrong("method.decides", method.decides, ", ".join(names) or "nothing, without phases")
    for index, phase in enumerate(method.phases):
        key = f"method.phases[{index}]"
        if not phase.name or names.index(phase.name) != index:
            raise wrong(f"{key}.name", phase.name, "a word of its own")
        if phase.run and not phase.run[0]:
            raise wrong(f"{key}.run", list(phase.run), "a program first")
        if phase.at_s is None:
            continue
        at = duration_text(phase.at_s)
        if not phase.run:
            raise wrong(f"{key}.at", at, "a command (`run`) beside it")
        window_s = method.window_of(phase)
        if phase.at_s >= window_s:
            of = "method" if phase.window_s is None else key
            raise wrong(f"{key}.at", at, f"less than {of}.window, {duration_text(window_s)}")


def check_phases(method: Method, workload: Workload, wrong: Wrong) -> None:
    """Refuse what phases ask of a load that has no such thing.

    Raises:
        StudyFileError: With what there would have to be.
    """
    for index, phase in enumerate(method.phases):
        key = f"method.phases[{index}]"
        has_rate = isinstance(workload.arrival, Constant | Poisson)
        if phase.rate_per_s is not None and not has_rate:
            raise wrong(f"{key}.rate", f"{phase.rate_per_s:g}/s", "none without workload.rate")
        if phase.n_requests and isinstance(workload.arrival, Sessions | Replay):
            expected = "none where users come for visits, or a log is replayed"
            raise wrong(f"{key}.requests", phase.n_requests, expected)
