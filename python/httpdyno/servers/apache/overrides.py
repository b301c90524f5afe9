"""`.htaccess` files: which are read at each request, and by leave of which directive."""

import os
import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from httpdyno.host.foreign_files import folders_below
from httpdyno.servers.apache.directive import Directive, Section
from httpdyno.servers.apache.lines import words

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
