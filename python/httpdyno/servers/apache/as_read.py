"""What files tell of this machine's Apache and Perl, where neither is to be run."""

import os
from collections.abc import Sequence
from pathlib import Path

from httpdyno.errors import NotRunError
from httpdyno.servers.apache.installation import (
    MODULE_FOLDERS,
    Installation,
    find_binary,
    found,
    missing_perl_modules,
)

_BUILT_IN = frozenset(
    {"core", "http_core", "log_config", "logio", "so", "unixd", "version", "watchdog"}
)
"""Source: `apache2 -l` of Debian 12."""
_PERL_FOLDERS = (
    "etc/perl",
    "usr/local/lib/*/perl/*",
    "usr/local/share/perl/*",
    "usr/lib/*/perl5/*",
    "usr/share/perl5",
    "usr/lib/*/perl-base",
    "usr/lib/*/perl/*",
    "usr/share/perl/*",
)
"""Source: `perl -e 'print "@INC"'` of Debian 12, with any version of Perl."""


def installation() -> Installation:
    """Return the Apache of this machine, of whose version nothing is known while only reading.

    Raises:
        AdapterError: There is none, or it cannot be run.
    """
    try:
        return found()
    except NotRunError:
        folders = [Path(each) for each in MODULE_FOLDERS]
        return Installation(
            binary=find_binary() or "",
            version="unknown",
            module_folder=next((each for each in folders if each.is_dir()), folders[0]),
            built_in=_BUILT_IN,
        )


def absent_perl_modules(names: Sequence[str]) -> tuple[str, ...]:
    """Return a sentence for each Perl module that is not there; Perl is asked for unusual ones.

    Raises:
        AdapterError: Perl cannot be asked.
    """
    return missing_perl_modules(tuple(n for n in names if not _is_in_usual_place(n)))


def _is_in_usual_place(name: str) -> bool:
    path = f"{name.replace('::', os.sep)}.pm"
    is_plain = path.replace(os.sep, "").removesuffix(".pm").isidentifier()
    return is_plain and any(
        (folder / path).is_file() for pattern in _PERL_FOLDERS for folder in Path("/").glob(pattern)
    )
