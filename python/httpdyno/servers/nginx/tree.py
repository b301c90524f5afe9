"""Directives and blocks of one file, with their bytes; what is included is hung in by `include`."""

from collections.abc import Iterator
from dataclasses import dataclass

from httpdyno.errors import AdapterError
from httpdyno.model import Origin
from httpdyno.servers.nginx.lexer import Token, tokens

DEEPEST = 64
"""Blocks inside blocks, which a server has three of: more is nothing that anybody wrote to run."""


@dataclass(frozen=True, slots=True)
class Word:
    """An argument."""

    text: str
    """What it means, without quotes."""
    start: int
    end: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Directive:
    """One directive; a block where it has braces."""

    name: str
    args: tuple[Word, ...]
    file: str
    line: int
    """From 1: where its name stands."""
    start: int
    """First byte of its name."""
    end: int
    """The byte after its `;`, or after the `}` of a block."""
    inner: tuple[int, int] | None = None
    """The bytes between its braces; None where it has none."""
    block: tuple["Directive", ...] = ()
    """What stands in the braces, or for an `include` what stands in its files."""

    @property
    def is_block(self) -> bool:
        """Whether it has braces."""
        return self.inner is not None

    @property
    def texts(self) -> tuple[str, ...]:
        """Its arguments, as they are meant."""
        return tuple(word.text for word in self.args)

    @property
    def origin(self) -> Origin:
        """Where its arguments stand; the directive itself where it has none."""
        start, end = (
            (self.args[0].start, self.args[-1].end) if self.args else (self.start, self.end)
        )
        return Origin(file=self.file, line=self.line, start=start, end=end)


def parsed(text: bytes, file: str) -> tuple[Directive, ...]:
    """Return the directives of one file; an `include` is one without content.

    Raises:
        AdapterError: It is not nginx's grammar; says file and line.
    """
    stream = tokens(text, file)
    found, closing = _block(stream, file, 0)
    if closing is not None:
        raise _unexpected(file, closing.line, "`}` without an open block")
    return found


def flat(directives: tuple[Directive, ...]) -> Iterator[Directive]:
    """Yield the directives of a block in order, with those of included files in their place."""
    for directive in directives:
        if directive.name == "include" and not directive.is_block:
            yield from flat(directive.block)
        else:
            yield directive


def walk(directives: tuple[Directive, ...]) -> Iterator[Directive]:
    """Yield all directives, those in blocks and in included files too, and each `include`."""
    for directive in directives:
        yield directive
        yield from walk(directive.block)


def _block(
    stream: Iterator[Token], file: str, depth: int
) -> tuple[tuple[Directive, ...], Token | None]:
    """Read up to the `}` that ends a block, and return it too; None at the end of the file."""
    found: list[Directive] = []
    words: list[Token] = []
    for token in stream:
        if token.kind == "word":
            words.append(token)
        elif token.value == "}" and not words:
            return tuple(found), token
        elif token.value == "}" or not words:
            raise _unexpected(file, token.line, f"`{token.value}` where it cannot be")
        else:
            found.append(_directive(words, token, stream, file, depth))
            words = []
    if words:
        raise _unexpected(file, words[0].line, f"`{words[0].value}` does not end with `;`")
    return tuple(found), None


def _directive(
    words: list[Token], mark: Token, stream: Iterator[Token], file: str, depth: int
) -> Directive:
    name, end, inner = words[0], mark.end, None
    block: tuple[Directive, ...] = ()
    if mark.value == "{":
        if name.value.endswith("_by_lua_block"):
            next(stream)
            block, closing = (), next(stream)
        elif depth >= DEEPEST:
            raise _unexpected(file, mark.line, f"blocks are nested more than {DEEPEST} deep")
        else:
            block, ended_by = _block(stream, file, depth + 1)
            if ended_by is None:
                raise _unexpected(file, name.line, f"the block of `{name.value}` does not end")
            closing = ended_by
        inner, end = (mark.end, closing.start), closing.end
    return Directive(
        name=name.value,
        args=tuple(Word(word.value, word.start, word.end) for word in words[1:]),
        file=file,
        line=name.line,
        start=name.start,
        end=end,
        inner=inner,
        block=block,
    )


def _unexpected(file: str, line: int, what: str) -> AdapterError:
    return AdapterError(f"`{file}` was not understood at line {line}: {what}")
