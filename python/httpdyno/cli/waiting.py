"""Load tests that have ended and wait for the store.

The store's libraries take longer to import than a handful of requests takes to send, so a load test
only writes a file; the commands that look into the store take such files in first.
"""

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from httpdyno.cli.standard_streams import tell
from httpdyno.errors import StoreError
from httpdyno.host.foreign_files import read_regular
from httpdyno.host.foreign_text import reason
from httpdyno.host.own_files import data_folder, opened_own
from httpdyno.model import LoadOutcome
from httpdyno.secret import with_digests

MOST_FILES = 100
"""The newest of those that nobody asked for are kept: they are half a megabyte each."""

_FOLDER = "loads"
_SUFFIX = ".json"
_LIMIT_BYTES = 1 << 28
_SALT_BYTES = 4


def put(outcome: LoadOutcome, headline: str) -> None:
    """Keep a load test until the store is opened; where that fails it is said, and no more."""
    stored = with_digests(outcome, os.urandom(_SALT_BYTES).hex())
    # As the store writes it: infinity must come back as it went in.
    text = json.dumps({"headline": headline, "outcome": msgspec.to_builtins(stored)})
    try:
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = f"{time.time_ns()}-{os.getpid()}"
        written = folder / f"{name}.part"
        with os.fdopen(opened_own(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "w") as file:
            file.write(text)
        written.rename(folder / f"{name}{_SUFFIX}")
        for each in _files(folder)[:-MOST_FILES]:
            each.unlink(missing_ok=True)
    except (OSError, StoreError) as error:
        why = reason(error) if isinstance(error, OSError) else f"{error}"
        tell(f"the run is not kept for `httpdyno history`: {why}")


@contextmanager
def waiting() -> Iterator[list[Path]]:
    """Give the files that wait, oldest first; nobody else takes them meanwhile."""
    try:
        folder = _folder()
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, StoreError):  # no load test was ever kept
        yield []
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield _files(folder)
    finally:
        os.close(handle)


def content(file: Path) -> tuple[str, str]:
    """Return the headline and the outcome's JSON of a file that waits.

    Raises:
        StoreError: It cannot be read.
    """
    try:
        document = json.loads(read_regular(file, limit_bytes=_LIMIT_BYTES))
        return str(document["headline"]), json.dumps(document["outcome"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(
            f"the load test in `{file}` cannot be read: {error}",
            hint="delete it, if it is in the way",
        ) from error


def _folder() -> Path:
    return data_folder() / _FOLDER


def _files(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(each for each in folder.iterdir() if each.suffix == _SUFFIX)
    return []
