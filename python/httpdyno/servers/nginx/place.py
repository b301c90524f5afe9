"""Where a directive is written: the edit of its argument, or a line of its own. Pure.

What is set already changes in the bytes of the argument that differs. What is not gets a line after
the last plain directive of its block, with that one's indentation and line ends.
"""

import re
from collections.abc import Mapping

from httpdyno.model import Edit
from httpdyno.servers.nginx.scope import Scope
from httpdyno.servers.nginx.tree import Directive

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
