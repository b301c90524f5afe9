"""What became of experiments here: kept in one file, the last run of each."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import structs

from httpdyno.book.experiment import Word
from httpdyno.errors import StoreError
from httpdyno.host.foreign_text import reason
from httpdyno.host.own_files import HeldError, data_folder, locked
from httpdyno.model import Record

_FILE = "book.json"
_LOCK = "book.lock"
_PATIENCE_S = 10.0
"""Who has the lock writes one small file."""


class Now(Record, frozen=True, omit_defaults=True):
    """What one run of an experiment found."""

    name: str
    verdict: Word
    says: str
    """One sentence with its figures."""
    measured_at: str
    """ISO 8601, UTC."""
    duration_s: float
    host: str
    """Processor, cores and kernel."""
    server: str
    """What the server says of itself; empty where none ran."""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    """None where nothing bounds it."""
    count: float | None = None
    n_starts: int = 0
    evidence: tuple[str, ...] = ()
    """What the reason rests on, moved or not, and what was otherwise inside the server, such as
    `files opened for an answer 9.0 → 1.0`; which side failed beyond the limit, and what the
    comparison itself doubts."""
    run_id: str = ""
    """Of the stored run, for `httpdyno report`."""
    seed: int | None = None
    command: str = ""
    """That runs it alone."""
    machine: dict[str, float] = msgspec.field(default_factory=dict)
    """What the machine took then, as `httpdyno machine` says it."""


class UnderWay(Record, frozen=True):
    """All of them being run, until each had its turn."""

    began_at: str
    """ISO 8601, UTC; what was measured before is of another time."""
    seed: int
    budget_s: float | None = None
    """For the whole; None where each has what it may take."""
    has_advice: bool = False
    """Whether the advice without figures is run with them."""


class _Kept(Record, frozen=True):
    format: int
    results: dict[str, Now]
    under_way: UnderWay | None = None


def kept_results() -> Mapping[str, Now]:
    """Return the last result of each experiment that was run here, by name.

    Raises:
        StoreError: The file cannot be read.
    """
    return _kept().results


def under_way() -> UnderWay | None:
    """Return what began to run all of them and was broken off; None where nothing was.

    Raises:
        StoreError: The file cannot be read.
    """
    return _kept().under_way


def keep(now: Now) -> None:
    """Keep a result in the place of the last one of its name.

    Raises:
        StoreError: The file cannot be read, or not written.
    """
    with _alone():
        kept = _kept()
        _write(structs.replace(kept, results={**kept.results, now.name: now}))


def keep_under_way(run: UnderWay | None) -> None:
    """Keep that all of them are being run, or that they were.

    Raises:
        StoreError: The file cannot be read, or not written.
    """
    with _alone():
        kept = _kept()
        if kept.under_way != run:
            _write(structs.replace(kept, under_way=run))


@contextmanager
def _alone() -> Iterator[None]:
    """Let no other process change the file from when it is read until it is written.

    Raises:
        StoreError: There cannot be a lock, or another process does not let it go.
    """
    lock = data_folder() / _LOCK
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with locked(lock, patience_s=_PATIENCE_S):
            yield
    except HeldError as error:
        raise StoreError(f"the results of the book cannot be kept: {error}") from error
    except OSError as error:
        raise StoreError(f"`{lock}` cannot be locked: {reason(error)}") from error


def _kept() -> _Kept:
    path = data_folder() / _FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Kept)
    except FileNotFoundError:
        return _Kept(format=1, results={})
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(
            f"the results of the book in `{path}` cannot be read: {error}",
            hint="move that file away, and run its experiments again",
        ) from error


def _write(kept: _Kept) -> None:
    path = data_folder() / _FILE
    text = msgspec.json.format(msgspec.json.encode(kept))
    beside: Path = path.with_name(f"{_FILE}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(text)
        beside.replace(path)
    except OSError as error:
        raise StoreError(f"`{path}` cannot be written: {error.strerror}") from error
