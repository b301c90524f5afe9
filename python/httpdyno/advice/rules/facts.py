"""What is known of a server when rules look at it. Pure."""

import re
from itertools import pairwise

from httpdyno.advice.curve import Growth, LifeRow
from httpdyno.host.sock_diag import ListenQueue
from httpdyno.model import Member, Reading, Record, Respawn, Survey
from httpdyno.reason import Reason, because

NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "fuse.sshfs"})
MEMORY = frozenset({"tmpfs", "ramfs"})
"""Types of file systems, as rules tell them apart."""

_SOMAXCONN = "net.core.somaxconn"
_NUMBER = re.compile(r"[+-]?\d+")
_WORD = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'|(\S+)')
_PACKED = re.compile(
    r"image/(?:\*|jpe?g|png|gif|webp|avif|jxl|heic|heif)|video/.+|audio/(?:mpeg|ogg|aac|mp4|webm)"
    r"|font/woff2?|application/(?:zip|gzip|x-gzip|zstd)",
    re.IGNORECASE,
)
"""Of those left out some are: PDF and TIFF files are partly, sounds in `wav` are not."""


class WorkerSize(Record, frozen=True):
    """Two counts of what a process has of its own."""

    pid: int
    own_bytes: int
    """Pages that no other process has."""
    statm_bytes: int
    """Its virtual size less its pages of files and shared memory, by `/proc/PID/statm`."""


class PerlFacts(Record, frozen=True):
    """What of an Apache's Perl stands in files; nothing of it was run."""

    has_smaps: bool | None = None
    """Whether the module Linux::Smaps is there; None where Perl's folders are not known."""
    startup: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Path → text of what the configuration has run at the start, as far as it may be read."""


class Front(Record, frozen=True):
    """A proxy before a server that keeps connections to it."""

    name: str
    """What it is: `nginx`."""
    idle_s: float
    """It closes a connection that has been idle for so long."""
    idle: Reading
    """What says so."""


class PoolFacts(Record, frozen=True):
    """The processes of a server that runs."""

    n_workers: int
    """Below its first process."""
    names: tuple[str, ...] = ()
    """Of the workers, each once."""
    n_fit: int | None = None
    """How many workers memory has room for; None where that is not known."""
    each_bytes: int = 0
    """The largest worker's own."""
    available_bytes: int = 0
    limited_by: str = ""
    room_bytes: int = 0
    """Of what is available, for workers: without the reserve and what is there once."""
    kernel_bytes: int = 0
    """What the kernel keeps for a worker besides."""
    sizes: tuple[WorkerSize, ...] = ()
    """Of the workers, where they may be seen."""

    @property
    def is_uniform(self) -> bool:
        """Whether all its workers are of one kind, so that one may speak of their size."""
        return len(self.names) == 1


class CallFacts(Record, frozen=True):
    """System calls that a request was seen to take: means over several requests."""

    url: str
    stats: float = 0.0
    lstats: float = 0.0
    htaccess_opens: float = 0.0
    hosts_opens: float = 0.0
    """Of `/etc/hosts`, where names are looked for first."""
    name_servers: float = 0.0
    """Connections to name servers."""
    missing_file: str = ""
    """The path that the URL was made into, where it was looked for and nothing was there."""

    def seen(self, *counts: Reason) -> Reason:
        """Return as evidence how many of some things there are in a request."""
        return because("advice.in_each_request", counts=counts, url=self.url)


class KeptWorkers(Record, frozen=True):
    """What workers were at, as a server's own status page says it; means over some looks.

    The one that answers is left out, since it is at that page.
    """

    n_looks: int
    n_workers: float
    n_kept: float
    """Of them: with a connection that is kept and asks for nothing."""
    n_idle: float
    """Of them: with no connection at all."""

    @property
    def kept_ratio(self) -> float:
        """Return the share of the workers' time that goes into kept connections."""
        return self.n_kept / self.n_workers if self.n_workers else 0.0


class Measured(Record, frozen=True):
    """What was measured of a server's workers, where somebody asked for that."""

    growth: Growth | None = None
    lives: tuple[LifeRow, ...] = ()
    """How many of them fit by how long they live; empty where that is not known."""
    respawn: Respawn | None = None
    """What a request and a birth take; None where no rates at some lengths of life were given."""
    kept: KeptWorkers | None = None
    """None where no status page was asked."""


class Facts(Record, frozen=True):
    """A server as `httpdyno inspect` knows it."""

    kind: str
    survey: Survey
    command: tuple[str, ...] = ()
    """As it is started, its own name first; empty where that is not known."""
    environment_names: tuple[str, ...] | None = None
    """None where its environment may not be seen."""
    is_whole: bool = True
    """Whether all of its configuration was read; else what nothing sets may be set all the same."""
    n_cpus: int | None = None
    """That it may run on; None where it does not run, or that is not known."""
    open_files_limit: int | None = None
    """Of the running process."""
    somaxconn: int | None = None
    """The most connections that the kernel lets wait at a socket."""
    filesystems: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Folder that it writes in → type, such as `tmpfs`; not all folders."""
    real_paths: dict[str, str] = {}  # noqa: RUF012 - msgspec copies it
    """Folder → where it lies, links followed; not all folders."""
    pool: PoolFacts | None = None
    """None where it does not run."""
    queues: tuple[ListenQueue, ...] = ()
    calls: CallFacts | None = None
    """None where nobody asked for a census."""
    growth: Growth | None = None
    """Of its workers under load; None where nobody asked for one."""
    lives: tuple[LifeRow, ...] = ()
    """How many of them fit by how long they live; empty where that is not known."""
    respawn: Respawn | None = None
    """What a request and a birth take; None where no rates at some lengths of life were given."""
    kept: KeptWorkers | None = None
    """None where no status page was asked."""
    perl: PerlFacts | None = None
    """None where nobody looked."""
    fronts: tuple[Front, ...] = ()
    """Those that were looked at with it."""

    def all_of(self, name: str) -> tuple[Reading, ...]:
        """Return the readings of a name, written in any case, in the order of the configuration."""
        return tuple(r for r in self.survey.readings if r.name.lower() == name.lower())

    def reading(self, name: str, scope: str = "") -> Reading | None:
        """Return the last reading of a name in a scope; None where there is none."""
        found = [each for each in self.all_of(name) if each.scope == scope]
        return found[-1] if found else None

    def said(self, name: str) -> tuple[Reading, ...]:
        """Return the readings of a name that somebody wrote: no defaults."""
        return tuple(each for each in self.all_of(name) if is_said(each))

    def number(self, name: str, scope: str = "") -> int | None:
        """Return a number that is in force; None where it is none, or nothing is known."""
        reading = self.reading(name, scope)
        return None if reading is None else number(reading.text)

    def flag(self, name: str) -> str:
        """Return the value of an option of its command line, the last of it; empty without."""
        found = ""
        for word, following in pairwise((*self.command, "")):
            head, equals, value = word.partition("=")
            if head == name:
                found = value if equals else following
        return found

    def loading(self, module: str) -> str:
        """Return which line loads a module: `/etc/apache2/mods-enabled/dav.load:2`; empty if none.

        Args:
            module: With `_module`.
        """
        origins = (each.origin for each in self.survey.loaded if each.name == module)
        return next((f"{origin.file}:{origin.line}" for origin in origins), "")

    def has_module(self, *names: str) -> bool:
        """Whether one of these modules is loaded."""
        return not set(names).isdisjoint(self.survey.modules)


def configured(
    member: Member, survey: Survey, *, is_whole: bool, n_cpus: int | None = None
) -> Facts:
    """Return what a server's configuration and command line tell, whether it runs or not.

    Args:
        member: How it is started.
        survey: What is in force.
        is_whole: Whether all of its configuration was read.
        n_cpus: That it may run on; None where that is not known.
    """
    somaxconn = survey.reading(_SOMAXCONN)
    return Facts(
        kind=member.kind,
        survey=survey,
        command=member.command,
        environment_names=member.environment_names,
        is_whole=is_whole,
        n_cpus=n_cpus,
        somaxconn=int(somaxconn.text) if somaxconn and somaxconn.text.isdecimal() else None,
    )


def is_said(reading: Reading) -> bool:
    """Whether somebody wrote it, into a file or on a command line."""
    return reading.origin is not None or reading.evidence != "read"


def number(text: str) -> int | None:
    """Return a whole number; None where the text is none."""
    bare = text.strip().strip('"')
    return int(bare) if _NUMBER.fullmatch(bare) else None


def words(text: str) -> list[str]:
    """Return arguments without their quotes."""
    return [quoted or single or bare for quoted, single, bare in _WORD.findall(text)]


def place(reading: Reading) -> str | Reason:
    """Return where a reading stands: `/etc/nginx/nginx.conf:12`."""
    origin = reading.origin
    if origin is not None:
        return f"{origin.file}:{origin.line}" if origin.line else origin.file
    return because("advice.command_line" if is_said(reading) else "advice.compiled_in")


def where(reading: Reading) -> Reason:
    """Return what is set, and where: `KeepAlive Off, /etc/apache2/apache2.conf:98`."""
    return because(
        "advice.set_within" if reading.scope else "advice.set",
        name=reading.name,
        text=reading.text,
        scope=reading.scope,
        place=place(reading),
    )


def is_compressed(kind: str) -> bool:
    """Whether compressing an answer of that type again saves nothing."""
    return _PACKED.fullmatch(kind) is not None
