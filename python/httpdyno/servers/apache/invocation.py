"""How Apache is called for a member, to be asked or to serve."""

import os
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass

from httpdyno.errors import AdapterError
from httpdyno.host.runnable import own_program
from httpdyno.model import Member
from httpdyno.servers.apache.installation import MODULE_FOLDERS, find_binary
from httpdyno.servers.apache.variables import sourced_variables
from httpdyno.servers.apache.walk import Walked
from httpdyno.servers.apache.where import options, server_root
from httpdyno.servers.stack.adapter import Seat

INFO = "info_module"


@dataclass(frozen=True, kw_only=True, slots=True)
class Invocation:
    """Program, the arguments that say which configuration, and the environment."""

    program: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    can_dump: bool
    """Whether `mod_info` is there, which prints what is in force."""

    def serving(self) -> list[str]:
        """Return the command that serves in the foreground, and prints what it read."""
        dump = ("-D", "DUMP_CONFIG") if self.can_dump else ()
        return [self.program, *self.arguments, "-D", "FOREGROUND", *dump]

    def dumping(self) -> list[str]:
        """Return the command that prints all that is in force, and writes nothing.

        With `DUMP_RUN_CFG` it does not look for the files of keys, which only root may read.
        """
        wanted = ("DUMP_CONFIG", "DUMP_RUN_CFG", "DUMP_MODULES")
        return [self.program, *self.arguments, "-t", *(a for d in wanted for a in ("-D", d))]


def invocation(member: Member, seat: Seat, *, info: str | None) -> Invocation:
    """Return how a member's Apache is called in a seat.

    Args:
        member: Which one.
        seat: Where.
        info: The file of `mod_info` that is to be loaded; empty where the configuration loads it
            itself, None where there is none.

    Raises:
        AdapterError: It is not installed, or its variables cannot be read.
    """
    said = options(member.command[1:])
    root = member.prefix or said.prefix or server_root(member.main)
    # After their files, so that no `<IfModule mod_info.c>` of theirs comes to life.
    loads = ("-c", f"LoadModule {INFO} {info}") if info else ()
    # In a wall the copy's files are elsewhere; what they start from is not. Before there is a copy
    # the server is only asked, which writes nothing.
    own = seat.path(member.main)
    main = own if os.path.isfile(own) else member.main  # noqa: PTH113
    return Invocation(
        program=program(member),
        arguments=("-d", root, "-f", main, *said.kept, *loads),
        environment=sourced_variables(member, seat),
        can_dump=info is not None,
    )


def program(member: Member) -> str:
    """Return the program that a member runs.

    Raises:
        NotOursError: Others than this user may write what is installed.
        AdapterError: It is not installed.
    """
    named = member.program or next(iter(member.command), "")
    if named.startswith("/"):
        return named
    binary = find_binary()
    if binary is None:
        raise AdapterError("Apache is not installed", hint="Run `apt-get install apache2`.")
    return own_program(binary)


def info_file(walk: Walked) -> str | None:
    """Return the file of `mod_info`, empty where it is loaded anyway; None: there is none."""
    if INFO in walk.modules:
        return ""
    folders = dict.fromkeys(posixpath.dirname(file) for file in walk.module_files)
    folders |= dict.fromkeys(MODULE_FOLDERS)
    candidates = (f"{folder}/mod_info.so" for folder in folders)
    return next((file for file in candidates if os.path.isfile(file)), None)  # noqa: PTH113
