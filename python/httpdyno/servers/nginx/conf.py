"""An nginx configuration: its build, its files, what is in force where, where to write.

What an nginx was built with: its version, its paths, its modules, as `nginx -V` tells.

All files of a configuration: what `include` names, in nginx's order, and the tree of them all.

Patterns are matched as glob(3) does in the C locale, which nginx runs in: in the order of bytes,
and a leading dot only by a dot. A pattern may match nothing; a file that is named must be there.
`include` starts from the folder of the main file, whatever `-p` says.

What is in force where: the whole, servers and locations, from outside in. Pure.

The files that nginx writes, and those beside its configuration that it reads.

Where a directive is written: the edit of its argument, or a line of its own. Pure.

What is set already changes in the bytes of the argument that differs. What is not gets a line after
the last plain directive of its block, with that one's indentation and line ends.
"""

import functools
import os
import posixpath
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import translate
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_files import opened_regular
from httpdyno.host.foreign_text import reason
from httpdyno.host.runnable import PATH, own_program, said_by
from httpdyno.model import Edit
from httpdyno.servers.nginx.text import DEEPEST, Directive, flat, parsed, walk
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.snapshot import TheirFiles

_PROGRAMS = ("nginx", "openresty", "angie")
_COMPILED_FOLDERS = (
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/local/nginx/sbin",
    "/usr/local/openresty/bin",
)
_LARGEST_BYTES = 64 << 20
"""Of a program that is linked with all that it needs."""
_LINE = re.compile(rb"\0((?:nginx|Angie|freenginx) version: [\x20-\x7e]{1,200})\n", re.IGNORECASE)
_ARGUMENTS = re.compile(rb"\0configure arguments:([\x20-\x7e]*)\n")
_PREFIX = "/usr/local/nginx"
# Source: nginx 1.22, auto/options and auto/init; relative to the prefix.
_PATHS = {
    "--conf-path": "conf/nginx.conf",
    "--pid-path": "logs/nginx.pid",
    "--error-log-path": "logs/error.log",
    "--http-log-path": "logs/access.log",
    "--modules-path": "modules",
    "--http-client-body-temp-path": "client_body_temp",
    "--http-proxy-temp-path": "proxy_temp",
    "--http-fastcgi-temp-path": "fastcgi_temp",
    "--http-uwsgi-temp-path": "uwsgi_temp",
    "--http-scgi-temp-path": "scgi_temp",
}
_NEWEST = (9999,)
"""Where no version is known, the present one's defaults are taken."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Build:
    """One build of nginx."""

    version: tuple[int, ...]
    options: Mapping[str, str]
    """What it was configured with: `--prefix` → `/usr/share/nginx`, `--with-threads` → empty."""
    line: str = ""
    """What it says of itself, such as `nginx version: nginx/1.22.1`."""

    @property
    def prefix(self) -> str:
        """The folder that relative paths start from, except those of `include`."""
        return self.options.get("--prefix") or _PREFIX

    def path(self, option: str) -> str:
        """Return a path that is compiled in, such as that of `--pid-path`."""
        return self.full(self.options.get(option) or _PATHS[option])

    def full(self, path: str) -> str:
        """Return the path that a relative one stands for."""
        return path if path.startswith("/") else f"{self.prefix.rstrip('/')}/{path}"

    def words(self) -> tuple[str, ...]:
        """Return the options as they are given to `configure`."""
        return tuple(f"{name}={value}" if value else name for name, value in self.options.items())


def build_of(line: str, words: Sequence[str], *, prefix: str = "") -> Build:
    """Return the build that tells this line and these options.

    Args:
        line: Its version line; empty where nobody asked it.
        words: What it was configured with, such as `--with-threads`; others are left out.
        prefix: What `-p` says instead.
    """
    options = {
        name: value
        for name, _, value in (word.partition("=") for word in words)
        if name.startswith("--") and name not in {"--with-cc-opt", "--with-ld-opt"}
    }
    if prefix:
        options["--prefix"] = prefix
    number = re.search(r"/(\d+(?:\.\d+)*)", line)
    version = tuple(int(part) for part in number[1].split(".")) if number else _NEWEST
    return Build(version=version, options=options, line=line)


def program_of(named: str) -> str:
    """Return the program file: the one that is named, else the one installed; empty if none.

    Raises:
        NotOursError: Others than this user may write what is installed.
    """
    if named:
        return named
    path = os.pathsep.join((os.environ.get("PATH", ""), *_COMPILED_FOLDERS))
    found = next((hit for name in _PROGRAMS if (hit := shutil.which(name, path=path))), "")
    return own_program(found) if found else ""


@functools.lru_cache(maxsize=32)
def build_of_program(program: str, prefix: str = "", user: str = "") -> Build:
    """Return how a program was built; without one, that of the newest nginx.

    What `nginx -V` says stands in its file, and is read there. Only a script that starts an nginx
    has to be asked.

    Args:
        program: Its path.
        prefix: What `-p` says instead.
        user: Whose process it was found by: nobody more than that user runs it.

    Raises:
        AdapterError: It cannot be run, or is no nginx.
    """
    if not program:
        return build_of("", (), prefix=prefix)
    line, arguments = _written(program)
    if not line:
        said = said_by([program, "-V"], environment={"PATH": PATH}, at_most=user)
        line = next(iter(said.errors.splitlines()), "")
        found = re.search(r"^configure arguments: *(.*)$", said.errors, re.MULTILINE)
        if said.exit_code != 0 or found is None:
            raise AdapterError(f"`{program} -V` does not answer as nginx does")
        arguments = found[1]
    return _build(program, line, arguments, prefix)


def build_of_running(program: str, prefix: str = "") -> Build | None:
    """Return how the program of a process was built, as its file says; None where that does not.

    Nothing is run: what a process is called is the word of whoever started it.

    Raises:
        AdapterError: What it says makes no sense.
    """
    line, arguments = _written(program)
    return _build(program, line, arguments, prefix) if line else None


def _build(program: str, line: str, arguments: str, prefix: str) -> Build:
    try:
        words = shlex.split(arguments)
    except ValueError as error:  # a quote that nothing closes
        raise AdapterError(f"`{program}` does not say how it was built: {error}") from error
    return build_of(line, words, prefix=prefix)


def _written(program: str) -> tuple[str, str]:
    """Return what stands in the file: its version line and `configure arguments`; else empty."""
    try:
        with opened_regular(program) as file:
            text = file.read(_LARGEST_BYTES)
    except OSError:  # it may be run and not read; what else is wrong, the door says
        return "", ""
    line, arguments = _LINE.search(text), _ARGUMENTS.search(text)
    if line is None or arguments is None:
        return "", ""
    return line[1].decode(errors="replace").strip(), arguments[1].decode(errors="replace")


_MAGIC = re.compile(r"[*?\[]")
_PAGES = ("root", "alias")
_DEEPEST = 64
"""Files inside files. nginx itself ends only when it has no more descriptors."""
_MOST_DIRECTIVES, _MOST_INCLUDES = 300_000, 20_000
"""Of all files, each as often as it is included: that may be twice in each of twice as many."""


def files_of(main: str, root: str = "", *, user: str = "") -> MemberFiles:
    """Read the main file and all that it includes; the main file comes first.

    Args:
        main: Its path, as nginx opens it.
        root: The folder that is `/` for that nginx, such as `/proc/PID/root`; empty for ours.
        user: Whose nginx it is; empty is root's, or not known.

    Raises:
        AdapterError: A file is not there, cannot be read, is no nginx configuration, or includes
            itself; says which, and the line that names it.
    """
    read = TheirFiles(root, user)
    tree = _tree(main, lambda path, named_by: _content(path, named_by, read), read.names)
    folder = posixpath.dirname(main)
    named = [each for each in walk(tree) if each.args]
    wholes = [_whole(each.texts[0], folder) for each in named if each.name == "include"]
    pages = [each.texts[0] for each in named if each.name in _PAGES]
    return MemberFiles(
        texts=read.texts,
        real=read.real,
        rights=read.rights,
        patterns=tuple(dict.fromkeys(path for path in wholes if _MAGIC.search(path))),
        served=tuple(dict.fromkeys(p for p in pages if p.startswith("/") and "$" not in p)),
    )


def tree_of(texts: Mapping[str, bytes]) -> tuple[Directive, ...]:
    """Return the directives of the first file, each `include` with what it includes. Pure.

    Raises:
        AdapterError: As `files_of`.
    """
    listed = _listing(texts)

    def load(path: str, named_by: Directive | None) -> bytes:
        try:
            return texts[path]
        except KeyError:
            raise _absent(path, named_by, "no such file or directory") from None

    return _tree(next(iter(texts)), load, listed)


def included(pattern: str, folder: str, names_in: Callable[[str], Iterable[str]]) -> list[str]:
    """Return the files that an `include` stands for.

    Args:
        pattern: As it is written.
        folder: What a relative one starts from.
        names_in: Path of a folder → the names in it; none where there is no such folder.
    """
    whole = _whole(pattern, folder)
    if not _MAGIC.search(whole):
        return [whole]
    found = [""]
    for part in whole.split("/")[1:]:
        if not _MAGIC.search(part):
            found = [f"{path}/{part}" for path in found]
            continue
        is_like = re.compile(translate(part.replace("[^", "[!"))).match
        found = [
            f"{path}/{name}"
            for path in found
            for name in sorted(names_in(path or "/"), key=os.fsencode)
            if is_like(name) and name.startswith(".") <= part.startswith(".")
        ]
    # What follows a pattern, as in `sites/*/nginx.conf`, is not everywhere.
    named = {
        folder: set(names_in(folder)) for folder in {posixpath.dirname(p) or "/" for p in found}
    }
    return [p for p in found if posixpath.basename(p) in named[posixpath.dirname(p) or "/"]]


def _whole(pattern: str, folder: str) -> str:
    return pattern if pattern.startswith("/") else f"{folder.rstrip('/')}/{pattern}"


def _tree(
    main: str,
    load: Callable[[str, Directive | None], bytes],
    names_in: Callable[[str], Iterable[str]],
) -> tuple[Directive, ...]:
    folder = posixpath.dirname(main)
    known: dict[str, tuple[Directive, ...]] = {}
    n_directives = n_files = 0

    def of_file(
        path: str, chain: tuple[str, ...], by: Directive | None, depth: int
    ) -> tuple[Directive, ...]:
        if by is not None and (path in chain or len(chain) > _DEEPEST):
            raise AdapterError(f"`{by.file}` line {by.line} includes `{path}`, which includes it")
        nonlocal n_files
        n_files += 1
        if path not in known:
            known[path] = parsed(load(path, by), path)
        return filled(known[path], (*chain, path), depth)

    def filled(
        directives: tuple[Directive, ...], chain: tuple[str, ...], depth: int
    ) -> tuple[Directive, ...]:
        nonlocal n_directives
        n_directives += len(directives)
        _check_size(chain[-1], depth, n_directives, n_files)
        done: list[Directive] = []
        for directive in directives:
            if directive.name == "include" and len(directive.args) == 1:
                paths = included(directive.args[0].text, folder, names_in)
                inside = [of_file(path, chain, directive, depth + 1) for path in paths]
                done.append(replace(directive, block=tuple(d for ds in inside for d in ds)))
            elif directive.block:
                done.append(replace(directive, block=filled(directive.block, chain, depth + 1)))
            else:
                done.append(directive)
        return tuple(done)

    return of_file(main, (), None, 0)


def _check_size(file: str, depth: int, n_directives: int, n_files: int) -> None:
    """Refuse what is more than anybody wrote to run."""
    if depth > DEEPEST:
        raise AdapterError(
            f"`{file}` was not understood: blocks and files are nested more than {DEEPEST} deep"
        )
    if n_directives > _MOST_DIRECTIVES or n_files > _MOST_INCLUDES:
        raise AdapterError(
            f"`{file}` was not understood: with all that is included it is more than "
            f"{_MOST_DIRECTIVES:,} directives, or {_MOST_INCLUDES:,} files"
        )


def _listing(paths: Iterable[str]) -> Callable[[str], Iterable[str]]:
    names: dict[str, set[str]] = {}
    for path in paths:
        parts = path.split("/")
        for i in range(1, len(parts)):
            names.setdefault("/".join(parts[:i]) or "/", set()).add(parts[i])
    return lambda folder: names.get(folder, set())


def _content(path: str, named_by: Directive | None, read: TheirFiles) -> bytes:
    try:
        return read.content(path)
    except PermissionError as error:
        raise AdapterError(
            f"`{path}`{_by(named_by)} cannot be read: {reason(error)}",
            hint="Run the command with `sudo`, as nginx itself is started.",
        ) from error
    except OSError as error:
        raise _absent(path, named_by, reason(error)) from error


def _absent(path: str, named_by: Directive | None, why: str) -> AdapterError:
    return AdapterError(
        f"`{path}`{_by(named_by)} cannot be read: {why}",
        hint="nginx does not start without it either: make it, or take its `include` out"
        if named_by
        else "",
    )


def _by(named_by: Directive | None) -> str:
    return f", included by `{named_by.file}` line {named_by.line}," if named_by else ""


_PLAIN_NAME = re.compile(r"[\w.*-]*\w[\w.*-]*")
_NAMELESS = frozenset({"_", "localhost"})


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Scope:
    """A block that settings stand in."""

    kind: str
    """`main`, or the name of its block."""
    label: str
    """Empty for the whole server, else such as `shop.example` or `shop.example /img/`."""
    node: Directive | None
    """Its block; None for `main`."""
    parent: "Scope | None"
    written: tuple[Directive, ...]
    """What stands in it, an `include` as one."""
    by_name: Mapping[str, tuple[Directive, ...]]
    """What stands in it, with what is included: name → in order."""

    @property
    def directives(self) -> Iterator[Directive]:
        """What stands in it, with what is included."""
        return flat(self.written)

    def own(self, name: str) -> tuple[Directive, ...]:
        """Return the directives of that name which stand in this very scope."""
        return self.by_name.get(name, ())

    def in_force(self, name: str) -> tuple[Directive, ...]:
        """Return those of the innermost scope that sets it; empty where nothing does."""
        return self.own(name) or (() if self.parent is None else self.parent.in_force(name))

    def arguments(self, name: str) -> tuple[str, ...] | None:
        """Return the arguments in force of what can be set once; None where nothing sets it."""
        found = self.in_force(name)
        return found[-1].texts if found else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Conf:
    """A whole configuration."""

    texts: Mapping[str, bytes]
    build: Build
    main_file: str
    main: Scope
    scopes: tuple[Scope, ...]
    """All of them, outer before inner."""
    tree: tuple[Directive, ...]
    is_root: bool = True
    """Whether its master is root, which decides where a server without `listen` listens."""

    @property
    def events(self) -> Scope | None:
        """The block `events`."""
        return next((scope for scope in self.scopes if scope.kind == "events"), None)

    @property
    def http(self) -> Scope | None:
        """The block `http`; None where it serves other protocols only."""
        return next((scope for scope in self.scopes if scope.kind == "http"), None)

    def of_kind(self, *kinds: str) -> tuple[Scope, ...]:
        """Return the scopes of these kinds, in order."""
        return tuple(scope for scope in self.scopes if scope.kind in kinds)

    @property
    def servers(self) -> tuple[Scope, ...]:
        """The hosts, in order."""
        return self.of_kind("server")

    @property
    def hosts(self) -> tuple[Scope, ...]:
        """The servers that do more than to send visitors elsewhere; all where none does."""
        found = tuple(scope for scope in self.servers if not _only_redirects(scope))
        return found or self.servers

    def labelled(self, label: str) -> Scope | None:
        """Return the server or location of that name."""
        servers_and_locations = self.of_kind("server", "location")
        return next((scope for scope in servers_and_locations if scope.label == label), None)

    def place(self, name: str) -> Scope | None:
        """Return where a setting of `http` stands that holds for the whole.

        That is `http` itself where it is set there, or nowhere; else the hosts' own level, where
        one line says it for all of them: the only host's, or that of a snippet they all include.
        """
        http = self.http
        if http is None or http.own(name):
            return http
        own = [scope.own(name) for scope in self.hosts]
        origins = {directives[-1].origin for directives in own if directives}
        return self.hosts[0] if len(origins) == 1 and all(own) else http


def conf_of(texts: Mapping[str, bytes], build: Build, *, is_root: bool = True) -> Conf:
    """Return the configuration whose first file is the main one.

    Raises:
        AdapterError: It is not nginx's grammar, or a file is missing; says which and the line.
    """
    tree = tree_of(texts)
    main = _scope(None, None, "", tree)
    scopes = [main]
    for block in _blocks(main, ("events", "http")):
        scopes.append(block)
        if block.kind == "http":
            servers = list(_blocks(block, ("server", "upstream")))
            labels = iter(_labels([each for each in servers if each.kind == "server"]))
            for server in servers:
                label = next(labels) if server.kind == "server" else ""
                scopes += _within(_relabelled(server, label))
    return Conf(
        texts=texts,
        build=build,
        main_file=next(iter(texts)),
        main=main,
        scopes=tuple(scopes),
        tree=tree,
        is_root=is_root,
    )


def _blocks(outer: Scope, kinds: Sequence[str]) -> Iterator[Scope]:
    for directive in outer.directives:
        if directive.is_block and directive.name in kinds:
            yield _scope(directive, outer, outer.label, directive.block)


def _scope(
    node: Directive | None, parent: Scope | None, label: str, written: tuple[Directive, ...]
) -> Scope:
    by_name: dict[str, list[Directive]] = {}
    for directive in flat(written):
        by_name.setdefault(directive.name, []).append(directive)
    return Scope(
        kind="main" if node is None else node.name,
        label=label,
        node=node,
        parent=parent,
        written=written,
        by_name={name: tuple(all_of) for name, all_of in by_name.items()},
    )


def _within(scope: Scope) -> list[Scope]:
    found = [scope]
    for inner in _blocks(scope, ("location", "if", "limit_except")):
        label = scope.label
        if inner.kind == "location" and inner.node is not None:
            server = label.split(" ", 1)[0]
            label = " ".join((server, *inner.node.texts))
        found += _within(_relabelled(inner, label))
    return found


def _relabelled(scope: Scope, label: str) -> Scope:
    return replace(scope, label=label)


def _labels(servers: Sequence[Scope]) -> list[str]:
    """Name each server by its first name, with its port where several have the same one."""
    names = [_name(server) for server in servers]
    shared = {name for name, count in Counter(names).items() if count > 1}
    with_ports = [
        f"{name}:{_port(server)}" if name in shared else name
        for name, server in zip(names, servers, strict=True)
    ]
    labels: list[str] = []
    for label in with_ports:
        n_before = sum(each.split("#")[0] == label for each in labels)
        labels.append(f"{label}#{n_before + 1}" if n_before else label)
    return labels


def _name(server: Scope) -> str:
    for directive in server.own("server_name"):
        for text in directive.texts:
            if _PLAIN_NAME.fullmatch(text) and text not in _NAMELESS:
                return text
    listens = server.own("listen")
    first = listens[0].texts[0] if listens and listens[0].texts else "80"
    return f"*:{first}" if first.isdecimal() else first.replace(" ", "")


def _port(server: Scope) -> str:
    listens = server.own("listen")
    first = listens[0].texts[0] if listens and listens[0].texts else "80"
    return first.rpartition(":")[2] or first


def _only_redirects(server: Scope) -> bool:
    names = {directive.name for directive in server.directives}
    return "return" in names and "location" not in names


TEMP_OPTIONS = {
    "client_body_temp_path": "--http-client-body-temp-path",
    "proxy_temp_path": "--http-proxy-temp-path",
    "fastcgi_temp_path": "--http-fastcgi-temp-path",
    "uwsgi_temp_path": "--http-uwsgi-temp-path",
    "scgi_temp_path": "--http-scgi-temp-path",
}
_FOLDERS = frozenset(
    {*TEMP_OPTIONS, "proxy_cache_path", "fastcgi_cache_path", "uwsgi_cache_path"}
    | {"scgi_cache_path"}
)
WRITTEN = frozenset({"pid", "lock_file", "error_log", "access_log", "proxy_store"} | _FOLDERS)
"""Directives whose first argument is what nginx writes; a folder of such, or a file."""
READ = frozenset(
    {"ssl_certificate", "ssl_certificate_key", "ssl_password_file", "ssl_dhparam"}
    | {"ssl_trusted_certificate", "ssl_client_certificate", "ssl_session_ticket_key"}
    | {"ssl_stapling_file", "ssl_crl", "auth_basic_user_file"}
    | {
        f"{side}_ssl_{name}"
        for side in ("proxy", "grpc", "uwsgi")
        for name in (
            *("certificate", "certificate_key", "password_file"),
            *("trusted_certificate", "crl"),
        )
    }
)
"""Directives whose first argument is a key, a certificate or a list of users."""
_NO_FILES = ("syslog:", "memory:", "/dev/", "data:", "engine:", "$")
_SWITCHES = frozenset({"", "stderr", "off", "on"})


def is_file(text: str) -> bool:
    """Whether an argument names a file, and not a log server, a switch or a variable."""
    return text not in _SWITCHES and not text.startswith(_NO_FILES)


def written_folders(conf: Conf) -> tuple[str, ...]:
    """Return the folders that it is configured to write in, each once.

    nginx makes those of temporary files and caches itself: where one is not there yet, it writes
    in the folder around it.
    """
    found: dict[str, None] = {}
    for directive in walk(conf.tree):
        if directive.name in WRITTEN and directive.args and is_file(directive.texts[0]):
            path = conf.build.full(directive.texts[0])
            found[_folder(directive, path)] = None
    for path in _compiled(conf):
        found[path] = None
    return tuple(dict.fromkeys(posixpath.normpath(path) for path in found))


def unreadable(conf: Conf) -> tuple[str, ...]:
    """Return the keys, certificates and password files that this user may not read."""
    found: dict[str, None] = {}
    folder = posixpath.dirname(conf.main_file)
    for directive in walk(conf.tree):
        if directive.name in READ and directive.args and is_file(directive.texts[0]):
            # As `include`, these start from the configuration's folder.
            path = posixpath.join(folder, directive.texts[0])
            if not _may_read(path):
                found[path] = None
    return tuple(found)


def _folder(directive: Directive, path: str) -> str:
    if directive.name in _FOLDERS:
        return _made(path)
    # What stands before the first variable is known.
    return posixpath.dirname(path.partition("$")[0])


def _compiled(conf: Conf) -> Iterator[str]:
    """Yield the folders of what is compiled in and that nothing sets."""
    build = conf.build
    for name, option in (("pid", "--pid-path"), ("error_log", "--error-log-path")):
        path = build.path(option)
        if not conf.main.own(name) and is_file(path.removeprefix(f"{build.prefix}/")):
            yield posixpath.dirname(path)
    if conf.http is None:
        return
    # A server of several may set its own; the others, and the test, open what is compiled in.
    if not conf.http.own("access_log"):
        yield posixpath.dirname(build.path("--http-log-path"))
    for name, option in TEMP_OPTIONS.items():
        if not conf.http.own(name):
            yield _made(build.path(option))


def _made(path: str) -> str:
    return path if os.path.lexists(path) else posixpath.dirname(path)


def _may_read(path: str) -> bool:
    """Whether it may be read; also where it is not there, which nginx says better."""
    try:
        Path(path).stat()
    except PermissionError:
        return False
    except OSError:
        return True
    return os.access(path, os.R_OK)


_BARE = re.compile(r"[^\s;{}\"'#\\$]+")
_END_OF_LINE = re.compile(rb"[ \t]*(?:#[^\n]*?)?(?=\r?\n|\Z)")
_INDENTATION = re.compile(rb"(?:^|\n)([ \t]*)\Z")
_STEP = "    "


def put(
    texts: Mapping[str, bytes], scope: Scope, name: str, arguments: tuple[str, ...]
) -> tuple[Edit, ...]:
    """Return the edits that give a directive these arguments in this very scope."""
    own = scope.own(name)
    if own:
        return changed(own[-1], arguments)
    return (line(texts, scope, f"{name} {' '.join(map(written, arguments))};"),)


def changed(directive: Directive, arguments: tuple[str, ...]) -> tuple[Edit, ...]:
    """Return the edits that turn its arguments into these; none where they are these."""
    old = directive.texts
    if old == arguments:
        return ()
    if len(old) == len(arguments):
        pairs = zip(directive.args, arguments, strict=True)
        return tuple(
            Edit(file=directive.file, start=word.start, end=word.end, text=written(text))
            for word, text in pairs
            if word.text != text
        )
    n_same = next(
        (i for i, (a, b) in enumerate(zip(old, arguments, strict=False)) if a != b),
        min(len(old), len(arguments)),
    )
    # From behind the last word that stays, so that a word less takes its space with it.
    start = directive.args[n_same - 1].end if n_same else directive.start + len(directive.name)
    added = "".join(f" {written(text)}" for text in arguments[n_same:])
    return (Edit(file=directive.file, start=start, end=directive.args[-1].end, text=added),)


def removed(texts: Mapping[str, bytes], directive: Directive) -> Edit:
    """Return the edit that takes a directive out, with its line where it has that for itself."""
    text, start, end = texts[directive.file], directive.start, directive.end
    indentation = _INDENTATION.search(text, 0, start)
    rest = re.compile(rb"[ \t]*\r?\n").match(text, end)
    if indentation and rest:
        return Edit(file=directive.file, start=indentation.start(1), end=rest.end(), text="")
    while start and text[start - 1 : start] in (b" ", b"\t"):
        start -= 1
    return Edit(file=directive.file, start=start, end=end, text="")


def line(texts: Mapping[str, bytes], scope: Scope, directive: str) -> Edit:
    """Return the edit that puts a directive into a block."""
    file = scope.written[0].file if scope.node is None else scope.node.file
    text = texts[file]
    plain = [each for each in scope.written if not each.is_block]
    before = (plain or list(scope.written))[-1:]
    if not before:
        return _first_line(text, scope, file, directive)
    anchor = before[0]
    indentation = _INDENTATION.search(text, 0, anchor.start)
    rest = _END_OF_LINE.match(text, anchor.end)
    if indentation is None or rest is None:
        return Edit(file=file, start=anchor.end, end=anchor.end, text=f" {directive}")
    return Edit(
        file=file,
        start=rest.end(),
        end=rest.end(),
        text=f"{_newline(text, rest.end())}{indentation[1].decode()}{directive}",
    )


def written(text: str) -> str:
    """Return an argument as it is written: in quotes where it needs them."""
    # A variable needs none, but what follows it may be an open brace.
    if _BARE.fullmatch(text.replace("$", "")) and "${" not in text:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _first_line(text: bytes, scope: Scope, file: str, directive: str) -> Edit:
    """Put it behind the opening brace of a block without directives."""
    node = scope.node
    start, end = (0, len(text)) if node is None or node.inner is None else node.inner
    if node is None or b"\n" not in text[start:end]:
        put_in = f" {directive} " if start == end else f" {directive}"
        return Edit(file=file, start=start, end=start, text=put_in)
    indentation = _INDENTATION.search(text, 0, node.start)
    outer = indentation[1].decode() if indentation else ""
    step = "\t" if "\t" in outer else _STEP
    rest = _END_OF_LINE.match(text, start)
    at = start if rest is None else rest.end()
    return Edit(file=file, start=at, end=at, text=f"{_newline(text, at)}{outer}{step}{directive}")


def _newline(text: bytes, at: int) -> str:
    """Return the line end that stands there, or else the file's first one."""
    if text[at : at + 1]:
        return "\r\n" if text[at : at + 1] == b"\r" else "\n"
    return "\r\n" if b"\r\n" in text else "\n"
