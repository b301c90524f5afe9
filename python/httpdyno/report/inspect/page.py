"""What runs here, put together for showing: servers, findings, whether they can be copied.

Pure: what is looked at comes in as it was seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from httpdyno.report.shared.phrase import oxford
from httpdyno.servers.source.inspection import Inspected

_N_NAMED = 3
"""So many files are named; of more, how many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Server:
    """A server that was looked at."""

    seen: Inspected
    memory_bytes: int | None = None
    """Proportional set size of all its processes; None where it may not be read."""
    backends: tuple[tuple[str, str], ...] = ()
    """(backend, what serves it here); the second is empty where nothing here does."""

    @property
    def findings(self) -> tuple[str, ...]:
        """What its owner should know, a sentence each."""
        return findings(self.seen)


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """All that is shown."""

    servers: tuple[Server, ...]
    now_s: float
    """Unix time."""
    isolation: str = ""
    """The best isolation of a private copy that is possible here; empty: none, or not known."""
    isolation_reason: str = ""
    """Why no better one."""


def findings(seen: Inspected) -> tuple[str, ...]:
    """Return what is wrong with a server, or not as it looks; a sentence each."""
    found, survey = seen.found, seen.survey
    said: list[str] = []
    if seen.trouble:
        said.append(seen.trouble)
    if found.root is not None and found.root.is_replaced:
        said.append("its program file was replaced since it began: a restart takes up the new one")
    if found.unit is not None and found.unit.needs_daemon_reload:
        said.append(
            f"the files of {found.unit.name} were changed since systemd read them: "
            "`systemctl daemon-reload` takes them up"
        )
    if seen.changed:
        said.append(f"{_were(seen.changed)} changed after the server read {_it(seen.changed)}")
    if seen.perhaps_changed:
        said.append(
            f"{_were(seen.perhaps_changed)} changed since the server began, and it is not known "
            f"whether it read {_it(seen.perhaps_changed)} again"
        )
    if survey is not None:
        said += [
            f"{notice.words} ({notice.origin.file}:{notice.origin.line})"
            if notice.origin
            else notice.words
            for notice in survey.notices
        ]
        said += [f"{path} cannot be read by this user" for path in survey.unreadable]
    if found.hidden:
        said.append(f"its {oxford(found.hidden)} may not be seen by this user: `sudo` shows more")
    return tuple(said)


def _were(paths: Sequence[str]) -> str:
    if len(paths) > _N_NAMED:
        return f"{paths[0]} and {len(paths) - 1:,} more files were"
    return f"{oxford(paths)} {'was' if len(paths) == 1 else 'were'}"


def _it(paths: Sequence[str]) -> str:
    return "it" if len(paths) == 1 else "them"
