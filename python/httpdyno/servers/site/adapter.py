"""The seam between a person's own servers and the rest of httpdyno.

A site adapter knows one kind of server as people run it: how its configuration is found and read,
what can be set there, how a value gets into their own text, and how a private copy is started and
asked what is in force. It never writes to their files: it says edits, and others make them in a
private copy. Reading executes nothing of theirs; the server's own test runs in a seat only, since
even a test writes (`nginx -t` as root makes and chowns folders).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from httpdyno.host.foreign_files import Rights
from httpdyno.model import ChangeSet, Configuration, Edit, KnobInfo, Level, Member, Survey
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.instance import Insight
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.sandbox.sandbox import Said, Seat
from httpdyno.servers.site.tls_files import TlsFiles

__all__ = ["MemberFiles", "Said", "Seat", "SiteAdapter", "SiteLaunch", "TakesVariables"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MemberFiles:
    """A member's configuration: all files that the server reads, as bytes."""

    texts: Mapping[str, bytes]
    """Path as the server opens it → content."""
    real: Mapping[str, str] = field(default_factory=dict)
    """Path as the server opens it → the file that a link there leads to; only where it differs."""
    rights: Mapping[str, Rights] = field(default_factory=dict)
    """Path as the server opens it → whose the file was that was read, and who might read it."""
    unreadable: tuple[str, ...] = ()
    """What is named and cannot be read by this user, such as private keys."""
    tls: TlsFiles = field(default_factory=TlsFiles)
    """Keys, certificates and the like that are named."""
    patterns: tuple[str, ...] = ()
    """What is included by wildcards, absolute; what ends in `/` is included with all below it. No
    other file than those of `texts` is any of it."""
    served: tuple[str, ...] = ()
    """Folders of pages."""
    stand_ins: Mapping[str, bytes] = field(default_factory=dict)
    """Path of theirs → what a copy sees there in place of what cannot be read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SiteLaunch:
    """How a member's private copy is started in its seat."""

    command: Sequence[str]
    """Program and arguments, for the foreground."""
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: str = ""
    """The user that the program is started as, where that is not root or the caller."""
    error_log: str = ""
    """A file, as seen in the seat, whose end has the server's words; empty: what it prints."""
    output_to: Path | None = None
    """A file of the seat's folder for its output, where that is to be apart from its errors."""
    insight: "Callable[[ServerProcess], Insight] | None" = None
    """What is asked of the running copy; None where nothing is known."""


class SiteAdapter(Protocol):
    """One kind of server as people run it. Stateless."""

    @property
    def kind(self) -> str:
        """Its name in `[[site.members]]`, such as `nginx`."""

    def usual(self) -> tuple[Member, ...]:
        """Return what the distribution's packages have configured here; empty when nothing is."""

    def at(self, path: str) -> Member | None:
        """Return the member whose main configuration file this is; None if not of its kind."""

    def of_process(self, program: str, arguments: Sequence[str], folder: str) -> Member | None:
        """Return the member that a process of this program and arguments is the root of."""

    def read(self, member: Member) -> MemberFiles:
        """Read the configuration and all that it includes; executes nothing.

        Raises:
            AdapterError: A file is not there, cannot be read or understood; says file and line.
        """

    def survey(self, member: Member, files: MemberFiles, seat: Seat | None) -> Survey | NotRunning:
        """Return what is in force.

        Args:
            member: Which one.
            files: What was read of it.
            seat: Where programs of theirs may run; None: from the files alone, nothing is run.
        """

    def knobs(self, survey: Survey) -> Mapping[str, KnobInfo]:
        """Return what can be set here, `NAME` or `NAME@SCOPE` → what it is; defaults as found."""

    def change_set(
        self, survey: Survey, files: MemberFiles, values: Mapping[str, Level]
    ) -> ChangeSet:
        """Return the smallest change of their files that puts these values in force. Pure.

        Values that are in force already take no edit.

        Raises:
            AdapterError: A value cannot be set here, or contradicts another; says the rule.
        """

    def private(self, survey: Survey, files: MemberFiles, seat: Seat) -> tuple[Edit, ...]:
        """Return the edits that let it run in the seat; in a cell of root mostly none."""

    def launch(
        self, member: Member, survey: Survey, seat: Seat, asked: Configuration, changes: ChangeSet
    ) -> SiteLaunch:
        """Return how the copy is started; `asked` has this member's knobs, without its name."""


@runtime_checkable
class TakesVariables(Protocol):
    """A site adapter whose members may have any variable of their environment as a knob."""

    def with_variables(self, member: Member, survey: Survey, names: Collection[str]) -> Survey:
        """Return the survey with these variables told, so that `env.NAME` are knobs.

        Raises:
            AdapterError: One cannot be set from outside, or its value cannot be read.
        """
