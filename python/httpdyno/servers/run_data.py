"""What a study makes once for all starts of a run, such as a database that each start copies.

It lies in a folder of the run that all starts are told as `shared`. The commands know no knob and
no start: what they make is the same for all arms. The folder is for its owner only; a server that
answers as another user gets a copy of what is in there.
"""

from types import TracebackType
from typing import Self

from httpdyno.errors import AdapterError
from httpdyno.interruption import cleaning
from httpdyno.model import ServerSpec
from httpdyno.servers.adapter import Place
from httpdyno.servers.render import Variables, is_shared, rendered_commands
from httpdyno.servers.run_folder import RunRoot
from httpdyno.servers.staging import clean_environment, command_trouble, passed_environment


class RunData:
    """Made by `make`, once; use as a context manager, whose end runs what clears it away."""

    def __init__(self, spec: ServerSpec, root: RunRoot, *, cpus: tuple[int, ...] = ()) -> None:
        self._spec = spec
        self._root = root
        self._cpus = cpus
        self._place: Place | None = None

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
        if self._place is not None or not is_shared(self._spec):
            return False
        # Known from now on: what is broken off is cleared away too.
        self._place = place = self._root.new_place("shared", cpus=self._cpus)
        self._root.shared = place.folder
        for command in rendered_commands(self._spec, self._variables(place), each="run"):
            own = self._environment(place)
            wrong = command_trouble(command.run, command.timeout_s, place, own)
            if wrong is not None:
                raise AdapterError(
                    f"a command of server.prepare, which is run once, failed: {wrong.detail}",
                    hint="It is run in a folder of its own, which is empty, with nothing but "
                    "`pass_environment` of yours.",
                )
        return True

    def clear(self) -> None:
        """Run the commands after the last start, all of them; idempotent.

        Raises:
            AdapterError: One failed or hung.
        """
        place, self._place = self._place, None
        if place is None:
            return
        wrong = [
            command_trouble(
                command.run, command.timeout_s, place, self._environment(place), log="finish.log"
            )
            for command in rendered_commands(
                self._spec, self._variables(place), "finish", each="run"
            )
        ]
        if said := [each.detail for each in wrong if each is not None]:
            raise AdapterError(
                f"a command of server.finish, which is run once, failed: {said[0]}",
                hint="What it was to clear away may still be there.",
            )

    def _variables(self, place: Place) -> Variables:
        # What a start alone has was refused when the study was read.
        return Variables(
            knobs={},
            settings=self._spec.settings,
            run=str(place.folder),
            memory=str(place.memory_folder),
            port="",
            server_user="",
            shared=str(place.folder),
        )

    def _environment(self, place: Place) -> dict[str, str]:
        home = {"HOME": str(place.folder), "TMPDIR": str(place.memory_folder)}
        return {**clean_environment(), **home, **passed_environment(self._spec)}
