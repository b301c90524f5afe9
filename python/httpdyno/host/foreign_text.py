"""What others made, taken with care: files that need not be files, and text that is to be shown.

Everything that is read at a path somebody gave, or where others may write, goes through
`opened_regular`: opening a FIFO waits for ever, a device never ends, and a link of another user's
may lead to what only the reader may read (`foreign_path`). Everything foreign that is printed or
written goes through `visible`: what a server, a log or a study says must not move the cursor,
change colours or turn the order of words round.
"""

import errno
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

SCHEME = "[A-Za-z][A-Za-z0-9+.-]*://"
"""What a whole URL begins with, as a pattern (RFC 3986, section 3.1). Paths and queries may hold
`://` further on."""
_WHOLE_URL = re.compile(SCHEME)
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}

# C0 without tab and line feed, DEL and C1; what turns the direction of text (Unicode Standard
# Annex 9, section 2); two line breaks that only some see; halves of characters, which are bytes
# of a name that is not UTF-8 and cannot be written.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_BYTES = range(0x80, 0x100)
_TO_KEPT = {0xDC00 + byte: 0xF700 + byte for byte in _BYTES}
_FROM_KEPT = {kept: escaped for escaped, kept in _TO_KEPT.items()}
_KEPT = re.compile("[\uf780-\uf7ff]")


def is_whole_url(text: str) -> bool:
    """Whether a text begins with a scheme, as against a path or `host:port`."""
    return _WHOLE_URL.match(text) is not None


def visible(text: str) -> str:
    r"""Return the text with all that would steer a terminal or the reading order written out.

    As `\u001b`, which JSON and JavaScript read as the same character; so JSON text may go
    through here too, and means what it meant.
    """
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def kept_text(data: bytes) -> str:
    """Return bytes as text of which `kept_bytes` makes the same bytes again, whatever they are.

    A byte that is no part of UTF-8 becomes a character for private use: JSON, databases and files
    take these, and none of them takes the lone surrogates that Python has for it.
    """
    text = data.decode(errors="surrogateescape")
    if _KEPT.search(text):  # theirs, and so to be told from ours
        text = _KEPT.sub(lambda found: found[0].encode().decode("ascii", "surrogateescape"), text)
    return text.translate(_TO_KEPT)


def kept_bytes(text: str) -> bytes:
    """Return the bytes that `kept_text` made this text of."""
    return text.translate(_FROM_KEPT).encode(errors="surrogateescape")


def readable(text: str) -> str:
    """Return such a text for people, with one sign for each byte that is no character."""
    return _KEPT.sub("\N{REPLACEMENT CHARACTER}", text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rights:
    """Whose a file is, and who may do what with it."""

    user_id: int = 0
    group_id: int = 0
    mode: int = 0o600
    """As `chmod` takes it."""

    @classmethod
    def of(cls, info: os.stat_result) -> "Rights":
        """Return those of a file that was looked at."""
        return cls(user_id=info.st_uid, group_id=info.st_gid, mode=stat.S_IMODE(info.st_mode))


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadFile:
    """A regular file as it was when it was read."""

    content: bytes
    rights: Rights
    real: str
    """Its path without links; of one that another process sees, as that does."""


def opened_regular(path: Path | str) -> BinaryIO:
    """Open a regular file for reading; never waits for whoever would write at its other end.

    Raises:
        OSError: It cannot be opened, is none, or another user's link leads there to what is not
            his; the reason is its `strerror`.
    """
    from httpdyno.host.foreign_path import held  # noqa: PLC0415 - help prints, and opens nothing

    with held(path) as found:
        # What is none is not even opened: of some devices that alone does something.
        _refuse_irregular(found.info().st_mode, path)
        return os.fdopen(found.opened(), "rb")


def read_regular(path: Path | str, *, limit_bytes: int) -> bytes:
    """Return what a regular file holds.

    Raises:
        OSError: As `opened_regular`; or it is longer than the limit.
    """
    with opened_regular(path) as file:
        return _content(file, path, limit_bytes)


def read_file(path: Path | str, *, limit_bytes: int) -> ReadFile:
    """Return what a regular file holds, with whose it is and where it was found.

    Raises:
        OSError: As `read_regular`.
    """
    from httpdyno.host.foreign_path import held  # noqa: PLC0415 - as above

    with held(path) as found:
        _refuse_irregular(found.info().st_mode, path)
        with os.fdopen(found.opened(), "rb") as file:
            content = _content(file, path, limit_bytes)
            rights = Rights.of(os.fstat(file.fileno()))
        return ReadFile(content=content, rights=rights, real=found.real)


def regular(handle: int, name: str) -> BinaryIO:
    """Return what was opened, where it is a regular file; close it where it is none.

    Raises:
        OSError: It is none.
    """
    try:
        _refuse_irregular(os.fstat(handle).st_mode, name)
    except OSError:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def reason(error: OSError) -> str:
    """Return why something failed, as it stands in a sentence: `no such file or directory`."""
    text = error.strerror or str(error)
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def is_there(path: Path) -> bool:
    """Tell whether there is something; False also for names that no file can have."""
    try:
        path.lstat()
        path.stat()
    except (OSError, ValueError):
        return False
    return True


def _content(file: BinaryIO, path: Path | str, limit_bytes: int) -> bytes:
    content = file.read(limit_bytes + 1)
    if len(content) > limit_bytes:
        raise OSError(errno.EFBIG, f"larger than {limit_bytes >> 10:,} KiB", str(path))
    return content


def _refuse_irregular(mode: int, path: Path | str) -> None:
    kind = stat.S_IFMT(mode)
    if kind != stat.S_IFREG:
        what = _KINDS.get(kind, "something else")
        raise OSError(errno.EINVAL, f"it is {what}, not a regular file", str(path))
