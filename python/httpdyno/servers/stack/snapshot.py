"""A copy of a site's configuration, taken once: all arms of all runs of a study come from it.

In a folder lie the files as they were, below `files` at their own paths, and `snapshot.json` with
what is known of each: digest, owner, mode, where a link led. Keys are not among them; what a copy
has in place of one that may not be read lies below `stand-ins`. What may hold secrets of a service
(passwords in a pool's environment) is for its owner only. No path of theirs leads out of
the folder: a `..` is gone from it before it names a file there.
"""

import errno
import hashlib
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from httpdyno.errors import StudyFileError
from httpdyno.host.foreign_files import ForeignFolder, NewFolder, Rights, read_regular
from httpdyno.host.foreign_text import reason
from httpdyno.model import Member, Record, Survey
from httpdyno.servers.stack.adapter import MemberFiles

RECORD = "snapshot.json"
_FILES = "files"
_STAND_INS = "stand-ins"
_LARGEST_BYTES = 64 << 20
_FORMAT = 1
_MODE = 0o600


class FileRecord(Record, frozen=True):
    """One file of theirs as it was."""

    path: str
    """As the server opens it."""
    digest: str
    """SHA-256 of its bytes, hexadecimal."""
    real: str = ""
    """The file that a link led to; empty where there was none."""
    mode: int | None = _MODE
    """None where nobody knew whose it was."""
    user_id: int = 0
    group_id: int = 0
    """Of the very file that was read."""


class MemberRecord(Record, frozen=True):
    """One member as it was found."""

    name: str
    kind: str
    survey: Survey
    files: tuple[FileRecord, ...]
    unreadable: tuple[str, ...] = ()
    stand_ins: tuple[FileRecord, ...] = ()
    patterns: tuple[str, ...] = ()
    served: tuple[str, ...] = ()


class SnapshotRecord(Record, frozen=True):
    """What stands in `snapshot.json`."""

    taken_at: str
    """UTC, ISO 8601."""
    members: tuple[MemberRecord, ...]
    format: int = _FORMAT


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A member with what was read and found of it."""

    member: Member
    files: MemberFiles
    survey: Survey


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """A site's files and what was found in force, by the members' names, front to back."""

    members: Mapping[str, Found]
    taken_at: str = ""

    def texts(self) -> dict[str, bytes]:
        """Return all files of all members: path → content."""
        return {
            path: text
            for found in self.members.values()
            for path, text in found.files.texts.items()
        }

    def real_path(self, path: str) -> str:
        """Return the file that a path leads to."""
        return next(
            (f.files.real[path] for f in self.members.values() if path in f.files.real), path
        )


def version_of(survey: Survey) -> str:
    """Return a server's version without what it says around it: `nginx/1.22.1`."""
    return survey.version.rpartition("version: ")[2]


def take_snapshot(folder: NewFolder, found: Sequence[Found], *, taken_at: str) -> Snapshot:
    """Write a snapshot into a new folder.

    Raises:
        OSError: It cannot be written.
    """
    records = []
    stored: dict[tuple[str, ...], bytes] = {}
    for each in found:
        files = []
        for path, text in each.files.texts.items():
            _store(folder, (_FILES, *_names(path)), text, stored)
            files.append(_file_record(path, text, each.files))
        for path, text in each.files.stand_ins.items():
            _store(folder, (_STAND_INS, *_names(path)), text, stored)
        records.append(
            MemberRecord(
                name=each.member.name,
                kind=each.member.kind,
                survey=each.survey,
                files=tuple(files),
                unreadable=each.files.unreadable,
                patterns=each.files.patterns,
                served=each.files.served,
                stand_ins=tuple(
                    FileRecord(path=path, digest=_digest(text), mode=_MODE)
                    for path, text in each.files.stand_ins.items()
                ),
            )
        )
    record = SnapshotRecord(taken_at=taken_at, members=tuple(records))
    written = msgspec.json.format(msgspec.json.encode(record), indent=1)
    folder.write([RECORD], written + b"\n")
    return Snapshot(members={each.member.name: each for each in found}, taken_at=taken_at)


def _store(
    folder: NewFolder, names: tuple[str, ...], text: bytes, stored: dict[tuple[str, ...], bytes]
) -> None:
    # Two members may name the same file, and one member a file twice: `a/b` and `a/c/../b`.
    if names not in stored:
        folder.write(names, text)
        stored[names] = text
    elif stored[names] != text:
        raise OSError(errno.EBUSY, f"`/{'/'.join(names[1:])}` was changed while it was read")


def _names(path: str) -> tuple[str, ...]:
    """Return where a path of theirs is below a folder.

    What was read at a path with `..` is what is there without (`TheirFiles.content`).
    """
    names = tuple(filter(None, posixpath.normpath(path).split("/")))
    if not names or not path.startswith("/"):
        raise OSError(errno.EINVAL, "it is no whole path of a file", path)
    return names


def _digest(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _file_record(path: str, text: bytes, files: MemberFiles) -> FileRecord:
    known = files.rights.get(path)
    rights = known or Rights()
    return FileRecord(
        path=path,
        digest=_digest(text),
        real=files.real.get(path, ""),
        mode=rights.mode if known else None,
        user_id=rights.user_id,
        group_id=rights.group_id,
    )


def load_snapshot(folder: Path, members: Sequence[Member]) -> Snapshot:
    """Read a snapshot of these members.

    Raises:
        StudyFileError: It is not there, was changed since, or is of other members.
    """
    record = _record(folder)
    by_name = {each.name: each for each in record.members}
    loaded = {}
    for member in members:
        known = by_name.get(member.name)
        if known is None or known.kind != member.kind:
            raise StudyFileError(
                f"the snapshot `{folder}` has no {member.kind} called `{member.name}`",
                hint="`httpdyno adopt` takes a new one into a new folder",
            )
        loaded[member.name] = Found(
            member=member,
            survey=known.survey,
            files=MemberFiles(
                texts={each.path: _content(folder, _FILES, each) for each in known.files},
                real={each.path: each.real for each in known.files if each.real},
                rights=dict(_rights(known.files)),
                unreadable=known.unreadable,
                patterns=known.patterns,
                served=known.served,
                stand_ins={
                    each.path: _content(folder, _STAND_INS, each) for each in known.stand_ins
                },
            ),
        )
    return Snapshot(members=loaded, taken_at=record.taken_at)


def _rights(files: Iterable[FileRecord]) -> Iterator[tuple[str, Rights]]:
    for each in files:
        if each.mode is not None:
            rights = Rights(user_id=each.user_id, group_id=each.group_id, mode=each.mode)
            yield each.path, rights


def _record(folder: Path) -> SnapshotRecord:
    file = folder / RECORD
    try:
        record = msgspec.json.decode(
            read_regular(file, limit_bytes=_LARGEST_BYTES), type=SnapshotRecord
        )
    except OSError as error:
        raise StudyFileError(
            f"the snapshot `{file}` cannot be read: {reason(error)}",
            hint="`httpdyno adopt` takes one",
        ) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StudyFileError(f"`{file}` is no snapshot: {error}") from error
    if record.format != _FORMAT:
        raise StudyFileError(
            f"`{file}` has format {record.format}, which this version does not know",
            hint="`httpdyno adopt` takes a new one",
        )
    return record


def _content(folder: Path, part: str, known: FileRecord) -> bytes:
    file = f"{folder}/{part}{posixpath.normpath(known.path)}"
    try:
        with ForeignFolder.found(folder).opened(part, *_names(known.path)) as opened:
            text = opened.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise StudyFileError(f"the snapshot lacks `{file}`: {reason(error)}") from error
    if _digest(text) != known.digest:
        raise StudyFileError(
            f"`{file}` of the snapshot is not what it was when it was taken",
            hint="change knobs in the study file; `httpdyno adopt` takes a new snapshot",
        )
    return text
