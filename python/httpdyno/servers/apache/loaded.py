"""Which interpreters a study's Apache loads, and of which versions.

They serve most of what is measured, and Apache's own version says nothing of them. The running
server writes them into its log, but a run that goes on has to know before it starts one.
"""

import functools
import re
import shutil
from pathlib import Path

from httpdyno.host.foreign_files import read_regular
from httpdyno.model import ServerSpec
from httpdyno.servers.apache.config import load_lines, multi_processing, wanted_modules
from httpdyno.servers.apache.installation import Installation, output_of
from httpdyno.servers.command.program import version_of
from httpdyno.servers.staging import clean_environment

_LARGEST_BYTES = 128 << 20
_LOAD = re.compile(
    r'^\s*LoadModule\s+(\w+)_module\s+"?(/[^"\s{}]+)"?\s*$', re.MULTILINE | re.IGNORECASE
)
"""In a base file; what is no plain path is a template's doing and not followed."""
_PERL = "perl"
_PHP = re.compile(r"php\d*")
_MOD_PERL_WRITES = re.compile(rb"mod_perl/\d[\w.-]*")
_PHP_WRITES = re.compile(rb"PHP/\d[\w.+~-]*")
"""What the modules have Apache add to its name; it stands in their files as it is."""
_PERL_SAYS = re.compile(r"^Perl/v[\d.]+$", re.MULTILINE)
_ASK = "Perl syswrite STDOUT, sprintf(qq(Perl/v%vd\\n), $^V)"


def interpreters(
    spec: ServerSpec, study_folder: Path, installation: Installation
) -> tuple[str, ...]:
    """Return those that a study's Apache loads, `mod_perl/2.0.12`, `Perl/v5.36.0`, `PHP/8.2.29`.

    Of a study whose Perl programs are no part of Apache, the Perl that is installed. What cannot be
    told is left out; whatever a base file includes is not looked into.

    Raises:
        AdapterError: Apache cannot be asked.
    """
    files = {name: installation.module_file(name) for name in wanted_modules(spec)}
    files |= {name.lower(): Path(path) for name, path in _LOAD.findall(_base(spec, study_folder))}
    found: list[str] = []
    if _PERL in files:
        found += _written(files[_PERL], _MOD_PERL_WRITES)
        found += _perl(spec, files[_PERL], installation)
    elif spec.settings.get("perl_modules") and (perl := shutil.which("perl")):
        found.append(version_of(Path(perl), clean_environment()))
    for name, file in files.items():
        if _PHP.fullmatch(name):
            found += _written(file, _PHP_WRITES)
    return tuple(found)


def _base(spec: ServerSpec, study_folder: Path) -> str:
    if not spec.base:
        return ""
    try:
        text = read_regular(study_folder / spec.base, limit_bytes=_LARGEST_BYTES)
        return text.decode("utf-8", errors="replace")
    except OSError:
        return ""  # who renders it says what is wrong


def _written(module: Path, name: re.Pattern[bytes]) -> list[str]:
    """Return what a module's file says that it is; empty where it cannot be read."""
    try:
        found = name.search(read_regular(module, limit_bytes=_LARGEST_BYTES))
    except OSError:
        return []
    return [found[0].decode()] if found else []


def _perl(spec: ServerSpec, module: Path, installation: Installation) -> list[str]:
    """Return the version of the library that mod_perl is linked to, which no file of it tells."""
    lines = load_lines((f"mpm_{multi_processing(spec)}",), installation)
    if _PERL not in installation.built_in:
        lines.append(f"LoadModule {_PERL}_module {module}")
    said = _PERL_SAYS.search(_said(installation.binary, (*lines, "ServerName 127.0.0.1", _ASK)))
    return [said[0]] if said else []


@functools.cache
def _said(binary: str, lines: tuple[str, ...]) -> str:
    """Return what Apache prints as it reads these lines; it starts no server."""
    each = (word for line in lines for word in ("-C", line))
    return output_of([binary, "-t", "-f", "/dev/null", *each])
