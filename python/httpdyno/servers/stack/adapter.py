"""The adapter: the seam between one kind of server and the rest of httpdyno.

An adapter knows one kind. A stack has its services made in one of two ways, and an adapter says
both: from a study's templates, or as private copies of what people run, from a snapshot of their
files. It says what is read and how a program is started; places, ports, processes and sandboxes are
the stack's. It never writes to people's files: it says edits, and others make them in a copy.
Reading executes nothing of theirs; the server's own test runs in a seat only, since even a test
writes (`nginx -t` as root makes and chowns folders).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, Protocol

from httpdyno.errors import UsageError
from httpdyno.host.foreign_files import Rights
from httpdyno.model import (
    ChangeSet,
    Configuration,
    Edit,
    Effective,
    KnobInfo,
    Level,
    Member,
    ServerSpec,
    Survey,
)
from httpdyno.reason import Reason
from httpdyno.servers.adapter import NotRunning
from httpdyno.servers.network.probe import StatusPage
from httpdyno.servers.process import ServerProcess
from httpdyno.servers.render import Variables
from httpdyno.servers.sandbox.sandbox import Seat
from httpdyno.servers.staging import acting_user_name

FileUse = Literal["authorities", "groups", "password", "tickets", "staple"]
"""Certificates of others; parameters of Diffie-Hellman; the password of a key; keys of session
tickets; an answer of an OCSP responder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyPair:
    """A private key, and the certificate of its public key."""

    key: str
    """Its path as the server opens it."""
    certificate: str
    """Likewise; the same where both are in one file."""
    password: str = ""
    """The file that has the key's password; empty where none is named."""

    @property
    def paths(self) -> frozenset[str]:
        """The files that belong together: a new key needs a new certificate."""
        return frozenset({self.key, self.certificate})


@dataclass(frozen=True, kw_only=True, slots=True)
class TlsFiles:
    """What a member's configuration names, by whole paths."""

    pairs: tuple[KeyPair, ...] = ()
    others: Mapping[str, FileUse] = field(default_factory=dict)


__all__ = ["Insight", "Launch", "MemberFiles", "Seat", "ServerAdapter"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MemberFiles:
    """A service's configuration: all files that the server reads, as bytes."""

    texts: Mapping[str, bytes] = field(default_factory=dict)
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


class Insight(Protocol):
    """What only an adapter knows of its own server while that runs."""

    def words(self) -> str:
        """Return the end of its error log."""

    def why(self, words: str) -> Reason | None:
        """Return why it may not be up that said these words; None where they are all there is."""
        del words
        return None

    def refusal(self, exit_code: int | None, words: str) -> bool:
        """Whether it exited because it refused its configuration, as against crashed."""

    def lacking(self) -> Reason | None:
        """Return which of its processes are not up yet; None when all are."""

    def effective(self) -> Effective | NotRunning:
        """Return what the running server says is in force, with what was asked of it."""

    def status_pages(self) -> tuple[StatusPage, ...]:
        """Return the status pages that its configuration in force has."""
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """How a service is started in its place or seat."""

    command: Sequence[str]
    """Program and arguments, for the foreground."""
    insight: Callable[[ServerProcess], Insight] | None = None
    """What is asked of the running service; None where nothing is known."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of the adapter's own; what the study sets wins, a copy's own does not."""
    folder: str = ""
    """Where it runs; empty is its run folder, or a copy's `/`."""
    user: str = ""
    """The user that the program of a copy is started as, where that is not root or the caller."""
    output_to: Path | None = None
    """A file for its output, where that is to be apart from its errors."""
    error_logs: Sequence[str] = ()
    """Files that it logs errors to, as it sees them. The end of a copy's last one has its words."""
    addresses: Sequence[str] = ()
    """Where it listens, the one that is loaded first; empty: where the stack says, alone."""
    answers_as: str = ""
    """The user that answers requests, where a service made from templates is started by another."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The adapter's own, of a service made from templates: name in the run folder → text."""
    folders: Sequence[str] = ()
    """Empty folders of the run folder that it needs."""
    is_shown: bool = False
    """Whether its command line is one of the texts by which two configurations differ."""


class ServerAdapter:
    """One kind of server. Stateless: every call gets all it needs.

    Subclasses say what they can do. What a kind does not have, such as a configuration file or a
    form that studies make, is said here as missing.
    """

    name: ClassVar[str]
    """In study files: `[server] adapter`, and `kind` in `[[site.members]]`."""
    is_made: ClassVar[bool] = False
    """Whether studies can make one from templates, by `[server]`."""

    # Made from a study's templates.

    def settings(self) -> frozenset[str]:
        """Return the names that `[server.settings]` may hold and this adapter reads."""
        return frozenset()

    def missing(self, spec: ServerSpec) -> tuple[Reason, ...]:
        """Return what is not installed and how to install it, each; empty is good."""
        del spec
        return ()

    def check(self, spec: ServerSpec, study_folder: Path, variables: Variables) -> None:
        """Look for what is known to be wrong with the study's files; starts no server.

        Raises:
            AdapterError: It cannot start so.
        """

    def refused(self, spec: ServerSpec, configuration: Configuration) -> Reason | None:
        """Return why a configuration cannot be started on this machine; None where it can."""
        del spec, configuration
        return None

    def version(self, spec: ServerSpec | None = None, study_folder: Path | None = None) -> str:
        """Return the version line of the server that a study runs; of the usual one without.

        Raises:
            AdapterError: It is not installed.
        """
        del spec, study_folder
        return self.name

    def server_user(self) -> str:
        """Return the user that answers requests, for templates."""
        return acting_user_name()

    def made(self, spec: ServerSpec, study_folder: Path, variables: Variables) -> Launch:
        """Return how a service is started that the study's templates make; touches nothing.

        For diffs it is asked with placeholders for what differs from start to start.

        Raises:
            AdapterError: The study lacks something that it needs, or a template cannot be rendered.
        """
        del spec, study_folder, variables
        raise UsageError(f"{self.name} cannot be made from templates", hint="`httpdyno adopt` it")

    # Copied, as people run it.

    def usual(self) -> tuple[Member, ...]:
        """Return what the distribution's packages have configured here; empty when nothing is."""
        return ()

    def at(self, path: str) -> Member | None:
        """Return the service whose main configuration file this is; None if not of its kind."""
        del path
        return None

    def of_process(self, program: str, arguments: Sequence[str], folder: str) -> Member | None:
        """Return the service that a process of this program and arguments is the root of."""
        del program, arguments, folder
        return None

    def read(self, member: Member) -> MemberFiles:
        """Read the configuration and all that it includes; executes nothing.

        Raises:
            AdapterError: A file is not there, cannot be read or understood; says file and line.
        """
        del member
        return MemberFiles()

    def survey(self, member: Member, files: MemberFiles, seat: Seat | None) -> Survey | NotRunning:
        """Return what is in force.

        Args:
            member: Which one.
            files: What was read of it.
            seat: Where programs of theirs may run; None: from the files alone, nothing is run.
        """
        raise NotImplementedError

    def knobs(self, survey: Survey | None = None) -> Mapping[str, KnobInfo]:
        """Return what can be set, by name. Studies may add knobs of their application.

        Args:
            survey: Of what people run: `NAME` or `NAME@SCOPE` as found there, which is the default.
                None: of one that is made from templates.
        """
        del survey
        return {}

    def with_variables(self, member: Member, survey: Survey, names: Collection[str]) -> Survey:
        """Return the survey with these variables told, so that `env.NAME` are knobs.

        Raises:
            AdapterError: One cannot be set from outside, or its value cannot be read.
        """
        del member, names
        return survey

    def change_set(
        self, survey: Survey, files: MemberFiles, values: Mapping[str, Level]
    ) -> ChangeSet:
        """Return the smallest change of their files that puts these values in force. Pure.

        Values that are in force already take no edit.

        Raises:
            AdapterError: A value cannot be set here, or contradicts another; says the rule.
        """
        raise NotImplementedError

    def private(self, survey: Survey, files: MemberFiles, seat: Seat) -> tuple[Edit, ...]:
        """Return the edits that let it run in the seat; of code, and in a root's cell, none."""
        del survey, files, seat
        return ()

    def launch(
        self, member: Member, survey: Survey, seat: Seat, asked: Configuration, changes: ChangeSet
    ) -> Launch:
        """Return how the copy is started; `asked` has this service's knobs, without its name."""
        raise NotImplementedError
