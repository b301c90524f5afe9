"""Where results go: text on stdout, JSON and HTML into files, all checked before a run begins."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpdyno.cli.standard_streams import say
from httpdyno.errors import UsageError
from httpdyno.foreign_path import opened_anew, refuse_others
from httpdyno.foreign_text import reason, visible

STDOUT = "-"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outputs:
    """What was asked to be written beside the text."""

    json: str | None = None
    """A file, or `-` for stdout instead of the text."""
    html: str | None = None
    """A file; `{id}` in it is the run's id."""
    has_secrets: bool = False
    """Whether values of cookies, the environment and their like are written too."""

    @property
    def has_text(self) -> bool:
        """Whether the text goes to stdout."""
        return self.json != STDOUT

    def html_path(self, run_id: str) -> Path | None:
        """Return the report's path for a run."""
        return None if self.html is None else Path(self.html.replace("{id}", run_id))

    def check(self) -> None:
        """Refuse files that could not be written, before minutes are spent on their content.

        Raises:
            UsageError: With the path and the reason.
        """
        for option, text in (("--json", self.json), ("--html", self.html)):
            if text is not None and text != STDOUT:
                check_writable(Path(text), option)
        if self.html == STDOUT:
            raise UsageError("`--html` writes a file, not stdout", hint="such as `--html run.html`")


def check_writable(path: Path, option: str) -> None:
    """Refuse a file that could not be written.

    Raises:
        UsageError: With the option, the path and the reason.
    """
    try:
        _check_place(path, option)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no file can have such a name"
        raise UsageError(f"`{option} {path}` cannot be written: {why.lower()}") from error


def _check_place(path: Path, option: str) -> None:
    if path.is_dir():
        raise UsageError(f"`{option} {path}` is a folder, expected a file")
    if not path.parent.is_dir():
        raise UsageError(f"`{option} {path}` is in a folder that does not exist")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"`{option} {path}` cannot be written")
    refuse_others(path)
    if path.is_fifo():
        raise UsageError(f"`{option} {path}` is a FIFO, expected a file")


def write_text(path: Path, text: str) -> None:
    """Write a file whole.

    Raises:
        UsageError: It cannot be written.
    """
    write_bytes(path, visible(text).encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole, every byte as it is.

    Raises:
        UsageError: It cannot be written.
    """
    try:
        with os.fdopen(opened_anew(path), "wb") as file:
            file.write(data)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written: {reason(error)}") from error


def write_json(document: Mapping[str, Any], to: str) -> None:
    """Write a document as JSON to a file, or to stdout for `-`."""
    # Infinity and NaN are no JSON; documents say null where the data bound nothing.
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    if to == STDOUT:
        say(text)
    else:
        write_text(Path(to), f"{text}\n")
