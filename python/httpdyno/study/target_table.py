"""The tables of a study file that say what is measured, where records have them otherwise.

As `study/table.py`: exactly as people write them, and checked in `study/file.py`.
"""

from typing import Literal

import msgspec

from httpdyno.model.base import Record
from httpdyno.model.study import FileEntry, ServerSpec


class CompanionTable(ServerSpec, frozen=True, kw_only=True):
    """`[[companions]]`: a further server of the study."""

    name: str
    """A word: what templates of servers that are begun later call it (`peer.NAME.address`), and
    what its knobs begin with (`NAME:SETTING`)."""
    side: Literal["behind", "front"] = "behind"
    """`behind` is begun before the server, which may name it; `front` after it, and may name the
    server as `peer.server`."""
    when: str = ""
    """Whether it is there: a template that says `true` or `false`; empty is always."""


class FragmentsTable(Record, frozen=True):
    """`[fragments]`: code that a program repeats inside one process, in place of `[server]`."""

    command: tuple[str, ...]
    """Program and arguments, run in a folder of its own for each start; `{run}`, `{python}` and
    `{knob.NAME}` as in `[server]`. It reads lines `NAME COUNT`, calls that body so many times, and
    answers each with a line `CPU_NS WALL_NS` of what that took by its own clocks, or `0 0`; any
    other line is a refusal. It ends with its input."""
    knob: str
    """The knob whose levels are the names of bodies; its start is what all others are compared
    with."""
    empty: str
    """The name of the body with nothing in it: what a pass of that takes is taken off every call.
    """
    files: tuple[FileEntry, ...] = ()
    """What is copied into its folder before each start."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables of the program, by name; `{knob.NAME}` puts a knob in."""
    perl_modules: str = ""
    """Perl modules that the bodies need, with spaces between them."""
