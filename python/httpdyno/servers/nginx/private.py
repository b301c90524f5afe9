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
    edits = [
        edit
        for directive in conf.main.own("daemon")
        if directive.texts == ("on",)
        for edit in changed(directive, ("off",))
    ]
    if not is_root:
        edits += _for_an_ordinary_user(conf)
    return tuple(replace(edit, purpose="private") for edit in edits)


def blanked(conf: Conf, directive: Directive) -> Edit:
    """Return the edit that takes a directive out and leaves its lines."""
    raw = conf.texts[directive.file][directive.start : directive.end]
    text = "\n" * raw.count(b"\n")
    return Edit(file=directive.file, start=directive.start, end=directive.end, text=text)


def at_start(conf: Conf, directive: Directive, text: str) -> Edit:
    """Return the edit that puts something behind the open brace of a block, on its line."""
    del conf
    at = directive.end if directive.inner is None else directive.inner[0]
    return Edit(file=directive.file, start=at, end=at, text=f" {text}")


def _for_an_ordinary_user(conf: Conf) -> Iterator[Edit]:
    for directive in conf.main.own("user"):
        yield blanked(conf, directive)
    for directive in conf.main.own("worker_priority"):
        if directive.texts[:1] and directive.texts[0].startswith("-"):
            yield blanked(conf, directive)
    for listen in listens(conf):
        if listen.directive is None and listen.server.node is not None and conf.is_root:
            # For root it is this port, for others another one.
            port = listen.address.rpartition(":")[2]
            yield at_start(conf, listen.server.node, f"listen {port};")
