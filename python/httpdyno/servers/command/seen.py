"""What is seen of a running program's arguments and environment, from outside.

Wrappers are why it is worth a look: `npm start` or a shell script may set a variable anew, or not
hand an argument on. So what counts are the processes that listen, not the one that was started.
Programs may write over their own arguments, so an argument that is not there proves nothing: the
knob then is unverified. A variable with another value is another value.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from httpdyno.model import Effective, Level, level_text
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command.reach import Reach

SOURCE = "seen in its command line and environment"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessTexts:
    """What a process was started with."""

    pid: int
    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def process_texts(pid: int) -> ProcessTexts | None:
    """Return them; None where it has ended or is somebody else's."""
    try:
        arguments = _fields(Path(f"/proc/{pid}/cmdline"))
        variables = _fields(Path(f"/proc/{pid}/environ"))
    except OSError:
        return None
    pairs = (variable.partition("=") for variable in variables)
    return ProcessTexts(
        pid=pid,
        arguments=tuple(arguments),
        environment={name: value for name, _, value in pairs},
    )


def seen(
    reaches: Mapping[str, Reach], levels: Mapping[str, Level], processes: Sequence[ProcessTexts]
) -> Effective | NotRunning:
    """Return the knobs that all processes were seen to have; those not in there are unknown.

    Args:
        reaches: Where each knob went.
        levels: What was asked.
        processes: Those that listen.
    """
    values: dict[str, str] = {}
    for name, reach in reaches.items():
        for process in processes:
            if wrong := _contradiction(name, reach, process):
                return NotRunning(status="refused", detail=wrong)
        if processes and not reach.is_nowhere and all(_has(reach, each) for each in processes):
            values[name] = level_text(levels[name])
    return Effective(values=values, asked=dict(values), source=SOURCE if values else "")


def _contradiction(name: str, reach: Reach, process: ProcessTexts) -> str:
    for variable, text in reach.environment.items():
        found = process.environment.get(variable)
        if found is not None and found != text:
            return (
                f"{variable} is {found!r} in process {process.pid}, which listens, where {text!r} "
                f"was given for {name}: something between sets it anew"
            )
    return ""


def _has(reach: Reach, process: ProcessTexts) -> bool:
    return all(argument in process.arguments for argument in reach.arguments) and all(
        variable in process.environment for variable in reach.environment
    )


def _fields(file: Path) -> list[str]:
    return [os.fsdecode(field) for field in file.read_bytes().split(b"\0")][:-1]
