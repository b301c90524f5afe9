"""The edits that let nginx run as a private copy; nothing of them is shown or applied.

In a cell it sees its files at their paths and may bind its ports: what is edited is that it stays
in the foreground, and where the copy is not root, what only root may do. The number of lines stays,
so that a line which nginx names is a line of theirs.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from httpdyno.model import Edit
from httpdyno.servers.nginx.listen import listens
from httpdyno.servers.nginx.place import changed
from httpdyno.servers.nginx.scope import Conf
from httpdyno.servers.nginx.tree import Directive


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
