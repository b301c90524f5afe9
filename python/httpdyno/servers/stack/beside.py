"""A study's commands beside a site's members: for test data before a start, to clear away after it.

They run in the seat as members do, so they see and write what the copy does, reach what it reaches,
and what they wrote is gone with it. Values of a member's environment are read for each, as for the
member, and stand nowhere.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from msgspec import structs

from httpdyno.errors import AdapterError
from httpdyno.host.rights import is_root_of_the_machine
from httpdyno.host.runnable import account
from httpdyno.model import Level, Member, ServerSpec, SideCommand, Site
from httpdyno.servers.adapter import NotRunning, Place
from httpdyno.servers.render import (
    RUN_PLACEHOLDER,
    SHARED_PLACEHOLDER,
    Variables,
    is_shared,
    render_argument,
    rendered_commands,
)
from httpdyno.servers.run.folder import held_own, let_through, make_copy_folders
from httpdyno.servers.sandbox.sandbox import OpenSandbox
from httpdyno.servers.stack.environment import member_environment, own_user
from httpdyno.servers.staging import failure, trouble
from httpdyno.servers.systemd import folders_of, sockets_of

OWN = "own"
"""The folder of a copy's place that `{run}` names."""
_MAKE_S = 10.0


class Beside:
    """The commands of one copy, in its seat."""

    def __init__(
        self, spec: ServerSpec, site: Site, seat: OpenSandbox, place: Place, variables: Variables
    ) -> None:
        self._spec = spec
        self._members = {member.name: member for member in site.members}
        self._last = site.members[-1]
        self._seat = seat
        self._place = place
        self._variables = variables
        self.prepare_s = 0.0
        """How long those before the load took."""

    @property
    def variables(self) -> Variables:
        """What commands and variables of the copy may name."""
        return self._variables

    def prepare(self, when: Literal["before", "up"]) -> NotRunning | None:
        """Run what is to run then; return what the first says that fails or hangs.

        Before all of it stand the folders that systemd makes for members' services.
        """
        if when == "before" and (wrong := self._make_folders()):
            return wrong
        for command in rendered_commands(self._spec, self._variables):
            if command.when != when:
                continue
            began_s = time.monotonic()
            wrong = self.run(command)
            self.prepare_s += time.monotonic() - began_s
            if wrong:
                return wrong
        return None

    def _make_folders(self) -> NotRunning | None:
        """Make what the units of members have made, where it is not there; in a cell alone."""
        if self._seat.kind != "cell":
            return None
        for member in self._members.values():
            for command in _of_unit(member, is_root=self._seat.is_root):
                process = self._seat.spawn(
                    command,
                    environment={"PATH": os.defpath},
                    folder="/",
                    user="",
                    log=self._place.folder / "prepare.log",
                )
                if wrong := trouble(process, command, _MAKE_S):
                    return wrong
        return None

    def finish(self) -> None:
        """Run what follows a start, all of it though one may fail; the members have ended.

        Raises:
            AdapterError: One failed or hung.
        """
        commands = rendered_commands(self._spec, self._variables, "finish")
        if wrong := failure([self.run(each, "finish.log") for each in commands]):
            raise AdapterError(
                "a command of site.finish failed",
                why=wrong,
                hint="what it was to clear away may still be there, behind a door",
            )

    def run(self, command: SideCommand, log: str = "prepare.log") -> NotRunning | None:
        """Run a command in the seat to its end; return what was wrong with it.

        Raises:
            NotOursError: It would run as root, and several others may write it.
        """
        member = self._members.get(command.member, self._last)
        # Whoever is not root of the machine can only be himself.
        user = (command.user or member.user) if self._seat.is_root else ""
        folder = command.folder or member.folder or "/"
        program, *arguments = command.run
        user = own_user(user, [program], arguments, folder=folder)
        # Another user's process has no say in what its variables are.
        member = structs.replace(member, user=user) if self._seat.is_root else member
        process = self._seat.spawn(
            command.run,
            environment=copy_environment(member, self._seat, self._place, self._variables),
            folder=folder,
            user=user,
            log=self._place.folder / log,
        )
        return trouble(process, command.run, command.timeout_s)


class SharedSide:
    """A copy without members, in which commands of a whole run are run."""

    table = "site"

    def __init__(self, beside: Beside, seat: OpenSandbox) -> None:
        self._beside = beside
        self._seat = seat

    @property
    def variables(self) -> Variables:
        """What they may name."""
        return self._beside.variables

    def run(self, command: SideCommand, log: str) -> NotRunning | None:
        """Run one to its end; return what was wrong with it."""
        return self._beside.run(command, log)

    def close(self) -> None:
        """Take the copy down; idempotent. Its folder stays, which other copies can read."""
        self._seat.close()


def copy_variables(
    spec: ServerSpec, site: Site, place: Place, knobs: Mapping[str, Level]
) -> Variables:
    """Return what commands and variables of a copy may name, and make the folder of its own.

    Raises:
        AdapterError: The folder cannot be made.
    """
    users = (site.members[-1].user, *(each.user for each in (*spec.before, *spec.finish)))
    make_copy_folders(place)
    own = _make_own(place, next(filter(None, users), ""))
    return _variables(knobs, str(own), str(place.shared or ""))


def shared_variables(spec: ServerSpec, site: Site, place: Place) -> Variables:
    """Return them for commands of a whole run: the folder of their copy's own is the shared one.

    Raises:
        AdapterError: The folder cannot be made.
    """
    found = copy_variables(spec, site, place, {})
    return replace(found, shared=found.run)


def shown_variables(spec: ServerSpec, knobs: Mapping[str, Level]) -> Variables:
    """Return the same for diffs, with words in the place of what differs from start to start."""
    return _variables(knobs, RUN_PLACEHOLDER, SHARED_PLACEHOLDER if is_shared(spec) else "")


def copy_environment(
    member: Member, seat: OpenSandbox, place: Place, variables: Variables
) -> dict[str, str]:
    """Return all that a member's copy starts with, but for what a knob sets."""
    own = member_environment(member, place, has_all=seat.kind == "cell")
    return {**own, **study_variables(member, variables)}


def study_variables(member: Member, variables: Variables) -> dict[str, str]:
    """Return the variables that the study has for a member."""
    return {
        name: render_argument(text, variables, source=f"environment.{name}")
        for name, text in member.environment.items()
    }


def _of_unit(member: Member, *, is_root: bool) -> Iterator[list[str]]:
    """Yield the commands that do what systemd does for a member before it starts."""
    paths: tuple[str, ...] = ()
    sockets: tuple[str, ...] = ()
    with suppress(AdapterError):  # it was taken away since
        paths = folders_of(member.unit) if member.unit else ()
        sockets = sockets_of(member.unit) if member.unit and member.user and is_root else ()
    owner = ["-o", member.user] if member.user and is_root else []
    for path in paths:
        if not os.path.isdir(path):  # noqa: PTH112
            yield ["/usr/bin/install", "-d", *owner, path]
    # A copy opens them itself, where only systemd may.
    of_sockets = (os.path.dirname(each) for each in sockets if each.startswith("unix:/"))  # noqa: PTH120
    for path in dict.fromkeys(each.removeprefix("unix:") for each in of_sockets):
        if os.path.isdir(path):  # noqa: PTH112
            yield ["/usr/bin/chmod", "o+wt", path]


def _variables(knobs: Mapping[str, Level], run: str, shared: str) -> Variables:
    # The others are refused when a study is read: a copy listens where theirs does.
    return Variables(
        knobs=knobs, settings={}, run=run, memory="", port="", server_user="", shared=shared
    )


def _make_own(place: Place, user: str) -> Path:
    try:
        with held_own(place.copy_folder, OWN) as folder:
            if user and is_root_of_the_machine():
                os.fchown(folder, *account(user)[:2])
                let_through(place.copy_folder, is_apart=True)
    except OSError as error:
        what = place.copy_folder / OWN
        raise AdapterError(f"`{what}` cannot be made: {error.strerror}") from error
    return place.copy_folder / OWN
