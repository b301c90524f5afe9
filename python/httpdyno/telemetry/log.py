"""What a server writes into its error logs while it is loaded: read after that, told by kinds.

While load is timed nothing is read: the sizes of the logs are noted before it, and what was added
is read after it. The logs are other users', and root reads them: whoever may write to their folders
must not be able to have it read what he may not.

Apache, nginx, php-fpm, gunicorn, uvicorn, Python's logging, logfmt and JSON have their levels in
one of a few ways. Lines of a kind are counted, and one is kept: a server that complains of each
request writes millions of them.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec import structs

from httpdyno.host.foreign_files import ForeignFolder
from httpdyno.host.foreign_text import visible
from httpdyno.model import LogKind, LogLevel, LogLines
from httpdyno.secret import without_passwords

MOST_KINDS = 8
MOST_CHARACTERS = 300
"""Of an example, and of a form."""
_LOOKED_AT = 1000
"""Characters of a line, and of those in which its level may stand the first few."""
_HEAD = 240

_MOST_DIFFERENT = 4000
"""Lines that differ in more than digits, of which the first are told apart, in some 0.1 s."""

_LEVELS: dict[str, LogLevel] = {
    **dict.fromkeys(("emerg", "emergency", "alert", "crit", "critical", "fatal"), "critical"),
    **dict.fromkeys(("panic", "fatal error", "parse error"), "critical"),
    **dict.fromkeys(("error", "err", "severe"), "error"),
    **dict.fromkeys(("warn", "warning"), "warning"),
    **dict.fromkeys(("notice", "info", "debug", "deprecated"), "note"),
    **dict.fromkeys(("trace", *(f"trace{n}" for n in range(1, 9))), "note"),
}
_ORDER: tuple[LogLevel, ...] = ("critical", "error", "warning", "", "note")
_NAMES = "|".join(sorted((n for n in _LEVELS if " " not in n), key=len, reverse=True))
_CAPITALS = _NAMES.upper()
_TOLD = (
    re.compile(rf"\[(?:[\w.-]+:)?({_NAMES})\]", re.IGNORECASE),
    re.compile(rf'"(?:level|severity|lvl|levelname)": ?"({_NAMES})"', re.IGNORECASE),
    re.compile(rf"\b(?:level|lvl|severity)=\"?({_NAMES})\b", re.IGNORECASE),
    re.compile(r"PHP (Fatal error|Parse error|Warning|Notice|Deprecated):", re.IGNORECASE),
    re.compile(rf"(?<![\w/.-])({_CAPITALS})(?=[\s:|\],-]|$)"),
    re.compile(r"^(panic|fatal error|fatal|error|warning): ", re.IGNORECASE),
)
_RAISED = re.compile(r"^(?:[\w.]*(?:Error|Exception)(?::|$)|Traceback \(|Uncaught )")

_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_STAMP = (
    r"\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?: ?(?:Z|[+-]\d\d:?\d\d))?)?"
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?"
)
_OPENING = re.compile(
    rf"(?:\s*(?:{_STAMP}|\[[^\]]*\]))*\s*(?:(?:{_CAPITALS})\b\s*[:|\]-]?\s*)?"
    r"(?:\d+#\d+:\s*(?:\*\d+\s*)?)?"
)
"""Time, level and process, as they stand before what is said."""
_QUOTED = re.compile(r'"[^"]*"')
_HEXADECIMAL = re.compile(
    r"\b(?:0x[\da-f]+|(?=[\da-f-]{0,16}[a-f])(?=[a-f-]{0,16}\d)[\da-f-]{8,})\b", re.IGNORECASE
)
"""Addresses and identifiers; of digits alone is a number."""
_NUMBER = re.compile(r"(?<![A-Z\d])\d+(?:[.,:]\d+)*")
"""A number after a capital is a part of a name: `AH00161`."""
_DIGITS = b"0123456789"


def level_of(line: str) -> LogLevel:
    """Return how bad a line is by its own word."""
    head = line[:_HEAD]
    for each in _TOLD:
        if found := each.search(head):
            return _LEVELS[found[1].lower()]
    return "error" if _RAISED.search(head) else ""


def said(line: str) -> str:
    """Return a line without time, level and process; all of it where it has nothing else."""
    bare = _COLOUR.sub("", line)
    return _OPENING.sub("", bare, count=1).strip() or bare.strip()


def form_of(line: str) -> str:
    """Return what a line has in common with others of its kind."""
    text = said(line[:_LOOKED_AT])
    if not text.startswith("{"):  # in JSON all is quoted
        text = _QUOTED.sub('"…"', text)
    text = _NUMBER.sub("#", _HEXADECIMAL.sub("#", text))
    return _shortened(text)


def log_lines(texts: Iterable[bytes], *, unread_bytes: int = 0) -> LogLines:
    """Return what logs say: how many lines, and of which kinds.

    Args:
        texts: Of each log, or of each part of one, whole lines.
        unread_bytes: What there is besides.
    """
    first: dict[bytes, bytes] = {}
    counts: Counter[bytes] = Counter()
    for text in texts:
        # By whole texts, and by digits alone at first: hundreds of thousands of lines take no time.
        lines = text.split(b"\n")
        bare = text.translate(None, _DIGITS).split(b"\n")
        counts.update(bare)
        for key, line in zip(bare, lines, strict=True):
            first.setdefault(key, line)
    entries = {key: line for key, line in first.items() if line.strip() and not line[:1].isspace()}
    kinds: dict[tuple[LogLevel, str], LogKind] = {}
    for key in islice(entries, _MOST_DIFFERENT):
        one = _kind(entries[key], counts[key])
        known = kinds.get((one.level, one.form))
        kinds[one.level, one.form] = one if known is None else _added(known, one, n_starts=1)
    return LogLines(
        n_lines=sum(counts[key] for key in entries),
        kinds=_most(kinds.values()),
        unread_bytes=unread_bytes
        + sum(len(entries[key]) * counts[key] for key in islice(entries, _MOST_DIFFERENT, None)),
    )


def together(parts: Sequence[LogLines]) -> LogLines | None:
    """Return what the logs of several starts say; None of none."""
    if not parts:
        return None
    kinds: dict[tuple[LogLevel, str], LogKind] = {}
    for kind in (kind for part in parts for kind in part.kinds):
        known = kinds.get((kind.level, kind.form))
        n_starts = kind.n_starts + (known.n_starts if known else 0)
        kinds[kind.level, kind.form] = (
            kind if known is None else _added(known, kind, n_starts=n_starts)
        )
    return LogLines(
        n_lines=sum(part.n_lines for part in parts),
        n_starts=sum(part.n_starts for part in parts),
        kinds=_most(kinds.values()),
        unread_bytes=sum(part.unread_bytes for part in parts),
    )


def continued(before: LogLines | None, more: LogLines | None) -> LogLines | None:
    """Return what the logs of one start said, with what they said after that."""
    if before is None or more is None:
        return before or more
    whole = together([before, more])
    assert whole is not None  # noqa: S101 - of two there is one
    return structs.replace(
        whole,
        n_starts=1,
        kinds=tuple(structs.replace(kind, n_starts=1) for kind in whole.kinds),
    )


def worst_first(kinds: Iterable[LogKind]) -> list[LogKind]:
    """Return the kinds by their level, then by their number."""
    return sorted(kinds, key=lambda kind: (_ORDER.index(kind.level), -kind.count))


def _kind(line: bytes, count: int) -> LogKind:
    text = _COLOUR.sub("", line[:_LOOKED_AT].decode("utf-8", errors="replace"))
    text = visible(text).strip()
    if "@" in text:  # of most lines that is soon known
        text = without_passwords(text)
    return LogKind(form=form_of(text), example=_shortened(text), count=count, level=level_of(text))


def _added(known: LogKind, other: LogKind, *, n_starts: int) -> LogKind:
    return LogKind(
        form=known.form,
        example=known.example,
        count=known.count + other.count,
        n_starts=n_starts,
        level=known.level,
    )


def _most(kinds: Iterable[LogKind]) -> tuple[LogKind, ...]:
    return tuple(worst_first(kinds)[:MOST_KINDS])


def _shortened(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[: MOST_CHARACTERS - 1]}…"


_MOST_BYTES = 8 << 20
"""Of a log that are read, half of it from either end; some 50 ms."""


class LogTail:
    """Logs from now on."""

    def __init__(self, paths: Iterable[Path]) -> None:
        """Note where the logs end.

        Args:
            paths: Files that it writes; one that is not there yet may come into a folder that is.
                They are no links, and those of their folders as they are now are what counts
                (`ForeignFolder`).
        """
        self._folders = {path: _folder(path) for path in dict.fromkeys(paths)}
        self._ends = {path: _end(path.name, folder) for path, folder in self._folders.items()}

    def lines(self, *, most_bytes: int = _MOST_BYTES) -> LogLines | None:
        """Return what was added since; None where no log can be read.

        Of one that was rotated meanwhile, what came before that is not found again.
        """
        return self._read(most_bytes, is_last=True)[0]

    def next_lines(self, *, most_bytes: int = _MOST_BYTES) -> LogLines | None:
        """Return what was added since this was called last; None where no log can be read.

        A line whose end is not there yet is left for the next call, which takes it as it is unless
        it has grown.
        """
        found, ends = self._read(most_bytes, is_last=False)
        self._ends |= ends
        return found

    def _read(
        self, most_bytes: int, *, is_last: bool
    ) -> tuple[LogLines | None, dict[Path, "_End"]]:
        texts: list[bytes] = []
        ends: dict[Path, _End] = {}
        unread_bytes = 0
        for path, end in self._ends.items():
            folder = self._folders[path]
            with _opened(path.name, folder) as log:
                now = os.fstat(log.fileno()) if log else None
                is_safe = folder is not None and folder.is_roots
                if log is None or now is None or not (is_safe or end.is_before(now)):
                    continue
                size = now.st_size
                # It was cut off meanwhile, or another one took its place, of whatever size.
                is_same = end.file == (now.st_dev, now.st_ino) and end.size <= size
                began = end.told if is_same else 0
                is_whole = is_last or (is_same and end.size == size)
                parts, told = _parts(log, began, size, most_bytes, is_whole=is_whole)
                texts += parts
                unread_bytes += told - began - sum(map(len, parts))
                ends[path] = _End.of(now, told)
        return log_lines(texts, unread_bytes=unread_bytes) if ends else None, ends


class _End(NamedTuple):
    """Where a log ended."""

    told: int = 0
    """To where it was told: before a line that had no end."""
    size: int = 0
    file: tuple[int, int] = (0, 0)
    """Its device and inode."""
    owner: int | None = None
    """Whose it is; None of one that was not there."""

    @classmethod
    def of(cls, file: os.stat_result, told: int) -> "_End":
        """Return that of a file which was told so far."""
        return cls(told, file.st_size, (file.st_dev, file.st_ino), file.st_uid)

    def is_before(self, file: os.stat_result) -> bool:
        """Whether a file is the same log later, or may have taken its place.

        Who may write to its folder could put another user's there, by another name for it. Whose
        it is counts in any case, since a new file may have the inode of one that is gone. In a
        folder of root's nobody else could: there logrotate may give a new log another owner.
        """
        if self.owner not in {None, file.st_uid}:
            return False
        return file.st_nlink == 1 or self.file == (file.st_dev, file.st_ino)


def _folder(path: Path) -> ForeignFolder | None:
    try:
        return ForeignFolder.found(path.parent)
    except OSError:
        return None


def _end(name: str, folder: ForeignFolder | None) -> _End:
    with _opened(name, folder) as log:
        if log is None:
            return _End()
        now = os.fstat(log.fileno())
        return _End.of(now, now.st_size)


def _parts(
    log: BinaryIO, began: int, size: int, most_bytes: int, *, is_whole: bool
) -> tuple[list[bytes], int]:
    """Return what stands there, of too much whole lines from both ends; and where that ends.

    Args:
        log: The file.
        began: Where it begins.
        size: Of the file.
        most_bytes: To read.
        is_whole: Whether the last line is taken without its end.
    """
    log.seek(began)
    if size - began <= most_bytes:
        parts, last = [], log.read(size - began)
    else:
        parts = [_ended(log.read(most_bytes // 2))]
        log.seek(size - most_bytes // 2)
        last = log.read(most_bytes // 2)
        last = last[last.find(b"\n") + 1 :]
    told = last if is_whole else _ended(last)
    return [*parts, told], size - (len(last) - len(told))


def _ended(text: bytes) -> bytes:
    """Return a text to the end of its last line that has one."""
    return text[: text.rfind(b"\n") + 1]


def _opened(name: str, folder: ForeignFolder | None) -> AbstractContextManager[BinaryIO | None]:
    """Open a file that a server writes; None where there is none."""
    try:
        return folder.opened(name) if folder else nullcontext()
    except (OSError, ValueError):  # the latter of a NUL in its name
        return nullcontext()
