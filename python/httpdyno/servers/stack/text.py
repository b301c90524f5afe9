"""Edits by byte span: every byte that no edit names stays as it is. Pure."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from httpdyno.errors import AdapterError
from httpdyno.model import Edit


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


def unified_diff(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> str:
    """Return what differs, as `patch -p0` takes it; files are named by their own paths.

    A file that is missing in one of them is empty there.
    """
    lines: list[str] = []
    for path in sorted({*before, *after}):
        old, new = (_lines(side.get(path, b"")) for side in (before, after))
        for line in difflib.unified_diff(old, new, _name(path, before), _name(path, after)):
            lines += [line] if line.endswith("\n") else [line, "\n\\ No newline at end of file\n"]
    return "".join(lines)


def _name(path: str, files: Mapping[str, bytes]) -> str:
    return path if path in files else "/dev/null"


def _lines(text: bytes) -> list[str]:
    # Bytes that are no UTF-8 come out of a diff as they went in.
    return text.decode("utf-8", errors="surrogateescape").splitlines(keepends=True)
