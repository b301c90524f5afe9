"""Finding Apache and its modules on this machine."""

import functools
import os
import pwd
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import is_there
from httpdyno.host.runnable import NotOursError, own_program, said_by
from httpdyno.servers.sandbox.user_namespace import acting_user
from httpdyno.servers.staging import clean_environment

_BINARIES = ("apache2", "httpd")
_PATHS = ("/usr/sbin", "/usr/local/sbin", "/usr/local/apache2/bin", "/usr/bin")
MODULE_FOLDERS = (
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
)
_USERS = ("www-data", "apache", "http", "daemon", "nobody")
_DEBIAN_PACKAGES = {
    "fcgid": "libapache2-mod-fcgid",
    "perl": "libapache2-mod-perl2",
    "php": "libapache2-mod-php",
}
_DEBIAN_PERL = {"CGI": "libcgi-pm-perl", "DBD::SQLite": "libdbd-sqlite3-perl"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Installation:
    """An installed Apache."""

    binary: str
    version: str
    module_folder: Path
    built_in: frozenset[str]
    """Modules that are compiled in, as `so`, `http_core`, `unixd`."""

    def has_module(self, name: str) -> bool:
        """Whether the module is compiled in or can be loaded."""
        return name in self.built_in or is_there(self.module_file(name))

    def module_file(self, name: str) -> Path:
        """Where the module would be loaded from."""
        return self.module_folder / f"mod_{name}.so"


def found() -> Installation:
    """Return the Apache of this machine.

    Raises:
        NotOursError: Others than this user may write it.
        AdapterError: There is none, or it cannot be run.
    """
    binary = find_binary()
    if binary is None:
        raise AdapterError("Apache is not installed", hint="Run `apt-get install apache2`.")
    # What is found here is also started, outside of a private copy.
    return _examined(own_program(binary))


def find_binary() -> str | None:
    """Return the path of the server's program, None if there is none."""
    path = os.pathsep.join((os.environ.get("PATH", ""), *_PATHS))
    return next((hit for name in _BINARIES if (hit := shutil.which(name, path=path))), None)


def server_user() -> str:
    """Return the user that answers requests: not root, also when started by root."""
    if user := acting_user():
        try:
            return pwd.getpwuid(user).pw_name
        except KeyError:
            return f"#{user}"
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in _USERS if name in names), "nobody")


def missing_modules(installation: Installation, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return a sentence for each module that is not there."""
    return tuple(
        f"Apache's mod_{name} is not installed: "
        f"`apt-get install {_DEBIAN_PACKAGES.get(name, 'apache2-bin')}`"
        for name in names
        if not installation.has_module(name)
    )


def missing_perl_modules(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return a sentence for each Perl module that Perl would not find."""
    perl = shutil.which("perl")
    if not names:
        return ()
    if perl is None:
        return ("Perl is not installed: `apt-get install perl`",)
    looks = (
        "for my $name (@ARGV) { (my $file = qq($name.pm)) =~ s{::}{/}g; "
        "print qq($name\\n) unless grep { -e qq($_/$file) } @INC }"
    )
    try:
        absent = output_of([perl, "-e", looks, *names]).split()
    except NotOursError as error:
        return (str(error),)
    return tuple(
        f"the Perl module {name} is not installed: `apt-get install {_debian_perl(name)}`"
        for name in absent
    )


@functools.cache
def _examined(binary: str) -> Installation:
    version = re.search(r"Server version:\s*(\S.*)", output_of([binary, "-v"]))
    built_in = re.findall(r"^\s+(?:mod_)?(\w+)\.c$", output_of([binary, "-l"]), re.MULTILINE)
    root = re.search(r'HTTPD_ROOT="([^"]+)"', output_of([binary, "-V"]))
    folders = [Path(folder) for folder in MODULE_FOLDERS]
    if root is not None:
        folders.append(Path(root[1]) / "modules")
    return Installation(
        binary=binary,
        version=version[1].strip() if version else "unknown",
        module_folder=next((folder for folder in folders if folder.is_dir()), folders[0]),
        built_in=frozenset(built_in),
    )


def output_of(command: list[str]) -> str:
    """Return what a program of this machine writes on stdout, however it ends.

    Raises:
        AdapterError: It cannot be run, or does not end.
    """
    return said_by(command, environment=clean_environment()).output


def _debian_perl(name: str) -> str:
    return _DEBIAN_PERL.get(name, f"lib{name.lower().replace('::', '-')}-perl")
