"""What is read of an Apache's files: members, `.htaccess`, links, TLS files, scopes.

`.htaccess` files: which are read at each request, and by leave of which directive.

Which keys belong to which certificates, and what else of TLS a configuration names. Pure.

Where Apache is found on a machine: main files, roots, programs, what its command line says.

Reading a member's configuration from disk: its files, and what of them nobody may read.

`.htaccess` files written into the configuration, so that no request looks for them. Pure.

A block for each file's folder comes right after the section that allows them, which then allows
none. Apache merges folders in the order of their depth, and within one in the order of the
configuration, so the block counts where the file did; where a section of the same folder would
come between, it is not offered.

`Options` by which Apache looks at each part of a path whether it is a link. Pure.

Without `FollowSymLinks`, and with `SymLinksIfOwnerMatch`, each request asks the kernel for each
folder down to what it asks for (`lstat`). Only what counts on the way to a document root is
changed: a folder below, in which others may write, keeps what it says. What says nothing of links
has them from the folders above: of `/` that is each such folder of the machine.

Source: httpd.apache.org/docs/2.4/mod/core.html#options, /docs/2.4/misc/perf-tuning.html#symlinks.

Names of where a directive counts: the whole server, a virtual host, a folder. Pure.
"""

import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import folders_below, opened_regular
from httpdyno.host.foreign_text import reason
from httpdyno.model import Edit, Member, Origin, Reading, Survey
from httpdyno.reason import Reason, because
from httpdyno.servers.apache.knob import reading_of
from httpdyno.servers.apache.text import (
    Directive,
    Files,
    Held,
    Line,
    Section,
    Walked,
    envvars_file,
    lines_of,
    own_variables,
    quoted,
    walked,
    words,
    written_variables,
)
from httpdyno.servers.stack.adapter import FileUse, KeyPair, MemberFiles, TlsFiles
from httpdyno.servers.stack.snapshot import TheirFiles

_MOST_FOLDERS = 20_000
"""Looked into below one document root."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """A `<Directory>` of which the files below may override settings, or may not."""

    path: str
    section: Section
    host: Section | None
    value: str
    """Of `AllowOverride`: `None`, `All` or a list."""
    directive: Directive

    @property
    def is_none(self) -> bool:
        """Whether no file is looked for."""
        return self.value.lower() == "none"


def allowed(directives: Iterable[Directive]) -> list[Allowed]:
    """Return what is said of `AllowOverride` for folders that are named by their path."""
    found: dict[tuple[str, Section | None], Allowed] = {}
    for directive in directives:
        if directive.name.lower() != "allowoverride" or not directive.sections:
            continue
        section = directive.sections[-1]
        given = words(section.arguments)
        if section.kind.lower() != "directory" or len(given) != 1 or _is_wild(given[0]):
            continue
        path = posixpath.normpath(given[0])
        value = " ".join(words(directive.arguments))
        # Of several for the same folder the last one counts.
        key = (path, directive.host)
        found[key] = Allowed(path, section, directive.host, value, directive)
    return list(found.values())


def in_force(path: str, host: Section | None, rules: Sequence[Allowed]) -> Allowed | None:
    """Return what decides for a folder in a host; None: nothing does, which is `None` in 2.4."""
    best: Allowed | None = None
    for rule in rules:
        if rule.host not in (None, host) or not is_below(path, rule.path):
            continue
        key = (len(rule.path), rule.host is not None)
        if best is None or key >= (len(best.path), best.host is not None):
            best = rule
    return best


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or in it."""
    return f"{path}/".startswith("/" if folder == "/" else f"{folder}/")


def document_roots(
    directives: Iterable[Directive], server_root: str
) -> list[tuple[str, Section | None]]:
    """Return each document root with its host; None is the main server."""
    found: dict[tuple[str, Section | None], None] = {}
    for directive in directives:
        if directive.name.lower() == "documentroot":
            given = (words(directive.arguments) or [""])[0]
            path = posixpath.normpath(posixpath.join(server_root, given))
            found[(path, directive.host)] = None
    return list(found)


def file_names(directives: Iterable[Directive]) -> tuple[str, ...]:
    """Return what the files are called."""
    said = [d.arguments for d in directives if d.name.lower() == "accessfilename"]
    return tuple(words(said[-1]) if said else ()) or (".htaccess",)


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found below the document roots."""

    files: tuple[str, ...]
    unseen: tuple[str, ...] = ()
    """Where there may be more: behind links, too far below, or with names that are no UTF-8."""


def files_below_roots(directives: Sequence[Directive], server_root: str) -> Looked:
    """Return the files that Apache would read, where it may look for any."""
    rules, names = allowed(directives), file_names(directives)
    found: dict[str, None] = {}
    unseen: dict[str, None] = {}
    for root, host in document_roots(directives, server_root):
        if all(rule.is_none for rule in rules if rule.host in (None, host)):
            continue
        for n_before, (folder, folders, files) in enumerate(folders_below(root)):
            if n_before == _MOST_FOLDERS:
                unseen[f"{root}/{names[0]}"] = None
                break
            rule = in_force(folder, host, rules)
            if rule is None or rule.is_none:
                continue
            links = [name for name in folders if os.path.islink(f"{folder}/{name}")]  # noqa: PTH114
            unseen |= dict.fromkeys(f"{folder}/{name}/{names[0]}" for name in links)
            found |= dict.fromkeys(f"{folder}/{name}" for name in names if name in files)
    odd = [path for path in (*found, *unseen) if not _is_text(path)]
    unseen |= {_text(path): None for path in odd}
    return Looked(
        tuple(path for path in found if _is_text(path)),
        tuple(path for path in unseen if _is_text(path)),
    )


def _is_text(path: str) -> bool:
    return path == _text(path)


def _text(path: str) -> str:
    return path.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")


def _is_wild(path: str) -> bool:
    return path == "~" or any(character in path for character in "*?[")


_CERTIFICATE, _KEY = "sslcertificatefile", "sslcertificatekeyfile"
_BOTH = "sslproxymachinecertificatefile"
"""Certificates and their keys in one file, shown to backends."""
_OTHERS: Mapping[str, FileUse] = {
    "sslcertificatechainfile": "authorities",
    "sslcacertificatefile": "authorities",
    "sslcadnrequestfile": "authorities",
    "sslproxycacertificatefile": "authorities",
    "sslproxymachinecertificatechainfile": "authorities",
    "sslsessionticketkeyfile": "tickets",
}


def tls_files(directives: Sequence[Directive], server_root: str) -> TlsFiles:
    """Return the files by whole paths; without those whose names have variables."""
    paths: dict[tuple[str, Section | None], list[str]] = {}
    hosts: dict[Section | None, None] = {None: None}
    for each in directives:
        hosts[each.host] = None
        if each.name.lower() in {_CERTIFICATE, _KEY, _BOTH}:
            found = paths.setdefault((each.name.lower(), each.host), [])
            found += [posixpath.join(server_root, path) for path in words(each.arguments)[:1]]

    def named(name: str, host: Section | None) -> list[str]:
        return [*paths.get((name, host), ())]

    pairs: dict[KeyPair, None] = {}
    for host in hosts:
        certificates, keys = named(_CERTIFICATE, host), named(_KEY, host)
        if host is not None:
            # A host's first one is in place of the main server's first.
            certificates += named(_CERTIFICATE, None)[len(certificates) :]
            keys += named(_KEY, None)[len(keys) :]
        for index, certificate in enumerate(certificates):
            key = keys[index] if index < len(keys) else certificate
            pairs[KeyPair(key=key, certificate=certificate)] = None
        pairs |= {KeyPair(key=path, certificate=path): None for path in named(_BOTH, host)}
    others = {
        posixpath.join(server_root, path): _OTHERS[each.name.lower()]
        for each in directives
        if each.name.lower() in _OTHERS
        for path in words(each.arguments)[:1]
    }
    return TlsFiles(
        pairs=tuple(pair for pair in pairs if all(map(_is_fixed, pair.paths))),
        others={path: use for path, use in others.items() if _is_fixed(path)},
    )


def _is_fixed(path: str) -> bool:
    return "${" not in path and not path.startswith("pkcs11:")


USUAL = (
    ("/etc/apache2/apache2.conf", "apache2.service"),
    ("/etc/httpd/conf/httpd.conf", "httpd.service"),
    ("/etc/apache2/httpd.conf", "apache2.service"),
    ("/usr/local/apache2/conf/httpd.conf", ""),
)
"""Main files of Debian, RHEL, Alpine and the project's own build, with their services."""
PROGRAMS = frozenset({"apache2", "httpd", "httpd2", "httpd-prefork", "httpd-worker", "httpd-event"})
_MAIN_NAMES = frozenset({"apache2.conf", "httpd.conf", "httpd2.conf"})
_WITH_VALUE = frozenset({"-f", "-d", "-C", "-c", "-D", "-e", "-E", "-k"})
_OUR_DEFINES = frozenset({"FOREGROUND", "NO_DETACH", "ONE_PROCESS", "DEBUG"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What a command line of Apache says."""

    main: str = ""
    prefix: str = ""
    defines: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """The options that a copy needs, too: `-D`, `-c` and `-C` with their values."""


def options(arguments: Sequence[str]) -> Options:
    """Return what arguments of Apache, without the program, say."""
    main = prefix = ""
    defines: list[str] = []
    kept: list[str] = []
    at = 0
    while at < len(arguments):
        option, value = arguments[at][:2], arguments[at][2:]
        at += 1
        if option in _WITH_VALUE and not value and at < len(arguments):
            value = arguments[at]
            at += 1
        if option == "-f":
            main = value
        elif option == "-d":
            prefix = value
        elif option == "-D" and value not in _OUR_DEFINES:
            defines.append(value)
        if option in {"-c", "-C"} or (option == "-D" and value not in _OUR_DEFINES):
            kept += [option, value]
    return Options(main=main, prefix=prefix, defines=tuple(defines), kept=tuple(kept))


def main_of(program: str, said: Options, folder: str) -> str:
    """Return the main file of a process: as it was told, else as packages compile it in."""
    if said.main:
        return posixpath.join(said.prefix or folder, said.main)
    if said.prefix:
        names = [f"{said.prefix}/apache2.conf", f"{said.prefix}/conf/httpd.conf"]
    else:
        names = [main for main, _ in USUAL]
    if PurePosixPath(program).name == "apache2":
        names = [name for name in names if name.endswith("apache2.conf")] or names
    return next((name for name in names if os.path.isfile(name)), names[0])  # noqa: PTH113


def server_root(main: str) -> str:
    """Return the folder that relative paths start from, as packages compile it in.

    A `ServerRoot` in the file itself comes before it.
    """
    folder = PurePosixPath(main).parent
    return str(folder.parent if folder.name == "conf" else folder)


def looks_like_main(path: str) -> bool:
    """Whether a file is a main configuration file of Apache, by its name or what it says."""
    file = Path(path)
    if file.name in _MAIN_NAMES:
        return True
    try:
        with opened_regular(file) as opened:
            start = opened.read(1 << 20).lower()
    except OSError:
        return False
    lines = [line.split(None, 1)[0] for line in start.splitlines() if line.strip()]
    marks = {b"loadmodule", b"serverroot", b"documentroot", b"<virtualhost", b"<directory"}
    is_theirs = b"listen" in lines and len(marks & set(lines)) > 0
    # nginx and PHP-FPM have a `listen`, too, but close a line by `;` or set it by `=`.
    return is_theirs and not any(line.rstrip().endswith(b";") for line in start.splitlines())


def members_here() -> tuple[Member, ...]:
    """Return a member for each usual main file that is there."""
    found = [(main, unit) for main, unit in USUAL if Path(main).is_file()]
    return tuple(Member(name="apache", kind="apache", main=main, unit=u) for main, u in found[:1])


_LARGEST_BYTES = 4 << 20
CERTIFICATES = frozenset(
    {
        "sslcertificatefile",
        "sslcertificatekeyfile",
        "sslcertificatechainfile",
        "sslcacertificatefile",
        "sslproxymachinecertificatefile",
        *("sslcadnrequestfile", "sslproxycacertificatefile", "sslproxymachinecertificatechainfile"),
        "sslsessionticketkeyfile",
    }
)
"""Directives that name what only root may read, often; Apache does not start without."""
_PAGES = {"documentroot": 0, "alias": 1}
"""Directives that name a folder of pages, and which of their words does."""


def read_files(member: Member) -> MemberFiles:
    """Read the main file, all that it includes, Debian's `envvars` and the `.htaccess` files.

    Raises:
        AdapterError: A file is not there or cannot be read; says file and line.
    """
    read, main = TheirFiles(user=member.user), member.main
    if not main:
        raise AdapterError("its main file is not known", hint="Name that instead: `/etc/…conf`.")
    envvars = envvars_file(member)
    if os.path.isfile(envvars):  # noqa: PTH113 - of a text
        _read(read, envvars)
    walk = walk_of(member, {**read.texts}, read)
    unreadable = dict.fromkeys(_unreadable(walk.directives, walk.server_root))
    looked = files_below_roots(walk.directives, walk.server_root)
    unreadable |= dict.fromkeys(looked.unseen)
    for file in looked.files:
        try:
            read.content(file, limit_bytes=_LARGEST_BYTES)
        except (OSError, AdapterError):
            unreadable[file] = None
    return MemberFiles(
        # The main file first.
        texts={main: read.texts[main], **read.texts},
        real=read.real,
        rights=read.rights,
        unreadable=tuple(unreadable),
        tls=tls_files(walk.directives, walk.server_root),
        patterns=tuple(dict.fromkeys(walk.patterns)),
        served=tuple(dict.fromkeys(_served(walk))),
    )


def walk_of(member: Member, texts: dict[str, bytes], files: Files | None = None) -> Walked:
    """Take a member's configuration apart as text; from what was read, or from disk.

    Raises:
        AdapterError: As `read_files`.
    """
    said = options(member.command[1:])
    envvars = texts.get(envvars_file(member), b"").decode("utf-8", errors="replace")
    return walked(
        member.main,
        files or Held(texts),
        server_root=member.prefix or said.prefix or server_root(member.main),
        variables={**own_variables(member), **written_variables(envvars, member)},
        defines=said.defines,
    )


def _served(walk: Walked) -> Iterator[str]:
    for each in walk.directives:
        given = words(each.arguments)
        if (name := each.name.lower()) in _PAGES and len(given) > _PAGES[name]:
            yield posixpath.join(walk.server_root, given[_PAGES[name]])


def _read(read: TheirFiles, path: str) -> None:
    try:
        read.content(path, limit_bytes=_LARGEST_BYTES)
    except OSError as error:
        raise AdapterError(
            f"`{path}` cannot be read: {reason(error)}", hint="Run it again with `sudo`."
        ) from error


def _unreadable(directives: list[Directive], root: str) -> list[str]:
    named = [
        posixpath.join(root, given[0])
        for d in directives
        if d.name.lower() in CERTIFICATES and (given := words(d.arguments))
    ]
    return [path for path in named if not _is_absent(path) and not os.access(path, os.R_OK)]


def _is_absent(path: str) -> bool:
    try:
        Path(path).stat()
    except PermissionError:
        return False
    except (OSError, ValueError):  # the latter of a name that no file can have
        return True
    return False


_ALLOWS = "allowoverride"


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a `<Directory>` says of the files below it."""

    scope: str
    path: str
    host: str
    is_none: bool
    origin: Origin


def allowing_scopes(survey: Survey) -> tuple[str, ...]:
    """Return the scopes in which `.htaccess` files are read."""
    return tuple(
        reading.scope
        for reading in survey.readings
        if reading.name.lower() == _ALLOWS and reading.text.lower() != "none"
    )


def override_files(survey: Survey, files: MemberFiles) -> list[str]:
    """Return the `.htaccess` files that were read."""
    reading = reading_of(survey, "AccessFileName")
    names = (reading.text if reading else ".htaccess").split()
    return sorted(path for path in files.texts if posixpath.basename(path) in names)


def inlinable(survey: Survey, files: MemberFiles) -> dict[str, int] | Reason:
    """Return the scopes that can do without files: scope → how many there are now.

    Or why the files cannot be written into the configuration.
    """
    found = _files_by_rule(survey, files)
    if isinstance(found, Reason):
        return found
    return {rule.scope: len(paths) for rule, paths in found.items()}


def inlining(survey: Survey, files: MemberFiles) -> tuple[Edit, ...]:
    """Return the edits that allow no files and write theirs into the configuration.

    Raises:
        AdapterError: It would not be the same configuration; says why.
    """
    found = _files_by_rule(survey, files)
    if isinstance(found, Reason):
        raise AdapterError("the `.htaccess` files cannot be inlined", why=[found])
    edits: list[Edit] = []
    for rule, paths in found.items():
        origin = rule.origin
        edits.append(Edit(file=origin.file, start=origin.start, end=origin.end, text="None"))
        closing = _closing(files.texts[origin.file], origin)
        if closing is None:
            raise AdapterError(f"line {origin.line} of `{origin.file}` is in no `<Directory>`")
        blocks = "".join(_block(path, files.texts[path], closing.indentation) for path in paths)
        edits.append(Edit(file=origin.file, start=closing.end, end=closing.end, text=blocks))
    return tuple(edits)


def _block(path: str, text: bytes, indentation: str) -> str:
    body = text.decode().replace("\r\n", "\n").strip("\n")
    folder = quoted(posixpath.dirname(path))
    opening = f"{indentation}<Directory {folder}>"
    return f"\n{opening}\n{body}\n{indentation}</Directory>"


def _files_by_rule(survey: Survey, files: MemberFiles) -> dict[_Rule, list[str]] | Reason:
    """Return the files by the rule that allows them, the outermost first; or why that is unsure."""
    paths = override_files(survey, files)
    if not paths:
        return because("apache.no_overrides")
    rules = _rules(survey)
    by_rule: dict[_Rule, list[str]] = {}
    for path in paths:
        rule = _rule_of(path, rules)
        if isinstance(rule, Reason):
            return rule
        by_rule.setdefault(rule, []).append(path)
    complaints = (_complaint(rule, by_rule[rule], survey, files) for rule in by_rule)
    return next((complaint for complaint in complaints if complaint), by_rule)


def _rules(survey: Survey) -> list[_Rule]:
    found = []
    for reading in survey.readings:
        host, slash, path = reading.scope.partition("/")
        if reading.name.lower() == _ALLOWS and slash and reading.origin is not None:
            whole = posixpath.normpath(f"/{path}")
            is_none = reading.text.lower() == "none"
            rule = _Rule(reading.scope, whole, host.strip(), is_none, reading.origin)
            found.append(rule)
    return found


def _rule_of(file: str, rules: list[_Rule]) -> _Rule | Reason:
    folder = posixpath.dirname(file)
    above = [rule for rule in rules if is_below(folder, rule.path)]
    longest = max((len(rule.path) for rule in above), default=0)
    deciding = [rule for rule in above if len(rule.path) == longest]
    if len(deciding) != 1:
        return because("apache.several_decide" if deciding else "apache.none_decides", file=file)
    if deciding[0].is_none:
        return because("apache.override_not_read", file=file)
    return deciding[0]


def _complaint(rule: _Rule, paths: list[str], survey: Survey, files: MemberFiles) -> Reason | None:
    text, origin = files.texts.get(rule.origin.file), rule.origin
    if text is None or origin.start == origin.end:
        return because("apache.in_no_file", line=origin.line, file=origin.file)
    if hidden := [path for path in files.unreadable if is_below(path, rule.path)]:
        return because("apache.override_unreadable", file=hidden[0])
    folders = {posixpath.dirname(path): path for path in paths}
    for reading in survey.readings:
        _, slash, path = reading.scope.partition("/")
        is_there = reading.origin is not None and f"/{path}".rstrip("/") in folders
        if slash and is_there and not _is_in_rule(reading, rule, text):
            return because("apache.override_elsewhere", path=path)
    for path in paths:
        try:
            files.texts[path].decode()
        except UnicodeDecodeError:
            return because("apache.override_not_utf_8", file=path)
    return None


def _is_in_rule(reading: Reading, rule: _Rule, text: bytes) -> bool:
    """Whether a directive stands in the very section that allows the files."""
    if reading.origin is None or reading.origin.file != rule.origin.file:
        return False
    closing = _closing(text, rule.origin)
    opening = _opening(text, rule.origin)
    if closing is None or opening is None:
        return False
    return opening.end <= reading.origin.start <= closing.start


def _opening(text: bytes, origin: Origin) -> Line | None:
    return _section(text, origin)[0]


def _closing(text: bytes, origin: Origin) -> Line | None:
    return _section(text, origin)[1]


def _section(text: bytes, origin: Origin) -> tuple[Line | None, Line | None]:
    """Return the lines that open and close the `<Directory>` around a place."""
    opening: Line | None = None
    for line in lines_of(text):
        name = line.name.lower()
        if name == "<directory" and line.start < origin.start:
            opening = line
        elif name == "</directory>" and line.start >= origin.end:
            return opening, line
    return opening, None


OPTIONS = "Options"
_FOLLOW, _OWNER = "followsymlinks", "symlinksifownermatch"
_FOLDER = re.compile(r"(?:(?P<host>[^\s/]+) )?(?P<path>/[^\s*?\[]*)")
_SECTIONS = frozenset(
    {"location", "locationmatch", "files", "filesmatch", "directorymatch", "proxy", "proxymatch"}
    | {"if", "elseif", "else", "limit", "limitexcept"}
)


def is_checking(text: str) -> bool:
    """Whether these options have links looked for: their own, or what they change in others."""
    given = [word.lower() for word in words(text)]
    if any(word[:1] not in "+-" for word in given):
        follows = not {_FOLLOW, f"+{_FOLLOW}", "all"}.isdisjoint(given)
        return not follows or _OWNER in given or f"+{_OWNER}" in given
    return f"-{_FOLLOW}" in given or f"+{_OWNER}" in given


def followed(text: str) -> str:
    """Return the same options with links followed."""
    given = words(text)
    kept = [word for word in given if word.lower().lstrip("+-") not in (_FOLLOW, _OWNER)]
    if all(word[:1] in "+-" for word in given):
        return " ".join([*kept, "+FollowSymLinks", "-SymLinksIfOwnerMatch"])
    return " ".join([*(word for word in kept if word.lower() != "none"), "FollowSymLinks"])


def checking(survey: Survey) -> tuple[Reading, ...]:
    """Return the `Options` on the way to document roots that have links looked for.

    None at all where one of them cannot be changed, or where a scope has several.
    """
    own = [each for each in survey.readings if each.name.lower() == OPTIONS.lower()]
    n_in_scope = Counter(each.scope for each in own)
    roots = [
        posixpath.normpath((words(each.text) or [""])[0])
        for each in survey.readings
        if each.name.lower() == "documentroot"
    ]
    found = tuple(each for each in own if is_checking(each.text) and _counts(each.scope, roots))
    is_clear = all(n_in_scope[each.scope] == 1 and _is_in_file(each) for each in found)
    return found if is_clear else ()


def following(survey: Survey, files: MemberFiles) -> tuple[Edit, ...]:
    """Return the edits with which links are followed.

    Raises:
        AdapterError: A file of the configuration is not there to be changed.
    """
    edits = []
    for each in checking(survey):
        origin = each.origin
        if origin is None or origin.file not in files.texts:
            raise AdapterError(
                f"`{OPTIONS}` of `{each.scope}` stands in no file that can be changed"
            )
        edits.append(
            Edit(file=origin.file, start=origin.start, end=origin.end, text=followed(each.text))
        )
    return tuple(edits)


def _counts(scope: str, roots: list[str]) -> bool:
    """Whether a scope is a host, or a named folder on the way to a root."""
    match = _FOLDER.fullmatch(scope)
    if match is None:
        return " " not in scope and "/" not in scope
    if (match["host"] or "").lower() in _SECTIONS:
        return False
    return any(is_below(root, posixpath.normpath(match["path"])) for root in roots)


def _is_in_file(reading: Reading) -> bool:
    return reading.origin is not None and reading.origin.start < reading.origin.end


class Scopes:
    """The scopes of a configuration, virtual hosts by the name that they are known by.

    A host is named by its `ServerName`, with the port where another one has the same name, and by
    its addresses where it has none. A folder is named by its path, other sections by kind and
    argument: `shop.example`, `shop.example /srv/shop`, `/srv`, `Location /status`.
    """

    def __init__(self, directives: Iterable[Directive]) -> None:
        self._hosts = _host_names(directives)

    def of(self, directive: Directive) -> str:
        """Return the scope of what a directive sets; empty for the whole server."""
        return self.named(directive.sections)

    def named(self, sections: tuple[Section, ...]) -> str:
        """Return the scope within these sections."""
        return " ".join(self._part(section) for section in sections)

    def _part(self, section: Section) -> str:
        if section.kind.lower() == "virtualhost":
            return self._hosts.get(section, section.arguments)
        path = " ".join(words(section.arguments))
        return path if section.kind.lower() == "directory" else f"{section.kind} {path}"


def _host_names(directives: Iterable[Directive]) -> dict[Section, str]:
    names: dict[Section, str] = {}
    for directive in directives:
        host = directive.host
        if host is None:
            continue
        names.setdefault(host, host.arguments)
        if directive.name.lower() == "servername" and directive.sections == (host,):
            names[host] = bare_host((words(directive.arguments) or [""])[0])
    several = Counter(names.values())
    for host, name in list(names.items()):
        if several[name] > 1:
            names[host] = f"{name}:{_port(host)}" if _port(host) else name
    several = Counter(names.values())
    for host, name in list(names.items()):
        if several[name] > 1:
            names[host] = f"{name} ({host.file}:{host.line})"
    return names


def bare_host(name: str) -> str:
    """Return a `ServerName` without its scheme and port."""
    return name.rpartition("://")[2].partition(":")[0]


def _port(host: Section) -> str:
    first = (words(host.arguments) or [""])[0]
    port = first.rpartition(":")[2]
    return port if port.isdecimal() else ""
