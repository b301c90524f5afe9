"""`[[method.phases]]` of a study file: what each turn goes through."""

from collections.abc import Callable

from httpdyno.errors import StudyFileError
from httpdyno.model.study import Phase, SideCommand
from httpdyno.study.table import MethodTable, PhaseTable

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
    if table.phases and table.kind == "sweep":
        raise wrong("method.kind", table.kind, "ladder, where there are phases")
    found = []
    for index, phase in enumerate(table.phases):
        key = f"method.phases[{index}]"
        if not phase.name or names.index(phase.name) != index:
            raise wrong(f"{key}.name", phase.name, "a word of its own")
        if phase.run and not phase.run[0]:
            raise wrong(f"{key}.run", list(phase.run), "a program first")
        if phase.at is not None and not phase.run:
            raise wrong(f"{key}.at", phase.at, "a command (`run`) beside it")
        read = _phase(phase, key, duration)
        if read.at_s is not None and read.at_s >= duration("method.window", table.window):
            raise wrong(f"{key}.at", phase.at, f"less than method.window, {table.window}")
        found.append(read)
    return tuple(found)


def _phase(table: PhaseTable, key: str, duration: Duration) -> Phase:
    command = None
    if table.run:
        timeout_s = duration(f"{key}.timeout", table.timeout)
        command = SideCommand(run=table.run, timeout_s=timeout_s)
    return Phase(
        name=table.name,
        pause_s=0.0 if table.pause == "0s" else duration(f"{key}.pause", table.pause),
        command=command,
        at_s=None if table.at is None else duration(f"{key}.at", table.at),
    )
