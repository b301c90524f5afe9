"""`[[method.phases]]` of a study file: what each turn goes through."""

from collections.abc import Callable

from httpdyno.errors import StudyFileError, UsageError
from httpdyno.model.arrival import Constant, Poisson, Replay, Sessions
from httpdyno.model.study import Method, Phase, SideCommand
from httpdyno.model.workload import Workload
from httpdyno.study.table import MethodTable, PhaseTable
from httpdyno.units import rate_per_s

Duration = Callable[[str, str], float]
Wrong = Callable[[str, object, str], StudyFileError]


def phases_from(table: MethodTable, duration: Duration, wrong: Wrong) -> tuple[Phase, ...]:
    """Return the phases of a study.

    Raises:
        StudyFileError: Something in them makes no sense, or none of them decides.
    """
    names = [phase.name for phase in table.phases]
    if table.decides and table.decides not in names:
        raise wrong("method.decides", table.decides, ", ".join(names) or "nothing, without phases")
    found = []
    for index, phase in enumerate(table.phases):
        key = f"method.phases[{index}]"
        if not phase.name or names.index(phase.name) != index:
            raise wrong(f"{key}.name", phase.name, "a word of its own")
        if phase.run and not phase.run[0]:
            raise wrong(f"{key}.run", list(phase.run), "a program first")
        if phase.at is not None and not phase.run:
            raise wrong(f"{key}.at", phase.at, "a command (`run`) beside it")
        read = _phase(phase, key, duration, wrong)
        window, of = (phase.window, key) if phase.window else (table.window, "method")
        if read.at_s is not None and read.at_s >= duration(f"{of}.window", window):
            raise wrong(f"{key}.at", phase.at, f"less than {of}.window, {window}")
        found.append(read)
    return tuple(found)


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


def _phase(table: PhaseTable, key: str, duration: Duration, wrong: Wrong) -> Phase:
    command = None
    if table.run:
        timeout_s = duration(f"{key}.timeout", table.timeout)
        command = SideCommand(run=table.run, timeout_s=timeout_s)
    if table.requests is not None and table.requests < 1:
        raise wrong(f"{key}.requests", table.requests, "at least 1")
    return Phase(
        name=table.name,
        pause_s=0.0 if table.pause == "0s" else duration(f"{key}.pause", table.pause),
        command=command,
        at_s=None if table.at is None else duration(f"{key}.at", table.at),
        window_s=None if table.window is None else duration(f"{key}.window", table.window),
        n_requests=table.requests or 0,
        rate_per_s=None if table.rate is None else _rate(table.rate, f"{key}.rate", wrong),
    )


def _rate(text: str, key: str, wrong: Wrong) -> float:
    try:
        return rate_per_s(text)
    except UsageError as error:
        raise wrong(key, text, "a rate above zero, such as `500/s`") from error
