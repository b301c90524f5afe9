"""What became of experiments here: kept in one file, the last run of each."""

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from httpdyno.book.rule import Word
from httpdyno.data_folder import data_folder
from httpdyno.errors import StoreError
from httpdyno.model import Record

_FILE = "book.json"


class Now(Record, frozen=True, omit_defaults=True):
    """What one run of an experiment found."""

    name: str
    word: Word
    says: str
    """One sentence with its figures."""
    measured_at: str
    """ISO 8601, UTC."""
    duration_s: float
    host: str
    """Processor, cores and kernel."""
    version: str
    """Of the server that ran; empty where none did."""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    """None where nothing bounds it."""
    count: float | None = None
    n_starts: int = 0
    moved: tuple[str, ...] = ()
    """What was otherwise inside the server: `files opened for an answer 9.0 → 1.0`."""
    run_id: str = ""
    """Of the stored run, for `httpdyno report`."""
    seed: int | None = None
    command: str = ""
    """That runs it alone."""
    machine: dict[str, float] = msgspec.field(default_factory=dict)
    """What the machine took then, as `httpdyno machine` says it."""


class _Kept(Record, frozen=True):
    format: int
    results: dict[str, Now]


def kept_results() -> Mapping[str, Now]:
    """Return the last result of each experiment that was run here, by name.

    Raises:
        StoreError: The file cannot be read.
    """
    path = data_folder() / _FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Kept).results
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise StoreError(
            f"the results of the book in `{path}` cannot be read: {error}",
            hint="move that file away, and run its experiments again",
        ) from error


def keep(now: Now) -> None:
    """Keep a result in the place of the last one of its name.

    Raises:
        StoreError: The file cannot be written.
    """
    path = data_folder() / _FILE
    kept = _Kept(format=1, results={**kept_results(), now.name: now})
    text = msgspec.json.format(msgspec.json.encode(kept))
    beside: Path = path.with_name(f"{_FILE}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(text)
        beside.replace(path)
    except OSError as error:
        raise StoreError(f"`{path}` cannot be written: {error.strerror}") from error
