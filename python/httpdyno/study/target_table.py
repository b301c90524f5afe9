"""The tables of a study file that say what is measured: servers, a site, or code.

As `study/table.py`: exactly as people write them, and checked in `study/file.py`.
"""

from typing import Literal

import msgspec

from httpdyno.model.base import Level, Record
from httpdyno.model.server_limits import ServerLimits
from httpdyno.model.site import Door, Isolation, Member
from httpdyno.model.study import Template


class FileEntry(Record, frozen=True):
    """`[[server.files]]`: what is copied into the run folder."""

    from_: str = msgspec.field(name="from")
    """A file or folder: in the study's folder, or a whole path, such as of an installed package."""
    to: str
    """Where it goes: a path in the run folder; `{{ … }}` as in templates."""
    exclude: tuple[str, ...] = ()
    """Names of what is left out of a folder, at any depth, such as `node_modules` or `*.log`."""


class SideCommandTable(Record, frozen=True):
    """`[[server.prepare]]`, `[[server.finish]]`: a command beside the server."""

    run: tuple[str, ...]
    """Program and arguments, run in the run folder; placeholders as in `command`."""
    timeout: str = "20s"
    """As long it may take; then the start has failed."""
    each: Literal["start", "run"] = "start"
    """`run`: once for all starts of a run, in a folder that all of them know as `{shared}`; it uses
    no other placeholder but `{python}` and settings."""


class SiteCommandTable(SideCommandTable, frozen=True):
    """`[[site.prepare]]`, `[[site.finish]]`: a command that runs in the copy as a member does."""

    run: tuple[str, ...]
    """Program and arguments, an argument each; it sees and writes what the copy does. `{run}` is a
    folder of this copy's own, `{shared}` that of the run; `{knob.NAME}` as in `[server]`."""
    each: Literal["start", "run"] = "start"
    """`run`: once for all starts of a run, in a copy of its own, of which only `{shared}`, a
    folder, stays; all others can read it. It uses no other placeholder but `{python}`."""
    when: Literal["before", "up"] = "before"
    """`before` any member is started, or once all are `up`, for what asks them. Not of `finish`."""
    member: str = ""
    """Whose environment, user and folder it has; empty is the member behind all others."""
    folder: str = ""
    """Where it runs, where that is not the member's folder; a whole path."""
    user: str = ""
    """Whom it runs as, where that is not the member's user, such as `www-data`."""


class ServerTable(Record, frozen=True):
    """`[server]`."""

    adapter: str
    """The kind of server, such as `gunicorn`; `httpdyno knobs` lists them."""
    base: str = ""
    """The server's own base configuration: a file in the study's folder, rendered as a template."""
    command: tuple[str, ...] = ()
    """Of `adapter = "command"`: program and arguments, an argument each; `{port}`, `{address}`,
    `{run}`, `{memory}`, `{knob.NAME}` or `{{ … }}` as in templates."""
    folder: str = ""
    """Where it runs, in place; relative to the study's folder. Empty is the run folder."""
    stop: str = "TERM"
    """The signal that asks the command to end, without `SIG`."""
    ready: str = ""
    """How it is known that a command is ready: `GET /path 200`, `tcp` or `log PATTERN`."""
    ready_path: str = "/"
    """Answers below 500 once the server is ready."""
    ready_status: int | None = None
    """The status of that answer, where it must be one."""
    tls: bool = False
    """Whether its listener speaks TLS; the certificate that it shows is not checked."""
    effective_path: str = ""
    """Where the application says its own settings, as a JSON object; compared with the knobs."""
    prepare: tuple[str | SideCommandTable, ...] = ()
    """Run before each start, for test data: one command as a list, or tables for several."""
    finish: tuple[SideCommandTable, ...] = ()
    """Run after each start, once the server has ended."""
    writable: tuple[str, ...] = ()
    """Folders that the server's own user may write in, where that is not the caller."""
    files: tuple[FileEntry, ...] = ()
    """What is copied into the run folder before each start."""
    templates: tuple[Template, ...] = ()
    """Files rendered anew for each start; one that renders to nothing is not written."""
    settings: dict[str, Level] = msgspec.field(default_factory=dict)
    """Settings of the adapter that stay as they are throughout the study."""
    limits: ServerLimits = ServerLimits()
    """What all of its processes may take together, at most, enforced by the kernel: each start of
    each configuration has a control group of its own for it, and is not started without."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables of the server, by name; `{knob.NAME}` or `{{ knob.NAME }}` puts a knob in."""
    pass_environment: tuple[str, ...] = ()
    """Variables that it gets from the shell of httpdyno; their values are never stored."""


class CompanionTable(ServerTable, frozen=True, kw_only=True):
    """`[[companions]]`: a further server of the study."""

    name: str
    """A word: what templates of servers that are begun later call it (`peer.NAME.address`), and
    what its knobs begin with (`NAME:SETTING`)."""
    side: Literal["behind", "front"] = "behind"
    """`behind` is begun before the server, which may name it; `front` after it, and may name the
    server as `peer.server`."""
    when: str = ""
    """Whether it is there: a template that says `true` or `false`; empty is always."""


class SiteTable(Record, frozen=True):
    """`[site]`: a person's own servers, in place of `[server]`."""

    members: tuple[Member, ...] = ()
    """The servers, front to back."""
    doors: tuple[Door, ...] = ()
    """What of the outside a private copy may reach; nothing else is reached."""
    snapshot: str = "snapshot"
    """Folder of the study that holds their files as they were found."""
    isolation: Isolation = "auto"
    """How private copies are kept apart: `auto` takes a cell where one can be had, else a wall;
    `open` rewrites their paths and ports, and keeps nothing from them."""
    listener: str = ""
    """The loaded listener: a port, `ip:port` or `unix:/path`; empty is the first without TLS."""
    host: str = ""
    """The host that requests ask for; empty is the listener's first name."""
    tls: bool = False
    """Whether the loaded listener speaks TLS; the certificate that it shows is not checked."""
    writes: tuple[str, ...] = ()
    """Folders that the copy writes in: copy-on-write as all is, but on disk. Whole paths."""
    ready: str = "/"
    """The path that answers once the site is ready."""
    ready_status: int | None = None
    """The status of that answer; any below 500 where it is left out."""
    caveats: tuple[str, ...] = ()
    """In what copies are not what the site is, a sentence each; told with each result."""
    prepare: tuple[SiteCommandTable, ...] = ()
    """Run in each copy before it is loaded, for test data."""
    finish: tuple[SiteCommandTable, ...] = ()
    """Run in each copy once its members have ended, for what it left behind a door."""


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
