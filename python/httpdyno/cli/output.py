"""Where results go: text on stdout, JSON and HTML into files, all checked before a run begins."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpdyno import __version__
from httpdyno.cli.standard_streams import say_patch, say_raw
from httpdyno.errors import UsageError
from httpdyno.host.foreign_files import opened_anew, opened_regular, refuse_others
from httpdyno.host.foreign_text import reason, visible

STDOUT = "-"
_FROM_FILE = "@"
_WRITER = "httpdyno"
"""The first key of every JSON document, with the version that wrote it."""
_LOOKED_AT_BYTES = 1 << 16
_OURS = re.compile(
    rb"\{\s*\"httpdyno\":"  # JSON
    rb"|t_s,offered,completed,errors,p50_s,p99_s,max_s\n"  # CSV
    rb"|#\[[^\n]* httpdyno |\s*Value +Percentile(?s:.)*?\n#\[[^\n]* httpdyno "  # HdrHistogram's
    rb"|# HELP httpdyno_load_"  # Prometheus' format
    rb"|(?s:.){0,1000}<meta name=\"generator\" content=\"httpdyno "  # HTML
    rb"|What run \S+ of httpdyno changes, "  # patches
)
"""How each file that httpdyno writes begins."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outputs:
    """What was asked to be written beside the text."""

    json: str | None = None
    """A file, or `-` for stdout instead of the text."""
    html: str | None = None
    """A file; `{id}` in it is the run's id."""
    diff: str | None = None
    """A file, or `-` for stdout instead of the text."""
    has_secrets: bool = False
    """Whether values of cookies, the environment and their like are written too."""
    is_verbose: bool = False
    """Whether the text has all that was seen, and what its columns are."""
    is_forced: bool = False
    """Whether files that httpdyno did not write are overwritten."""

    @property
    def has_text(self) -> bool:
        """Whether the text goes to stdout."""
        return self.json != STDOUT

    def html_path(self, run_id: str) -> Path | None:
        """Return the report's path for a run."""
        return None if self.html is None else Path(self.html.replace("{id}", run_id))

    def check(self) -> None:
        """Refuse files that may not be written, before minutes are spent on their content.

        Raises:
            UsageError: With the path and the reason.
        """
        if self.html == STDOUT:
            raise UsageError("`--html` writes a file, not stdout", hint="such as `--html run.html`")
        given = {"--json": self.json, "--html": self.html, "--diff": self.diff}
        files = [(option, to) for option, to in given.items() if to is not None]
        check_files(files, is_forced=self.is_forced)

    def write_json(self, document: Mapping[str, Any]) -> None:
        """Write a document where JSON was asked for."""
        if self.json == STDOUT:
            say_raw(json_text(document))
        elif self.json is not None:
            write_text(Path(self.json), json_text(document), is_forced=self.is_forced)

    def write_html(self, page: str, *, run_id: str = "") -> Path | None:
        """Write a page where it was asked for; return its path."""
        path = self.html_path(run_id)
        if path is not None:
            write_text(path, page, is_forced=self.is_forced)
        return path

    def write_diff(self, patch: bytes, *, run_id: str) -> None:
        """Write a patch where it was asked for; what a file says of it is no part of it."""
        if self.diff == STDOUT:
            say_patch(patch)
        elif self.diff is not None:
            head = f"What run {run_id} of httpdyno changes, for `patch -p1`:\n".encode()
            _write_bytes(Path(self.diff), head + patch, is_forced=self.is_forced)


def check_files(files: Sequence[tuple[str, str]], *, is_forced: bool = False) -> None:
    """Refuse files that may not be written.

    Args:
        files: Options, each with what was given to it.
        is_forced: Whether files that httpdyno did not write are overwritten.

    Raises:
        UsageError: With the option, the path and the reason.
    """
    seen: dict[Path, str] = {}
    for option, text in files:
        if text == STDOUT:
            continue
        path = Path(text)
        _check_writable(path, option, is_forced=is_forced)
        before = seen.setdefault(path.absolute(), option)
        if before != option:
            raise UsageError(
                f"`{before} {text}` and `{option} {text}` are one file", hint="name another one"
            )


def _check_writable(path: Path, option: str, *, is_forced: bool) -> None:
    text = f"{path}"
    if text.startswith(_FROM_FILE):
        raise UsageError(
            f"`{option} {text}` begins with `@`, which stands before files that are read",
            hint=f"write `{option} {text.removeprefix(_FROM_FILE) or 'FILE'}`",
        )
    try:
        _check_place(path, option)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no file can have such a name"
        raise UsageError(f"`{option} {path}` cannot be written: {why.lower()}") from error
    _refuse_foreign(path, f"`{option} {path}`", is_forced=is_forced)


def _check_place(path: Path, option: str) -> None:
    if path.is_dir():
        raise UsageError(f"`{option} {path}` is a folder, expected a file")
    if not path.parent.is_dir():
        raise UsageError(
            f"`{option} {path}` is in a folder that does not exist",
            hint=f"make it first: `mkdir -p {path.parent}`",
        )
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"`{option} {path}` cannot be written")
    refuse_others(path)
    if path.is_fifo():
        raise UsageError(f"`{option} {path}` is a FIFO, expected a file")


def write_text(path: Path, text: str, *, is_forced: bool = False) -> None:
    """Write a file whole.

    Raises:
        UsageError: It cannot be written, or httpdyno did not write what is there.
    """
    _write_bytes(path, visible(text).encode(), is_forced=is_forced)


def _write_bytes(path: Path, data: bytes, *, is_forced: bool) -> None:
    try:
        _refuse_foreign(path, f"`{path}`", is_forced=is_forced)
        with os.fdopen(opened_anew(path), "wb") as file:
            file.write(data)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written: {reason(error)}") from error


def json_text(document: Mapping[str, Any]) -> str:
    """Return a document as JSON that says who wrote it."""
    # Infinity and NaN are no JSON; documents say null where the data bound nothing.
    whole = {_WRITER: __version__, **document}
    return f"{json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False)}\n"


def _refuse_foreign(path: Path, what: str, *, is_forced: bool) -> None:
    """Refuse a file that httpdyno did not write; an empty one, a device and none are well."""
    if is_forced or not path.is_file() or not path.stat().st_size:
        return
    try:
        with opened_regular(path) as file:
            start = file.read(_LOOKED_AT_BYTES)
    except OSError:
        start = b""
    if not _OURS.match(start):
        raise UsageError(
            f"{what} is a file that httpdyno did not write",
            hint="name another file, or add `--force` to overwrite it",
        )
