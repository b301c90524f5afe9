"""What a study makes once for all starts of a run, such as a database that each start copies.

It lies in a folder of the run that all starts are told as `shared`. The commands know no knob and
no start: what they make is the same for all arms. The folder is for its owner only; a server that
answers as another user gets a copy of what is in there. What belongs to a person's own site runs in
a seat, as all of it does.
"""

from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from httpdyno.errors import AdapterError
from httpdyno.host.interruption import cleaning
from httpdyno.model import ServerSpec, SideCommand
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.render import Variables, is_shared, rendered_commands
from httpdyno.servers.run.folder import RunRoot
from httpdyno.servers.staging import clean_environment, command_trouble, failure, passed_environment


class Side(Protocol):
    """Where commands of a whole run are run."""

    @property
    def table(self) -> str:
        """The table of the study that has them: `server`, or `site`."""

    @property
    def variables(self) -> Variables:
        """What they may name; `shared` is the folder that all starts are told."""

    def run(self, command: SideCommand, log: str) -> NotRunning | None:
        """Run one to its end; return what was wrong with it."""

    def close(self) -> None:
        """Give it up; idempotent. What was made stays."""


class OpensSide(Protocol):
    """A stack, which says where such commands run: those of a copy run in a seat."""

    def open_side(self, spec: ServerSpec, place: Place) -> Side:
        """Return where they run.

        Raises:
            AdapterError: It cannot be made.
        """


class RunData:
    """Made by `make`, once; use as a context manager, whose end runs what clears it away."""

    def __init__(
        self,
        spec: ServerSpec,
        root: RunRoot,
        *,
        cpus: tuple[int, ...] = (),
        adapter: OpensSide | None = None,
    ) -> None:
        self._spec = spec
        self._root = root
        self._cpus = cpus
        self._stack = adapter
        self._side: Side | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with cleaning():
            self.clear()

    def make(self) -> bool:
        """Run the commands before the first start; return whether there was anything to do.

        Raises:
            AdapterError: One failed or hung; says it in its words.
        """
        if self._side is not None or not is_shared(self._spec):
            return False
        place = self._root.new_place("shared", cpus=self._cpus)
        # Known from now on: what is broken off is cleared away too.
        self._side = side = self._opened(place)
        self._root.shared = Path(side.variables.shared)
        for command in rendered_commands(self._spec, side.variables, each="run"):
            wrong = side.run(command, "prepare.log")
            if wrong is not None:
                raise AdapterError(
                    f"a command of {side.table}.prepare, which is run once, failed",
                    why=[wrong.detail],
                    hint="It is run in a folder of its own, which is empty, with nothing but "
                    "`pass_environment` of yours."
                    if side.table == "server"
                    else "It writes in `{shared}`; all else that it writes is gone after it.",
                )
        return True

    def clear(self) -> None:
        """Run the commands after the last start, all of them; idempotent.

        Raises:
            AdapterError: One failed or hung.
        """
        side, self._side = self._side, None
        if side is None:
            return
        try:
            commands = rendered_commands(self._spec, side.variables, "finish", each="run")
            why = failure([side.run(command, "finish.log") for command in commands])
        finally:
            side.close()
        if why:
            raise AdapterError(
                f"a command of {side.table}.finish, which is run once, failed",
                why=why,
                hint="What it was to clear away may still be there.",
            )

    def _opened(self, place: Place) -> Side:
        if self._stack is None:
            return DataFolder(self._spec, place)
        return self._stack.open_side(self._spec, place)


class DataFolder:
    """The folder itself, with nothing around it."""

    table = "server"

    def __init__(self, spec: ServerSpec, place: Place) -> None:
        self._spec = spec
        self._place = place

    @property
    def variables(self) -> Variables:
        """What they may name: nothing that a start alone has."""
        # It was refused when the study was read.
        return Variables(
            knobs={},
            settings=self._spec.settings,
            run=str(self._place.folder),
            memory=str(self._place.memory_folder),
            port="",
            server_user="",
            shared=str(self._place.folder),
        )

    def run(self, command: SideCommand, log: str) -> NotRunning | None:
        """Run one to its end; return what was wrong with it."""
        place = self._place
        home = {"HOME": str(place.folder), "TMPDIR": str(place.memory_folder)}
        own = {**clean_environment(), **home, **passed_environment(self._spec)}
        return command_trouble(command.run, command.timeout_s, place, own, log=log)

    def close(self) -> None:
        """Nothing was opened."""
