"""What is seen of a running program's arguments and environment, from outside.

Wrappers are why it is worth a look: `npm start` or a shell script may set a variable anew, or not
hand an argument on. So what counts are the processes that listen, not the one that was started.
Programs may write over their own arguments, so an argument that is not there proves nothing: the
knob then is unverified. A variable with another value is another value.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from httpdyno.model import Configuration, Effective, Level, ServerSpec, level_text
from httpdyno.reason import Reason, because
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.command.knob import VARIABLES
from httpdyno.servers.network.listening import Listening, listening
from httpdyno.servers.option_words import option
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.render import Variables, rendered_with_use
from httpdyno.servers.stack.adapter import Insight
from httpdyno.servers.stack.names import variable_of
from httpdyno.servers.staging import last_lines

SOURCE = (because("command.source"),)
WAY_OUT_HINT = "write `{port}` or `{address}` in the command, or have a cell: `--isolation cell`"
"""For a program that is told nowhere where to listen, outside of a cell."""
_CELL, _WALL = "cell", "wall"
_REFUSED = re.compile(r"EACCES|[Pp]ermission denied|[Ee]rrno 13\b|os error 13\b")
_NOT_RUN = frozenset({126, 127})
"""Exit codes of a program that could not be run at all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """One knob's way to a program."""

    arguments: tuple[str, ...] = ()
    """Arguments that it is in, as they were given."""
    environment: Mapping[str, str]
    """Variables that it is in, as they were given."""

    @property
    def is_nowhere(self) -> bool:
        """Whether it is in neither: a template or a command before the start may have it."""
        return not self.arguments and not self.environment


def reaches(spec: ServerSpec, variables: Variables) -> dict[str, Reach]:
    """Return for each knob where it went.

    Args:
        spec: The target.
        variables: Of one start.

    Raises:
        AdapterError: An argument or a variable cannot be rendered.
    """
    arguments: dict[str, list[str]] = {name: [] for name in variables.knobs}
    environment: dict[str, dict[str, str]] = {name: {} for name in variables.knobs}
    for part in spec.command:
        text, used = rendered_with_use(part, variables, "command")
        for name in used:
            arguments[name].append(text)
    for variable, value in spec.environment.items():
        text, used = rendered_with_use(value, variables, f"environment.{variable}")
        for name in used:
            environment[name][variable] = text
    return {
        name: Reach(arguments=tuple(arguments[name]), environment=environment[name])
        for name in variables.knobs
    }


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
    return Effective(values=values, asked=dict(values), sources=SOURCE if values else ())


def _contradiction(name: str, reach: Reach, process: ProcessTexts) -> Reason | None:
    for variable, text in reach.environment.items():
        found = process.environment.get(variable)
        if found is not None and found != text:
            return because(
                "servers.set_anew",
                variable=variable,
                found=repr(found),
                pid=process.pid,
                text=repr(text),
                name=name,
            )
    return None


def _has(reach: Reach, process: ProcessTexts) -> bool:
    return all(argument in process.arguments for argument in reach.arguments) and all(
        variable in process.environment for variable in reach.environment
    )


def _fields(file: Path) -> list[str]:
    return [os.fsdecode(field) for field in file.read_bytes().split(b"\0")][:-1]


class MadeInsight(Insight):
    """What is seen of a program of a study, which says nothing of itself."""

    def __init__(
        self, process: ServerProcess, variables: Variables, reaches: Mapping[str, Reach]
    ) -> None:
        self._process = process
        self._variables = variables
        self._reaches = reaches

    def words(self) -> str:
        """Return the end of its log."""
        return last_lines(self._process.last_words())

    def refusal(self, exit_code: int | None, words: str) -> bool:
        """Whether it ended in order before it was ready, and said why."""
        # Which code a program of anybody's ends with when it refuses its settings is not known; one
        # that ends in order before it was ready did so for a reason that its words may say.
        return exit_code is not None and exit_code > 0 and exit_code not in _NOT_RUN and bool(words)

    def lacking(self) -> Reason | None:
        """Return nothing: what is all of it nobody knows."""
        return None

    def effective(self) -> Effective | NotRunning:
        """Return what its listening processes were seen to have."""
        members = [process.pid for process in self._process.members()]
        port = f":{self._variables.port}"
        at_port = {each.pid for each in listening(members) if each.address.endswith(port)}
        found = [process_texts(pid) for pid in sorted(at_port)]
        texts = [each for each in found if each is not None]
        return seen(self._reaches, self._variables.knobs, texts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Where:
    """Where a copy is to listen."""

    kind: str
    """Of its seat."""
    address: str
    is_told: bool
    """Whether its command line says so; a port that stands in the code is said nowhere."""

    def complaint(self, words: str) -> Reason | None:
        """Return why a program does not listen that said this; None where nobody can know."""
        is_refused = self.kind == _WALL and _REFUSED.search(words)
        if self.kind == _CELL or (self.is_told and not is_refused):
            return None
        return because(
            "command.port_refused" if self.kind == _WALL else "command.port_not_told",
            hint=WAY_OUT_HINT,
        )


class CopyInsight(Insight):
    """What is seen of a copy from outside."""

    def __init__(self, process: ServerProcess, asked: Configuration, where: Where) -> None:
        self._process = process
        self._asked = asked
        self._where = where

    def words(self) -> str:
        """Return the end of its log."""
        return last_lines(self._process.last_words())

    def why(self, words: str) -> Reason | None:
        """Return why it may not listen."""
        if self._listening() or self._process.exit_code in _NOT_RUN:
            return None
        return self._where.complaint(words)

    def refusal(self, exit_code: int | None, words: str) -> bool:
        """Whether it ended in order before it was ready, and said why."""
        is_said = bool(words or self.why(words))
        return exit_code is not None and exit_code > 0 and exit_code not in _NOT_RUN and is_said

    def lacking(self) -> Reason | None:
        """Return that it does not listen, or not where it is to."""
        found = self._listening()
        if not found:
            return because("servers.does_not_listen")
        if self._where.kind == _CELL or not self._where.address or _is_at(self._where, found):
            return None
        there = sorted({each.address for each in found})
        return because("servers.listens_not_there", at=there, asked=self._where.address)

    def effective(self) -> Effective | NotRunning:
        """Return what its listening processes were seen to have."""
        found = [process_texts(pid) for pid in sorted({e.pid for e in self._listening()})]
        processes = [each for each in found if each is not None]
        values: dict[str, str] = {}
        asked: dict[str, str] = {}
        for name, level in self._asked.values.items():
            if not processes:
                continue
            wanted = level_text(level)
            variable = name if name in VARIABLES else variable_of(name)
            if variable:
                usual = _usual(name)
                said = {each.environment.get(variable, usual) for each in processes}
            else:
                said = {option(each.arguments, f"--{name}") for each in processes}
            if variable or said == {wanted}:
                values[name] = wanted if said == {wanted} else ", ".join(sorted(said))
                asked[name] = wanted
        return Effective(values=values, asked=asked, sources=SOURCE if asked else ())

    def _listening(self) -> list[Listening]:
        # Programs have unix sockets for purposes of their own, too.
        is_unix = self._where.address.startswith("unix:")
        return listening((each.pid for each in self._process.members()), with_unix=is_unix)


def _is_at(where: Where, found: Sequence[Listening]) -> bool:
    """Whether one of the sockets is the one that was to be."""
    host, _, port = where.address.rpartition(":")
    hosts = {host, "0.0.0.0", "[::]"}  # noqa: S104 - compared, not listened at
    return any(each.address in {f"{one}:{port}" for one in hosts} for each in found)


def _usual(variable: str) -> str:
    """Return what a variable stands for where it is not set."""
    info = VARIABLES.get(variable)
    return "" if info is None or info.default is None else level_text(info.default)
