"""Who owns a run folder, on disk or in memory, and whether that process is provably gone.

In each folder is a file that its owner holds a lock on as long as it lives: the kernel drops the
lock however the process ends. Seen through an overlay or in a copy it is another file, whose lock
is free; so its first line says which file it is, and which process of which boot and which pid
namespace owns it. What does not prove that the owner is gone leaves a doubt, and then nothing is
ended or removed.

Source: flock(2); the kernel's Documentation/filesystems/overlayfs.rst, "Non-standard behavior".
"""

import errno
import json
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from httpdyno.host.foreign_text import reason
from httpdyno.host.own_files import opened_own, taken
from httpdyno.host.process_identity import Life, ProcessIdentity, boot_id

_LINE_BYTES = 16 << 10
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How it stands with an owner."""

    life: Life
    doubt: str = ""
    """Why it cannot be known, where it cannot."""


def ownership(file: int) -> dict[str, Any]:
    """Return what this process writes into an open file of its own, in the first line."""
    info = os.fstat(file)
    return {
        "owner": msgspec.to_builtins(ProcessIdentity.me()),
        "file": [info.st_dev, info.st_ino],
    }


def owner_of(line: dict[str, Any]) -> ProcessIdentity | None:
    """Return the owner that the first line of such a file names; None where it names none."""
    with suppress(msgspec.ValidationError):
        return msgspec.convert(line.get("owner"), ProcessIdentity)
    return None


@contextmanager
def examined(path: Path) -> Iterator[Standing]:
    """Say how it stands with the owner of such a file; of one who is gone the lock is held."""
    try:
        file = opened_own(path, os.O_RDONLY)
    except OSError as error:
        why = "is not there" if error.errno == errno.ENOENT else f"is no record: {reason(error)}"
        yield _doubt(f"`{path.name}` {why}")
        return
    try:
        yield _standing(file, path)
    finally:
        os.close(file)


def standing(path: Path) -> Standing:
    """Return how it stands with the owner of such a file, now."""
    with examined(path) as found:
        return found


def is_trusted(file: int) -> bool:
    """Return whether nobody but this user can have written an open file."""
    info = os.fstat(file)
    return info.st_uid == os.geteuid() and not info.st_mode & _OTHERS_MAY_WRITE


def _standing(file: int, path: Path) -> Standing:
    try:
        if not taken(file):
            return Standing(life=Life.ALIVE)
        line = _first_line(file)
    except OSError as error:
        return _doubt(f"`{path.name}` cannot be looked at: {reason(error)}")
    owner = owner_of(line)
    if owner is None:
        return _doubt(f"`{path.name}` names no owner")
    info, life = os.fstat(file), owner.life()
    is_elsewhere = owner.boot != boot_id() and owner.host != socket.gethostname()
    reasons = (
        (not is_trusted(file), f"another user may have written `{path.name}`"),
        (
            line.get("file") != [info.st_dev, info.st_ino],
            f"`{path.name}` is not the file that its owner holds, but a copy or a view of it",
        ),
        (is_elsewhere, f"its owner is of another machine, `{owner.host}`"),
        (life is Life.IN_DOUBT, f"its owner, process {owner.pid}, cannot be seen from here"),
    )
    doubt = next((words for is_so, words in reasons if is_so), "")
    return _doubt(doubt) if doubt else Standing(life=life)


def _doubt(words: str) -> Standing:
    return Standing(life=Life.IN_DOUBT, doubt=words)


def _first_line(file: int) -> dict[str, Any]:
    """Return the first line of a file as JSON; empty where it is none."""
    content = os.pread(file, _LINE_BYTES, 0)
    with suppress(ValueError, RecursionError):
        line = json.loads(content.splitlines()[0] if content else b"")
        if isinstance(line, dict):
            return line
    return {}
