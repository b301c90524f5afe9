"""A study that is to be run: one that others may have written is asked about, once.

All commands that run a study open it here, or ask here for the study of a stored run.
"""

import os
import pwd
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import typer
from msgspec.structs import replace
from rich.table import Table
from rich.text import Text

from httpdyno.catalog import bundled_studies, open_study, study_path
from httpdyno.cli.console import messages
from httpdyno.cli.standard_streams import tell
from httpdyno.errors import StudyFileError, UsageError
from httpdyno.host.foreign_text import reason, visible
from httpdyno.model import Study
from httpdyno.reason import Reason
from httpdyno.report.shared.message import text, texts
from httpdyno.study.trust.held import Held, changed_files, held
from httpdyno.study.trust.owner import doubt_of
from httpdyno.study.trust.record import home, let_go, trust, trusted_digest
from httpdyno.study.uses import Use, uses_of


def uses_json(uses: Sequence[Use]) -> list[dict[str, str]]:
    """Return them as documents have them."""
    texted = zip(uses, texts([each.text for each in uses]), strict=True)
    return [{"of": each.of, "what": each.label, "text": words} for each, words in texted]


def runs_as() -> tuple[tuple[str, str], str]:
    """Return the heading: as whom all of it would run."""
    user = os.geteuid()
    try:
        name = pwd.getpwuid(user).pw_name
    except KeyError:
        name = f"user {user}"
    return (f"runs as {name}", "bold"), ", all that a run would start or touch"


def uses_table(uses: Sequence[Use]) -> Table:
    """Return them a line each, with whose they are where there are several servers."""
    table = Table(box=None, padding=(0, 2, 0, 2), pad_edge=False, show_header=False)
    has_several = len({each.of for each in uses if each.of}) > 1
    if has_several:
        table.add_column(style="cyan")
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for each in uses:
        # A line break of the study's is not to begin what looks like another line.
        [use] = texts([each.text])
        shown = Text(visible(use.replace("\n", "\\n").replace("\t", "\\t")))
        table.add_row(*([each.of] if has_several else []), each.label, shown)
    return table


_ANSWERED = "HTTPDYNO_TRUSTED"
"""Set once it was answered: this command may be run anew in a user namespace."""
_MOST_SHOWN = 5
_OUTSIDE = "it is asked about each time, as no copy holds what it names outside"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Foreign:
    """A study that others may have written."""

    named: str
    """As it was given."""
    file: Path
    """Where it is, by a path without links."""
    doubt: Reason
    """Who may have written it."""
    held: Held


def open_to_run(name_or_path: str, *, is_trusted: bool) -> Study:
    """Return a study that is to be run: of one that others may have written, the trusted copy.

    Args:
        name_or_path: As for `open_study`.
        is_trusted: Whether it was said that it is, as it is now.

    Raises:
        StudyFileError: There is none, or it is wrong.
        UsageError: Others may have written it, and nobody said that it is trusted.
        StoreError: What is trusted cannot be kept.
    """
    file = study_path(name_or_path)
    if file in bundled_studies().values():
        return open_study(name_or_path)
    # Once: a link on the way could lead elsewhere by the next time.
    real = _real(file)
    foreign = _foreign(name_or_path, real)
    if foreign is None:
        # By the name as it was given, for messages, where that has no link and no `..`.
        return open_study(name_or_path if real == Path.cwd() / file else str(real))
    _require_trust(foreign, is_trusted=is_trusted)
    return open_study(str(_to_run(foreign)))


def to_go_on(study: Study, *, is_trusted: bool) -> Study:
    """Return the study of a stored run, whose files are read anew, the same way.

    Raises:
        UsageError: As `open_to_run`.
        StoreError: Likewise.
    """
    folder = Path(study.folder)
    if not folder.is_dir() or folder in {each.parent for each in bundled_studies().values()}:
        return study
    real = _real(folder / (study.file or "study.toml"))
    foreign = _foreign(study.name, real)
    if foreign is None:
        is_there = real == folder / study.file
        return study if is_there else replace(study, folder=str(real.parent), file=real.name)
    _require_trust(foreign, is_trusted=is_trusted)
    file = _to_run(foreign)
    return replace(study, folder=str(file.parent), file=file.name)


def _real(file: Path) -> Path:
    try:
        return file.resolve()
    except (OSError, RuntimeError) as error:
        raise _unreadable(file, error) from error


def _foreign(named: str, real: Path) -> _Foreign | None:
    try:
        doubt = doubt_of(real.parent)
        if doubt is None:
            return None
        return _Foreign(named=named, file=real, doubt=doubt, held=held(real, home()))
    except (OSError, RuntimeError) as error:
        raise _unreadable(real, error) from error


def _unreadable(file: Path, error: OSError | RuntimeError) -> StudyFileError:
    words = reason(error) if isinstance(error, OSError) else str(error)
    return StudyFileError(f"study file `{file}` cannot be read: {words}")


def _to_run(foreign: _Foreign) -> Path:
    """Return the file that is opened: the copy, which nobody else can change, where that can be."""
    folder = foreign.held.folder if foreign.held.is_whole else foreign.file.parent
    return folder / foreign.file.name


def _require_trust(foreign: _Foreign, *, is_trusted: bool) -> None:
    digest, before = foreign.held.digest, trusted_digest(foreign.file)
    # What others can change at any time is not what it was.
    is_known = digest == before and not foreign.held.outside
    if is_known or os.environ.get(_ANSWERED) == digest:
        return
    if not is_trusted:
        try:
            _ask(foreign, _changes(before, foreign) if before not in {"", digest} else [])
        except BaseException:
            let_go(foreign.held)
            raise
    else:
        _tell_not_held(foreign.held)
    os.environ[_ANSWERED] = digest
    trust(foreign.file, digest)


def _ask(foreign: _Foreign, changes: Sequence[str | Reason]) -> None:
    """Ask whoever is at the terminal, with all that would be run.

    Raises:
        UsageError: The answer is no, or nobody is there.
    """
    outside, doubt = foreign.held.outside, text(foreign.doubt)
    if not (_is_terminal(sys.stdin) and _is_terminal(sys.stderr)):
        since = f", and {_listed(changes)} since you trusted it" if changes else ""
        live = f"; {_OUTSIDE}: {_listed(outside)}" if outside else ""
        raise UsageError(
            f"study `{foreign.named}` is not run before you trust it: {doubt}{since}{live}",
            hint=f"`httpdyno study show {foreign.named}` lists all that it would run; "
            "`--trust` runs it as it is now",
        )
    study = open_study(str(_to_run(foreign)))
    console = messages()
    tell(f"study {foreign.named} may be another's: {doubt}")
    if changes:
        tell(f"since you trusted it: {_listed(changes)}")
    _tell_not_held(foreign.held)
    console.print("".join(words if isinstance(words, str) else words[0] for words in runs_as()))
    console.print(uses_table(uses_of(study)))
    if not typer.confirm("Run it?", default=False, err=True):
        raise UsageError(f"study `{foreign.named}` is not trusted, and so not run")


def _tell_not_held(copy: Held) -> None:
    if copy.outside:
        tell(f"{_OUTSIDE}: {_listed(copy.outside)}")
    if copy.left_out and copy.is_whole:
        tell(f"left out of what is run: {_listed(copy.left_out)}")


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _changes(before: str, foreign: _Foreign) -> Sequence[str | Reason]:
    folder = foreign.held.folder
    known = folder.parent / before
    return changed_files(known, folder) if known.is_dir() else ["it was changed"]


def _listed(what: Sequence[str | Reason]) -> str:
    more = len(what) - _MOST_SHOWN
    return ", ".join(texts(what[:_MOST_SHOWN])) + (f" and {more} more" if more > 0 else "")
