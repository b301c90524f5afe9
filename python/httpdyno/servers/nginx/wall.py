"""The edits that let nginx run as a private copy; nothing of them is shown or applied.

In a cell it sees its files at their paths and may bind its ports: what is edited is that it stays
in the foreground, and where the copy is not root, what only root may do. The number of lines stays,
so that a line which nginx names is a line of theirs.

The edits that let nginx run where it sees everybody's files and ports: in a wall, or open.

Every file of the configuration lies at `seat.path(its own path)`, every address becomes
`seat.port(address)`, and all that is written goes below the seat. What is read (documents, keys,
modules) stays where it is. Lines stay where they are: what is put in shares a line with what is
there, so that a line which nginx names is a line of theirs.
"""

import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.model import Edit, Survey
from httpdyno.servers.link import led
from httpdyno.servers.nginx.conf import (
    READ,
    TEMP_OPTIONS,
    WRITTEN,
    Build,
    Conf,
    changed,
    conf_of,
    files_of,
    is_file,
    written,
)
from httpdyno.servers.nginx.endpoint import (
    PASSES,
    Listen,
    addresses,
    default_port,
    is_of_the_socket,
    listens,
    target_of,
    with_port,
)
from httpdyno.servers.nginx.text import BOM, Directive, walk
from httpdyno.servers.stack.adapter import Seat
from httpdyno.servers.stack.snapshot import edited_files


def cell_edits(conf: Conf, *, is_root: bool) -> tuple[Edit, ...]:
    """Return the edits for a cell.

    Args:
        conf: Theirs, with `is_root` as their own master is.
        is_root: Whether the copy is root.
    """
    edits = [*in_foreground(conf)]
    if not is_root:
        edits += [*of_an_ordinary_user(conf), *_at_roots_port(conf)]
    return tuple(replace(edit, purpose="private") for edit in edits)


def in_foreground(conf: Conf) -> Iterator[Edit]:
    """Yield what keeps the master from becoming a daemon; where nothing is set, `-g` does."""
    for directive in conf.main.own("daemon"):
        if directive.texts == ("on",):
            yield from changed(directive, ("off",))


def of_an_ordinary_user(conf: Conf) -> Iterator[Edit]:
    """Yield what takes out that which only root may do."""
    for directive in conf.main.own("user"):
        yield blanked(conf, directive)
    for directive in conf.main.own("worker_priority"):
        if directive.texts[:1] and directive.texts[0].startswith("-"):
            yield blanked(conf, directive)


def blanked(conf: Conf, directive: Directive) -> Edit:
    """Return the edit that takes a directive out and leaves its lines."""
    raw = conf.texts[directive.file][directive.start : directive.end]
    text = "\n" * raw.count(b"\n")
    return Edit(file=directive.file, start=directive.start, end=directive.end, text=text)


def at_start(block: Directive, text: str) -> Edit:
    """Return the edit that puts something behind the open brace of a block, on its line."""
    at = block.end if block.inner is None else block.inner[0]
    return Edit(file=block.file, start=at, end=at, text=f" {text}")


def _at_roots_port(conf: Conf) -> Iterator[Edit]:
    """Yield the port of servers without `listen`: for root it is 80, for others another one."""
    for listen in listens(conf):
        if listen.directive is None and listen.server.node is not None and conf.is_root:
            port = listen.address.rpartition(":")[2]
            yield at_start(listen.server.node, f"listen {port};")


_SYSLOG = "syslog:"
_SYSLOG_FILE = "/var/log/nginx-syslog.log"
_NEVER = ("proxy_protocol", "ipv6only=")
"""Of `listen`: what a client of a copy does not speak, and what its addresses are not."""


def rewrite(main: str, survey: Survey, build: Build, seat: Seat, *, is_root: bool) -> None:
    """Rewrite the files that lie in a seat, and make the folders that are written there.

    Args:
        main: Their main file, by its own path.
        survey: What was found.
        build: How it was built.
        seat: Where the files lie, each at `seat.path` of its own.
        is_root: Whether their own master is root.

    Raises:
        AdapterError: A file is not there or cannot be written, or an address not be moved.
    """
    root = seat.path("/").rstrip("/")
    conf = conf_of(files_of(main, root).texts, build, is_root=is_root)
    edits = wall_edits(conf, seat, survey.stand_ins)
    try:
        for path, text in edited_files(conf.texts, edits).items():
            Path(f"{root}{led(path, root)}").write_bytes(text)
        for folder in survey.writes:
            Path(seat.path(folder)).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AdapterError(f"`{error.filename}` cannot be written: {reason(error)}") from error


def wall_edits(conf: Conf, seat: Seat, stand_ins: Iterable[str]) -> tuple[Edit, ...]:
    """Return the edits for a seat that is no cell.

    Raises:
        AdapterError: The seat has no other address for one of theirs.

    Args:
        conf: Theirs.
        seat: Whose `path` and `port` say where things are for the copy; an address that nothing
            of the copy listens at comes back as it is.
        stand_ins: Keys and the like in whose place others lie, at `seat.path` of theirs.
    """
    edits = [
        *in_foreground(conf),
        *_paths(conf, seat, frozenset(stand_ins)),
        *_unset(conf, seat),
        *_listens(conf, seat),
        *_other_listens(conf, seat),
        *_backends(conf, seat),
        *([] if seat.is_root else of_an_ordinary_user(conf)),
    ]
    return tuple(dict.fromkeys(_same_lines(conf, edit) for edit in edits))


def _paths(conf: Conf, seat: Seat, stand_ins: frozenset[str]) -> Iterator[Edit]:
    folder = posixpath.dirname(conf.main_file)
    for directive in walk(conf.tree):
        if directive.is_block or not directive.args:
            continue
        first, rest = directive.texts[0], directive.texts[1:]
        if directive.name == "include":
            # A relative one starts from the folder of the main file, which moves with it.
            new = seat.path(first) if first.startswith("/") else first
        elif directive.name in WRITTEN and first.startswith(_SYSLOG):
            new = seat.path(_SYSLOG_FILE)
        elif directive.name in WRITTEN and is_file(first):
            new = seat.path(conf.build.full(first))
        elif directive.name in READ and is_file(first):
            path = posixpath.join(folder, first)
            new = seat.path(path) if path in stand_ins else path
        else:
            continue
        yield from changed(directive, (new, *rest))


def _unset(conf: Conf, seat: Seat) -> Iterator[Edit]:
    """Yield what gives a place to what would be written where it is compiled in."""
    build = conf.build
    main = [
        f"{name} {written(seat.path(build.path(option)))}; "
        for name, option in (("pid", "--pid-path"), ("error_log", "--error-log-path"))
        if not conf.main.own(name) and is_file(posixpath.basename(build.path(option)))
    ]
    at = len(BOM) if conf.texts[conf.main_file].startswith(BOM) else 0
    yield Edit(file=conf.main_file, start=at, end=at, text="".join(main))
    http = conf.http
    if http is None or http.node is None:
        return
    inner = [
        f"{name} {written(seat.path(build.path(option)))};"
        for name, option in TEMP_OPTIONS.items()
        if not http.own(name)
    ]
    if not http.own("access_log"):
        inner.append(f"access_log {written(seat.path(build.path('--http-log-path')))};")
    if inner:
        yield at_start(http.node, " ".join(inner))


def _listens(conf: Conf, seat: Seat) -> Iterator[Edit]:
    """Yield the new addresses of all servers of HTTP."""
    by_directive: dict[tuple[str, int], list[Listen]] = {}
    said = _Said(seat)
    for listen in listens(conf):
        if listen.directive is not None:
            key = (listen.directive.file, listen.directive.start)
            by_directive.setdefault(key, []).append(listen)
        elif listen.server.node is not None:
            yield at_start(listen.server.node, f"listen {_moved(seat, listen.address)};")
    for sharing in by_directive.values():
        directive = sharing[0].directive
        if directive is not None:
            new = dict.fromkeys(text for each in sharing if (text := said.words(each)))
            yield _in_place(conf, directive, tuple(new))


class _Said:
    """What the new addresses have said already: two of theirs may be one of the copy's."""

    def __init__(self, seat: Seat) -> None:
        self._seat = seat
        self._in_server: set[tuple[int, str]] = set()
        self._default: set[str] = set()
        self._of_socket: set[str] = set()

    def words(self, listen: Listen) -> str:
        """Return the arguments of a `listen`; none where its server listens there already."""
        address, server = listen.address, id(listen.server)
        if not listen.is_datagram:
            address = _moved(self._seat, address)
        if listen.is_datagram or (server, address) in self._in_server:
            return ""
        self._in_server.add((server, address))
        words = [word for word in listen.options if not word.startswith(_NEVER)]
        if address in self._default:
            words = [word for word in words if word not in {"default_server", "default"}]
        if address in self._of_socket:
            words = [word for word in words if not is_of_the_socket(word)]
        if listen.is_default:
            self._default.add(address)
        if any(map(is_of_the_socket, words)):
            self._of_socket.add(address)
        return " ".join([written(address), *words])


def _in_place(conf: Conf, directive: Directive, new: tuple[str, ...]) -> Edit:
    """Return the edit that makes one `listen` several, or none."""
    if not new:
        return blanked(conf, directive)
    return Edit(
        file=directive.file,
        start=directive.args[0].start,
        end=directive.args[-1].end,
        text="; listen ".join(new),
    )


def _other_listens(conf: Conf, seat: Seat) -> Iterator[Edit]:
    for outer in conf.main.directives:
        if outer.name not in {"stream", "mail"}:
            continue
        for directive in walk(outer.block):
            if directive.name == "listen" and directive.args:
                words = [w for w in directive.texts[1:] if not w.startswith(_NEVER)]
                found = dict.fromkeys(
                    " ".join([written(_moved(seat, address)), *words])
                    for address in addresses(directive.texts[0])
                )
                yield _in_place(conf, directive, tuple(found))


def _moved(seat: Seat, address: str) -> str:
    new = seat.port(address)
    if new == address:
        raise AdapterError(f"a copy would listen at `{address}`, where they do")
    return new


def _backends(conf: Conf, seat: Seat) -> Iterator[Edit]:
    upstreams = {d.texts[0] for d in walk(conf.tree) if d.name == "upstream" and d.args}
    for directive in walk(conf.tree):
        is_pass = directive.name in PASSES
        if not directive.args or not (is_pass or _is_upstream_server(directive)):
            continue
        text = directive.texts[0]
        to = target_of(text)
        if not to.host or "$" in to.host or (is_pass and to.host in upstreams):
            continue
        theirs = with_port(to.host, default_port(to.scheme))
        if (moved := seat.port(theirs)) != theirs:
            new = text.replace(to.host, moved, 1)
            yield from changed(directive, (new, *directive.texts[1:]))


def _is_upstream_server(directive: Directive) -> bool:
    return directive.name == "server" and not directive.is_block


def _same_lines(conf: Conf, edit: Edit) -> Edit:
    lost = conf.texts[edit.file].count(b"\n", edit.start, edit.end) - edit.text.count("\n")
    return replace(edit, text=edit.text + "\n" * lost, purpose="private")
