"""All files of a configuration: what `include` names, in nginx's order, and the tree of them all.

Patterns are matched as glob(3) does in the C locale, which nginx runs in: in the order of bytes,
and a leading dot only by a dot. A pattern may match nothing; a file that is named must be there.
`include` starts from the folder of the main file, whatever `-p` says.
"""

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fnmatch import translate
from pathlib import Path

from httpdyno.errors import AdapterError
from httpdyno.foreign_text import read_regular, reason
from httpdyno.servers.link import led
from httpdyno.servers.nginx.tree import Directive, parsed, walk
from httpdyno.servers.site.adapter import MemberFiles

_LARGEST_BYTES = 64 << 20
_MAGIC = re.compile(r"[*?\[]")
_PAGES = ("root", "alias")
_DEEPEST = 64
"""Files inside files. nginx itself ends only when it has no more descriptors."""


def files_of(main: str, root: str = "") -> MemberFiles:
    """Read the main file and all that it includes; the main file comes first.

    Args:
        main: Its path, as nginx opens it.
        root: The folder that is `/` for that nginx, such as `/proc/PID/root`; empty for ours.

    Raises:
        AdapterError: A file is not there, cannot be read, is no nginx configuration, or includes
            itself; says which, and the line that names it.
    """
    texts: dict[str, bytes] = {}

    def load(path: str, named_by: Directive | None) -> bytes:
        if path not in texts:
            texts[path] = _content(path, named_by, root)
        return texts[path]

    tree = _tree(main, load, lambda folder: _listed_on_disk(f"{root}{led(folder, root)}"))
    real = {path: target for path in texts if (target := led(path, root)) != path}
    folder = posixpath.dirname(main)
    named = [each for each in walk(tree) if each.args]
    wholes = [_whole(each.texts[0], folder) for each in named if each.name == "include"]
    pages = [each.texts[0] for each in named if each.name in _PAGES]
    return MemberFiles(
        texts=texts,
        real=real,
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
    return [p for p in found if posixpath.basename(p) in names_in(posixpath.dirname(p) or "/")]


def _whole(pattern: str, folder: str) -> str:
    return pattern if pattern.startswith("/") else f"{folder.rstrip('/')}/{pattern}"


def _tree(
    main: str,
    load: Callable[[str, Directive | None], bytes],
    names_in: Callable[[str], Iterable[str]],
) -> tuple[Directive, ...]:
    folder = posixpath.dirname(main)

    def of_file(path: str, chain: tuple[str, ...], by: Directive | None) -> tuple[Directive, ...]:
        if by is not None and (path in chain or len(chain) > _DEEPEST):
            raise AdapterError(f"`{by.file}` line {by.line} includes `{path}`, which includes it")
        return filled(parsed(load(path, by), path), (*chain, path))

    def filled(directives: tuple[Directive, ...], chain: tuple[str, ...]) -> tuple[Directive, ...]:
        done: list[Directive] = []
        for directive in directives:
            if directive.name == "include" and len(directive.args) == 1:
                paths = included(directive.args[0].text, folder, names_in)
                inside = [of_file(path, chain, directive) for path in paths]
                done.append(replace(directive, block=tuple(d for ds in inside for d in ds)))
            else:
                done.append(replace(directive, block=filled(directive.block, chain)))
        return tuple(done)

    return of_file(main, (), None)


def _listed_on_disk(folder: str) -> list[str]:
    try:
        return [path.name for path in Path(folder).iterdir()]
    except OSError:
        # As glob(3): what cannot be listed matches nothing.
        return []


def _listing(paths: Iterable[str]) -> Callable[[str], Iterable[str]]:
    names: dict[str, set[str]] = {}
    for path in paths:
        parts = path.split("/")
        for i in range(1, len(parts)):
            names.setdefault("/".join(parts[:i]) or "/", set()).add(parts[i])
    return lambda folder: names.get(folder, set())


def _content(path: str, named_by: Directive | None, root: str) -> bytes:
    try:
        return read_regular(Path(f"{root}{led(path, root)}"), limit_bytes=_LARGEST_BYTES)
    except PermissionError as error:
        raise AdapterError(
            f"`{path}`{_by(named_by)} cannot be read: {reason(error)}",
            hint="Run the command with `sudo`, as nginx itself is started.",
        ) from error
    except OSError as error:
        raise _absent(path, named_by, reason(error)) from error


def _absent(path: str, named_by: Directive | None, why: str) -> AdapterError:
    hint = "nginx does not start without it either: make it, or take its `include` out"
    return AdapterError(
        f"`{path}`{_by(named_by)} cannot be read: {why}", hint=hint if named_by else ""
    )


def _by(named_by: Directive | None) -> str:
    return f", included by `{named_by.file}` line {named_by.line}," if named_by else ""
