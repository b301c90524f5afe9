"""The Apache that a study starts: its program, its modules, its `httpd.conf`.

Finding Apache and its modules on this machine.

What files tell of this machine's Apache and Perl, where neither is to be run.

Writing an instance's own httpd.conf: frame, the study's base file, overlay of knobs.

Which interpreters a study's Apache loads, and of which versions.

They serve most of what is measured, and Apache's own version says nothing of them. The running
server writes them into its log, but a run that goes on has to know before it starts one.
"""

import functools
import os
import pwd
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from httpdyno.errors import AdapterError, NotRunError
from httpdyno.host.foreign_files import is_there, read_regular
from httpdyno.host.runnable import NotOursError, own_program, said_by
from httpdyno.model import Level, ServerSpec, level_text
from httpdyno.reason import Reason, because
from httpdyno.servers.apache.in_force import PREFORK
from httpdyno.servers.apache.knob import KNOBS, MPM
from httpdyno.servers.command.program import version_of
from httpdyno.servers.render import Variables, render_file
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


def missing_modules(installation: Installation, names: tuple[str, ...]) -> tuple[Reason, ...]:
    """Return each module that is not there."""
    return tuple(
        because("apache.no_module", name=name, package=_DEBIAN_PACKAGES.get(name, "apache2-bin"))
        for name in names
        if not installation.has_module(name)
    )


_ABSENT_PROGRAM = (
    "for my $name (@ARGV) { (my $file = qq($name.pm)) =~ s{::}{/}g; "
    "print qq($name\\n) unless grep { -e qq($_/$file) } @INC }"
)
"""Prints the modules that Perl does not find."""


def missing_perl_modules(names: tuple[str, ...]) -> tuple[Reason, ...]:
    """Return each Perl module that Perl would not find."""
    perl = shutil.which("perl")
    if not names:
        return ()
    if perl is None:
        return (because("apache.no_perl"),)
    try:
        absent = output_of([perl, "-e", _ABSENT_PROGRAM, *names]).split()
    except NotOursError as error:
        return (because("apache.not_run", error=str(error)),)
    return tuple(
        because("apache.no_perl_module", name=name, package=_debian_perl(name)) for name in absent
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


def absent_perl_modules(names: Sequence[str]) -> tuple[Reason, ...]:
    """Return each Perl module that is not there; Perl is asked for unusual ones.

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


CONFIG = "httpd.conf"
BASE = "base.conf"
DOCUMENTS = "htdocs"
ERROR_LOG = "error.log"

_SERVER_LIMIT_DEFAULT = 256
_ALWAYS = ("authz_core", "info")
"""mod_info prints the configuration for `-D DUMP_CONFIG`; it does nothing else here."""
_TYPES = Path("/etc/mime.types")


_NO_LEVELS: Mapping[str, Level] = {}


def multi_processing(spec: ServerSpec, levels: Mapping[str, Level] = _NO_LEVELS) -> str:
    """Return the module that is to run its processes: `prefork`, `worker` or `event`.

    Args:
        spec: The target, of which it is a setting.
        levels: Of a configuration, of which it may be a knob instead.
    """
    return str(levels.get(MPM.name, spec.settings.get(MPM.name, PREFORK)))


def wanted_modules(spec: ServerSpec, levels: Mapping[str, Level] = _NO_LEVELS) -> tuple[str, ...]:
    """Return the modules that the study needs, the MPM first."""
    mpm = multi_processing(spec, levels)
    own = str(spec.settings.get("modules", "")).split()
    return tuple(dict.fromkeys((f"mpm_{mpm}", *_ALWAYS, *own)))


def config_files(
    spec: ServerSpec,
    study_folder: Path,
    variables: Variables,
    installation: Installation,
) -> dict[str, str]:
    """Return httpd.conf and the rendered base file: name in the run folder → text.

    Raises:
        AdapterError: The base file cannot be rendered.
    """
    files = {}
    modules = wanted_modules(spec, variables.knobs)
    lines = [*_frame(variables), *load_lines(modules, installation)]
    if "mime" in modules:
        lines.append(f"TypesConfig {_TYPES if _TYPES.is_file() else '/dev/null'}")
    if spec.base:
        files[BASE] = render_file(study_folder / spec.base, variables, name=spec.base)
        lines.append(f'Include "{variables.run}/{BASE}"')
    lines.append("# httpdyno's overlay")
    lines += [f"{name} {text}" for name, text in overlay(spec, variables.knobs).items()]
    files[CONFIG] = "\n".join(lines) + "\n"
    return files


def overlay(spec: ServerSpec, levels: Mapping[str, Level]) -> dict[str, str]:
    """Return the directives that httpdyno sets, as directive → argument."""
    directives = asked(levels)
    workers = levels.get("MaxRequestWorkers")
    is_prefork = multi_processing(spec, levels) == PREFORK
    if is_prefork and isinstance(workers, int) and "ServerLimit" not in directives:
        # Without it Apache would clip the workers to the limit.
        limit = max(workers, _SERVER_LIMIT_DEFAULT)
        directives = {"ServerLimit": str(limit), **directives}
    return directives


def asked_of_server(levels: Mapping[str, Level]) -> dict[str, str]:
    """Return what is asked of the running server: its directives, and its MPM where a knob is."""
    mpm = {name: level_text(level) for name, level in levels.items() if name == MPM.name}
    return {**asked(levels), **mpm}


def asked(levels: Mapping[str, Level]) -> dict[str, str]:
    """Return Apache's own knobs among the levels, as Apache writes them."""
    return {name: argument_text(level) for name, level in levels.items() if name in KNOBS}


def argument_text(level: Level) -> str:
    """Return a level as Apache writes it: `On`, not `true`."""
    if isinstance(level, bool):
        return "On" if level else "Off"
    return level_text(level)


def _frame(variables: Variables) -> list[str]:
    run = variables.run
    lines = [
        f'ServerRoot "{run}"',
        f'DefaultRuntimeDir "{run}"',
        f'PidFile "{run}/httpd.pid"',
        f'ErrorLog "{run}/{ERROR_LOG}"',
        "LogLevel warn",
        f"Listen {variables.address}",
        f"ServerName {variables.address}",
        f'DocumentRoot "{run}/{DOCUMENTS}"',
    ]
    if acting_user() == 0:
        lines += [f"User {variables.server_user}", f"Group {variables.server_user}"]
    return lines


def load_lines(modules: Iterable[str], installation: Installation) -> list[str]:
    """Return the lines that load modules, without those that are compiled in."""
    return [
        f"LoadModule {name}_module {installation.module_file(name)}"
        for name in modules
        if name not in installation.built_in
    ]


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
_VERSION_PROGRAM = "Perl syswrite STDOUT, sprintf(qq(Perl/v%vd\\n), $^V)"


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
    said = _PERL_SAYS.search(
        _said(installation.binary, (*lines, "ServerName 127.0.0.1", _VERSION_PROGRAM))
    )
    return [said[0]] if said else []


@functools.cache
def _said(binary: str, lines: tuple[str, ...]) -> str:
    """Return what Apache prints as it reads these lines; it starts no server."""
    each = (word for line in lines for word in ("-C", line))
    return output_of([binary, "-t", "-f", "/dev/null", *each])
