"""What a person brings to be tuned: a site, its members, and what is known of their settings."""

from typing import Literal

import msgspec

from httpdyno.model.base import Record
from httpdyno.model.server import ServerLimits, SiteCommand
from httpdyno.model.written import Duration
from httpdyno.reason import Reason

ValueEvidence = Literal["said", "seen", "read"]
"""How a value in force is known: the running server says it, it is seen from outside (sockets,
processes, behaviour), or it stands in the files that the server read at its start."""

Isolation = Literal["auto", "cell", "wall", "open"]


class Member(Record, frozen=True):
    """`[[site.members]]`: one server of the site, front to back."""

    name: str
    """Within the site, such as `front`; knobs are called `NAME:SETTING`."""
    kind: str
    """The kind of server, such as `nginx` or `php-fpm`."""
    main: str = ""
    """Its main configuration file, a whole path; may be left out where `command` says all."""
    command: tuple[str, ...] = ()
    """Program and arguments, where those are its own: an argument each."""
    program: str = ""
    """The program file that it runs, where it is not the distribution's usual one."""
    folder: str = ""
    """Where it runs; empty is `/`."""
    prefix: str = ""
    """What relative paths of its configuration start from, where that is not compiled in."""
    user: str = ""
    """The user that its service starts it as; empty is root, or whoever runs httpdyno."""
    unit: str = ""
    """Its systemd unit."""
    environment_names: tuple[str, ...] = ()
    """Variables of its service; values are read when it is started, and never stored."""
    environment_from: str = ""
    """Where the values are read: `unit:NAME`, `pid:NUMBER@START` or the path of an environment
    file."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    """Variables that its copies have besides, with their values; `{run}` is a folder of the copy's
    own, as in `{run}/shop.sqlite`."""
    serves: tuple[str, ...] = ()
    """Backend addresses that it answers at, such as `unix:/run/php/php8.2-fpm.sock`."""
    ready_timeout_s: Duration = 20.0
    """How long its private copy may take to come up."""
    limits: ServerLimits = ServerLimits()
    """What its processes in each private copy may take together, at most, enforced by the kernel.
    """


class Door(Record, frozen=True):
    """One thing outside that a private copy may reach."""

    to: str
    """As the configuration or the application names it: `unix:/run/…`."""
    through: str = ""
    """Where it really leads; empty is the same address."""
    why: str = ""
    """What it is, for whoever reads the study."""


class Site(Record, frozen=True):
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
    prepare: tuple[SiteCommand, ...] = ()
    """Run in each copy before it is loaded, for test data."""
    finish: tuple[SiteCommand, ...] = ()
    """Run in each copy once its members have ended, for what it left behind a door."""


class Origin(Record, frozen=True):
    """Where something stands in a file of theirs."""

    file: str
    """Its path, as the server opens it."""
    line: int
    """From 1."""
    start: int
    """First byte of the text that stands for the value."""
    end: int
    """The byte after its last."""


class Reading(Record, frozen=True):
    """One setting in force."""

    name: str
    scope: str
    """Empty for the whole server, else such as `shop.example` or `shop.example /img/`."""
    text: str
    """As it stands there, or as the server says it."""
    origin: Origin | None = None
    """None where nothing sets it: a default that is compiled in."""
    evidence: ValueEvidence = "read"


class Listener(Record, frozen=True):
    """One address that a member listens at."""

    address: str
    """`0.0.0.0:80`, `[::]:443` or `unix:/path`."""
    is_tls: bool = False
    is_proxied: bool = False
    """Whether each connection begins with the PROXY protocol, as those of load balancers do."""
    names: tuple[str, ...] = ()
    """Hosts that are served there, the default one first."""
    origin: Origin | None = None


class Backend(Record, frozen=True):
    """Something that a member connects to."""

    to: str
    """`unix:/run/php/php8.2-fpm.sock`, `127.0.0.1:8000`, or a host's name with its port."""
    protocol: str
    """`http`, `fastcgi`, `uwsgi`, `scgi`, `grpc`."""
    group: str = ""
    """What the configuration calls it and others together; empty where it stands alone."""
    origin: Origin | None = None


class LogPlace(Record, frozen=True):
    """An access log that a member writes."""

    path: str
    log_format: str = "combined"
    """The format as the configuration spells it, or its well-known name."""
    scope: str = ""
    origin: Origin | None = None


class Notice(Record, frozen=True):
    """Something about a configuration that its owner should know."""

    why: Reason
    origin: Origin | None = None


class LoadedModule(Record, frozen=True):
    """A module that a line of a configuration loads."""

    name: str
    """As in `modules`."""
    origin: Origin
    """Without a span where no file has the line, as one that a macro makes."""


class Survey(Record, frozen=True):
    """What is known of a member before any of it runs, or from its own test of itself."""

    version: str
    """The server's own line."""
    readings: tuple[Reading, ...] = ()
    listeners: tuple[Listener, ...] = ()
    backends: tuple[Backend, ...] = ()
    logs: tuple[LogPlace, ...] = ()
    modules: tuple[str, ...] = ()
    loaded: tuple[LoadedModule, ...] = ()
    """Those of them that lines of its configuration load, where these are read; what is compiled in
    has no line."""
    writes: tuple[str, ...] = ()
    """Folders that it is configured to write in."""
    unreadable: tuple[str, ...] = ()
    """Files that this user may not read, such as private keys."""
    stand_ins: tuple[str, ...] = ()
    """Files of theirs in whose place a copy has others: keys that may not be read, and their
    certificates."""
    notices: tuple[Notice, ...] = ()

    def reading(self, name: str, scope: str = "") -> Reading | None:
        """Return what is in force there; None where nothing is known of it."""
        return next((r for r in self.readings if (r.name, r.scope) == (name, scope)), None)


class Edit(Record, frozen=True):
    """A span of one of their files, replaced."""

    file: str
    """As the server opens it."""
    start: int
    """First byte that is replaced; where it equals `end` something is put in."""
    end: int
    text: str
    purpose: Literal["private", "knob"] = "knob"
    """`private` lets it run as a copy, and is neither shown nor applied."""


class ChangeSet(Record, frozen=True):
    """What puts values in force: changes to their files, or to how the server is started."""

    edits: tuple[Edit, ...] = ()
    added: dict[str, str] = msgspec.field(default_factory=dict)
    """New files: path → text."""
    arguments: tuple[str, ...] = ()
    """Put at the end of the command line."""
    removed_arguments: tuple[str, ...] = ()
    """Taken out of the command line, wherever they stand."""
    environment: dict[str, str] = msgspec.field(default_factory=dict)
    sysctls: dict[str, str] = msgspec.field(default_factory=dict)
    """Kernel settings of the copy's own network namespace: name with dots → text."""
    notes: tuple[Reason, ...] = ()
    """What was added besides what was asked, and why."""
