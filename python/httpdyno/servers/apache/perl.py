"""What an Apache's Perl has, by its files: nothing of it is run."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from httpdyno.host.foreign_files import is_there, read_regular
from httpdyno.model import Reading, Survey
from httpdyno.servers.apache.text import words

_MODULE = "perl_module"
_STARTUP = frozenset({"perlrequire", "perlconfigrequire", "perlpostconfigrequire"})
_MOST_BYTES = 1 << 20
_VARIABLES = frozenset({"PERL5LIB", "PERLLIB", "PERL5OPT"})
"""Name further folders of modules; their values are not read."""
_FOLDERS = (
    *("etc/perl", "usr/share/perl5", "usr/share/perl5/*_perl", "usr/share/perl/*"),
    *("usr/lib/*/perl5/*", "usr/lib/*/perl/*", "usr/lib/*/perl-base"),
    *(
        "usr/lib64/perl5",
        "usr/lib64/perl5/*_perl",
        "usr/lib/perl5/*_perl",
        "usr/lib/perl5/*/*_perl",
    ),
    *("usr/local/lib/*/perl/*", "usr/local/share/perl/*", "usr/local/share/perl5"),
    *("usr/local/share/perl5/*", "usr/local/lib64/perl5", "usr/local/lib64/perl5/*"),
    *("usr/local/lib/site_perl", "usr/local/lib/perl5/*", "usr/local/lib/perl5/*/*"),
    *("usr/local/lib/perl5/site_perl/*/*",),
)
"""Where distributions, and a Perl of one's own below /usr/local, keep modules: `@INC`."""
_SIZE_LIMIT, _SMAPS = "Apache2/SizeLimit.pm", "Linux/Smaps.pm"
_LIB = re.compile(r"^\s*use\s+lib\b(.*)", re.MULTILINE)
_PLAIN_LIB = re.compile(
    r"\s*\(?\s*(?:qw\s*[({/]\s*(\S+?)\s*[)}/]|'([^']*)'|\"([^\"$@]*)\")\s*\)?\s*;.*"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class PerlFiles:
    """What of a mod_perl stands in files."""

    has_smaps: bool | None = None
    """Whether the module Linux::Smaps is there; None where Perl's folders are not known."""
    startup: Mapping[str, str] = field(default_factory=dict)
    """Path → text of what the configuration has run at the start, as far as it may be read."""


def perl_files(
    survey: Survey, environment_names: Sequence[str] | None, root: Path = Path("/")
) -> PerlFiles | None:
    """Return what there is; None of a server without mod_perl.

    Args:
        survey: What the configuration says.
        environment_names: Of the server; None where they are not known.
        root: Of the file system.
    """
    if _MODULE not in survey.modules:
        return None
    startup = dict(_startup(survey, root))
    folders = [each for pattern in _FOLDERS for each in root.glob(pattern)]
    own, is_told = _own_folders(survey, startup.values())
    folders += [root / each.lstrip("/") for each in own]
    has_smaps: bool | None = None
    if any(is_there(each / _SMAPS) for each in folders):
        has_smaps = True
    elif environment_names is not None and _VARIABLES.isdisjoint(environment_names) and is_told:
        # The Perl whose folders have SizeLimit is the one that Apache runs.
        has_smaps = False if any(is_there(each / _SIZE_LIMIT) for each in folders) else None
    return PerlFiles(has_smaps=has_smaps, startup=startup)


def _startup(survey: Survey, root: Path) -> Iterator[tuple[str, str]]:
    server_root = next((each.text for each in survey.readings if each.name == "ServerRoot"), "/")
    for reading in survey.readings:
        if reading.name.lower() not in _STARTUP:
            continue
        for word in words(reading.text)[:1]:
            path = posixpath.join(server_root, word)
            with suppress(OSError, ValueError):
                text = read_regular(root / path.lstrip("/"), limit_bytes=_MOST_BYTES)
                yield path, text.decode("utf-8", errors="replace")


def _own_folders(survey: Survey, texts: Iterable[str]) -> tuple[list[str], bool]:
    """Return the folders that the configuration adds, and whether they are all that it adds."""
    found, is_told = [], True
    for reading in survey.readings:
        if reading.name.lower() == "perlswitches":
            for word in words(reading.text):
                found += [word[2:]] if word.startswith("-I") and word[2:] else []
                is_told = is_told and word != "-I" and not word.startswith("-Mlib")
    lines = "\n".join([*(_line(each) for each in survey.readings), *texts])
    for match in _LIB.finditer(lines):
        plain = _PLAIN_LIB.fullmatch(match[1])
        if plain is None:
            is_told = False
        else:
            found.append(next(each for each in plain.groups() if each is not None))
    return found, is_told


def _line(reading: Reading) -> str:
    """Return a line of a `<Perl>` section, of which a reading is made as of a directive."""
    return f"{reading.name} {reading.text}"
