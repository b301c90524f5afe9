"""A configuration's files: read once, kept as a snapshot, edited by byte span.

Edits by byte span: every byte that no edit names stays as it is. Pure.

A configuration's files, read from disk once: what each held, whose it was, where it was found.

Who writes a configuration says what is read for it, and the reader may be root. What is the
kernel's is no file of theirs, and there is an end to what is listed and read.

A copy of a site's configuration, taken once: all arms of all runs of a study come from it.

In a folder lie the files as they were, below `files` at their own paths, and `snapshot.json` with
what is known of each: digest, owner, mode, where a link led. Keys are not among them; what a copy
has in place of one that may not be read lies below `stand-ins`. What may hold secrets of a service
(passwords in a pool's environment) is for its owner only. No path of theirs leads out of
the folder: a `..` is gone from it before it names a file there.
"""

import difflib
import errno
import hashlib
import os
import posixpath
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import msgspec

from httpdyno.errors import AdapterError, StudyFileError
from httpdyno.host.foreign_files import (
    ForeignFolder,
    NewFolder,
    Rights,
    held,
    names_in,
    read_file,
    read_regular,
)
from httpdyno.host.foreign_text import reason
from httpdyno.host.rights import reading_as
from httpdyno.host.runnable import account
from httpdyno.model import Edit, Member, Record, Survey
from httpdyno.servers.link import is_kernels
from httpdyno.servers.stack.adapter import MemberFiles


def edited(text: bytes, edits: Sequence[Edit]) -> bytes:
    """Return a file's bytes with the spans of its edits replaced.

    What is put in at the same place stands in the order of the edits.

    Raises:
        AdapterError: Two edits touch the same bytes, or one lies outside of the text.
    """
    in_order = sorted(edits, key=lambda edit: (edit.start, edit.end))
    for edit in in_order:
        if not 0 <= edit.start <= edit.end <= len(text):
            raise AdapterError(f"`{edit.file}` is not what it was when it was read")
    for before, after in pairwise(in_order):
        if after.start < before.end:
            raise AdapterError(
                f"two changes meet in the same place of `{before.file}`: "
                f"`{before.text.strip()}` and `{after.text.strip()}`"
            )
    pieces: list[bytes] = []
    reached = 0
    for edit in in_order:
        pieces += [text[reached : edit.start], edit.text.encode()]
        reached = edit.end
    return b"".join([*pieces, text[reached:]])


def edited_files(texts: Mapping[str, bytes], edits: Iterable[Edit]) -> dict[str, bytes]:
    """Return the files that edits change: path → new content."""
    by_file: dict[str, list[Edit]] = {}
    for edit in edits:
        by_file.setdefault(edit.file, []).append(edit)
    return {file: edited(texts[file], of_file) for file, of_file in by_file.items()}


_NO_NEWLINE = "\n\\ No newline at end of file\n"


def unified_diff(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    """Return what differs, as `patch -p0` takes it; files are named by their own paths.

    A file that is missing in one of them is empty there.
    """
    lines: list[str] = []
    for path in sorted({*before, *after}):
        old, new = (_lines(side.get(path, b"")) for side in (before, after))
        for line in difflib.unified_diff(old, new, _name(path, before), _name(path, after)):
            lines += [line] if line.endswith("\n") else [line, _NO_NEWLINE]
    return "".join(lines)


def _name(path: str, files: Mapping[str, bytes]) -> str:
    return path if path in files else "/dev/null"


def _lines(text: bytes) -> list[str]:
    # Bytes that are no UTF-8 come out of a diff as they went in.
    return text.decode("utf-8", errors="surrogateescape").splitlines(keepends=True)


_LARGEST_FILE_BYTES = 16 << 20
_MOST_BYTES = 64 << 20
_MOST_FILES = 20_000
_MOST_NAMES = 50_000
"""Of all folders that includes look into."""


class TheirFiles:
    """What was read of one server's configuration."""

    def __init__(self, root: str = "", user: str = "") -> None:
        """Read nothing yet.

        Args:
            root: The folder that is `/` for that server, such as `/proc/PID/root`; empty for ours.
            user: Whose server it is, by name or number; empty is root's, or not known.

        Raises:
            AdapterError: There is no such user.
        """
        self._root = root
        self._user = account(user)[0] if user else 0
        """On whose word files are read: the server's user's, or of who owns the first file."""
        self.texts: dict[str, bytes] = {}
        """Path as the server opens it → content, in the order in which they were read."""
        self.real: dict[str, str] = {}
        """Path → the file that a link there leads to; only where it differs."""
        self.rights: dict[str, Rights] = {}
        self._names: dict[str, list[str]] = {}
        self._n_names = 0
        self._n_bytes = 0

    def content(self, path: str, *, limit_bytes: int = _LARGEST_FILE_BYTES) -> bytes:
        """Return what a file holds, as it was when it was first read.

        Raises:
            OSError: It is not there, cannot be read, or is no file of theirs.
            AdapterError: So much was read that this can be no configuration.
        """
        if path not in self.texts:
            with reading_as(self._user):
                found = read_file(f"{self._root}{path}", limit_bytes=limit_bytes)
            real = found.real.removeprefix(self._root)
            if is_kernels(real):
                raise OSError(errno.EINVAL, "it is the kernel's, no file of a configuration", path)
            if not self._is_plain(path, found.real):
                raise OSError(
                    errno.EINVAL,
                    f"a `..` in it follows a link; name the file itself, `{real}`",
                    path,
                )
            self._n_bytes += len(found.content)
            if self._n_bytes > _MOST_BYTES or len(self.texts) >= _MOST_FILES:
                raise AdapterError(
                    f"`{path}` is left out: what was read before it is {len(self.texts):,} files "
                    f"of {self._n_bytes >> 20:,} MiB, expected a configuration",
                    hint=f"At most {_MOST_FILES:,} files and {_MOST_BYTES >> 20} MiB are read.",
                )
            if not self.texts and not self._user and found.rights.user_id is not None:
                self._user = found.rights.user_id
            self.texts[path] = found.content
            self.rights[path] = found.rights
            if real != path:
                self.real[path] = real
        return self.texts[path]

    def _is_plain(self, path: str, real: str) -> bool:
        """Whether a path leads to the same file where each `..` takes the name before it away.

        Copies and snapshots have files by such paths: two files must not have the same one.
        """
        if ".." not in path.split("/"):
            return True
        with suppress(OSError), held(f"{self._root}{posixpath.normpath(path)}") as found:
            return found.real == real
        return False

    def names(self, folder: str) -> list[str]:
        """Return the names in a folder; empty where it is none, or the kernel's.

        Raises:
            AdapterError: So much was listed that these can be no folders of a configuration.
        """
        if folder in self._names:
            return self._names[folder]
        with reading_as(self._user):
            is_folder = self.is_folder(folder)
            found = names_in(f"{self._root}{folder}") if is_folder else []
        self._names[folder] = found
        self._n_names += len(found)
        if self._n_names > _MOST_NAMES:
            raise AdapterError(
                f"the includes of this configuration look at more than {_MOST_NAMES:,} files, "
                f"the last of them in `{folder}`",
                hint="Name the folder of the configuration alone.",
            )
        return found

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder that can hold files of theirs."""
        with suppress(OSError), held(f"{self._root}{path}") as found:
            is_folder = stat.S_ISDIR(found.info().st_mode)
            return is_folder and not is_kernels(f"{found.real}/")
        return False

    def is_there(self, path: str) -> bool:
        """Whether there is anything."""
        return os.path.lexists(f"{self._root}{path}")


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
