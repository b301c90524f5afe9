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

from httpdyno.errors import AdapterError
from httpdyno.host.foreign_text import reason
from httpdyno.servers.nginx.tree import DEEPEST, Directive, parsed, walk
from httpdyno.servers.stack.adapter import MemberFiles
from httpdyno.servers.stack.their_files import TheirFiles

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
        if too_much := _too_much(depth, n_directives, n_files):
            raise AdapterError(f"`{chain[-1]}` was not understood: {too_much}")
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


def _too_much(depth: int, n_directives: int, n_files: int) -> str:
    """Return in words how it is more than anybody wrote to run; empty where it is not."""
    if depth > DEEPEST:
        return f"blocks and files are nested more than {DEEPEST} deep"
    if n_directives <= _MOST_DIRECTIVES and n_files <= _MOST_INCLUDES:
        return ""
    return (
        f"with all that is included it is more than {_MOST_DIRECTIVES:,} directives, or "
        f"{_MOST_INCLUDES:,} files"
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
    hint = "nginx does not start without it either: make it, or take its `include` out"
    return AdapterError(
        f"`{path}`{_by(named_by)} cannot be read: {why}", hint=hint if named_by else ""
    )


def _by(named_by: Directive | None) -> str:
    return f", included by `{named_by.file}` line {named_by.line}," if named_by else ""
