"""nginx's words, each with the bytes that it stands in. Nothing of a text is lost.

The rules are those of `ngx_conf_read_token` (nginx 1.22, src/core/ngx_conf_file.c): a quote or a
comment begins only where a word may begin, `${` does not open a block, a backslash takes the next
byte with it, and after a quoted word there has to be white space, `;`, `{` or `)`. Lua blocks
(OpenResty's `…_by_lua_block {…}`) are one raw word, whose end their own lexer finds: braces count
only outside of Lua's strings and comments.

Directives and blocks of one file, with their bytes; what is included is hung in by `include`.

Numbers as nginx writes them: sizes, times, switches.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from httpdyno.errors import AdapterError
from httpdyno.model import KnobInfo, Level, Origin

BOM = b"\xef\xbb\xbf"
_TOKEN = re.compile(
    rb"""
    (?P<gap>[ \t\r\n]+|\#[^\n]*)
    |(?P<mark>[;{}])
    |(?P<quoted>"(?:[^"\\]|\\[\s\S])*"|'(?:[^'\\]|\\[\s\S])*')
    |(?P<word>(?!["'])(?:\\[\s\S]|\$\{|[^\s\\;{]|[\v\f])+)
    """,
    re.VERBOSE,
)
_ESCAPED = re.compile(r"\\([\"'\\trn])")
_MEANS = {"t": "\t", "r": "\r", "n": "\n"}
_LUA_SKIPPED = re.compile(
    rb"""
    --\[(?P<comment>=*)\[(?:[\s\S]*?\](?P=comment)\]|(?P<open_comment>))
    |--[^\n]*
    |\[(?P<long>=*)\[(?:[\s\S]*?\](?P=long)\]|(?P<open>))
    |"(?:[^"\\\n]|\\[\s\S])*"
    |'(?:[^'\\\n]|\\[\s\S])*'
    |(?P<brace>[{}])
    """,
    re.VERBOSE,
)
_AFTER_QUOTE = b" \t\r\n;{)"


@dataclass(frozen=True, slots=True)
class Token:
    """A word, or one of `;`, `{`, `}`."""

    kind: Literal["word", "mark", "lua"]
    value: str
    """What it means: quotes and escapes taken away. Bytes that are no UTF-8 as surrogates."""
    start: int
    """Its first byte, a quote with it."""
    end: int
    line: int
    """From 1: where it begins."""


def tokens(text: bytes, file: str) -> Iterator[Token]:
    """Yield the words of a text and the marks between them, in order.

    Args:
        text: All of the file.
        file: Its path, for messages.

    Raises:
        AdapterError: A quote, an escape or a Lua block does not end; says the line.
    """
    at = len(BOM) if text.startswith(BOM) else 0
    line = 1
    is_lua = is_first = True
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _wrong(file, line, "a quote or an escape does not end")
        raw = match[0]
        if match.lastgroup != "gap":
            token = Token(
                kind="mark" if match.lastgroup == "mark" else "word",
                value=_value(raw, match.lastgroup == "quoted"),
                start=at,
                end=match.end(),
                line=line,
            )
            yield token
            if match.lastgroup == "quoted" and text[match.end() : match.end() + 1] not in (
                b"",
                *(_AFTER_QUOTE[i : i + 1] for i in range(len(_AFTER_QUOTE))),
            ):
                raise _wrong(file, line, "something follows directly after a closing quote")
            if is_first:
                is_lua = token.kind == "word" and token.value.endswith("_by_lua_block")
            is_first = token.kind == "mark"
        line += raw.count(b"\n")
        at = match.end()
        if is_lua and raw == b"{" and match.lastgroup == "mark":
            end = _lua_end(text, at, file, line)
            yield Token(kind="lua", value=_decoded(text[at:end]), start=at, end=end, line=line)
            line += text.count(b"\n", at, end)
            at = end
            is_lua = False


def _lua_end(text: bytes, at: int, file: str, line: int) -> int:
    """Return where the brace stands that closes a Lua block, from behind the one that opens it."""
    depth = 1
    for match in _LUA_SKIPPED.finditer(text, at):
        if match["open"] is not None or match["open_comment"] is not None:
            break
        if match["brace"] is not None:
            depth += 1 if match["brace"] == b"{" else -1
            if depth == 0:
                return match.start()
    raise _wrong(file, line, "a Lua block does not end")


def _value(raw: bytes, is_quoted: bool) -> str:
    text = _decoded(raw[1:-1] if is_quoted else raw)
    return _ESCAPED.sub(lambda match: _MEANS.get(match[1], match[1]), text)


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", errors="surrogateescape")


def _wrong(file: str, line: int, what: str) -> AdapterError:
    return AdapterError(
        f"`{file}` was not understood at line {line}: {what}",
        hint="Let nginx test it in its own place: `nginx -t`.",
    )


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


_SIZE = re.compile(r"(\d+)([kKmMgG]?)")
_SIZE_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_TIME = re.compile(r"(?:(\d+)(ms|[smhdwMy]?))+")
_TIME_PART = re.compile(r"(\d+)(ms|[smhdwMy]?)")
_TIME_UNITS = {
    "": 1.0,
    "ms": 0.001,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
    "d": 86_400.0,
    "w": 604_800.0,
    "M": 2_592_000.0,
    "y": 31_536_000.0,
}


def size_bytes(text: str) -> int | None:
    """Return what `16k` is; None where it is no size."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _SIZE_UNITS[match[2].lower()] if match else None


def size_text(n_bytes: int) -> str:
    """Return a size as nginx takes it, in the largest unit that it is a whole number of."""
    for unit in ("g", "m", "k"):
        if n_bytes and n_bytes % _SIZE_UNITS[unit] == 0:
            return f"{n_bytes // _SIZE_UNITS[unit]}{unit}"
    return str(n_bytes)


def time_s(text: str) -> float | None:
    """Return the seconds that `1h30m` is; None where it is no time."""
    if not _TIME.fullmatch(text):
        return None
    return sum(int(n) * _TIME_UNITS[unit] for n, unit in _TIME_PART.findall(text))


def time_text(seconds: float, like: str) -> str:
    """Return a time as nginx takes it, with a unit where the one it replaces has one."""
    if seconds != int(seconds):
        return f"{round(seconds * 1000)}ms"
    return f"{int(seconds)}s" if like[-1:].isalpha() else str(int(seconds))


def n_processors() -> int:
    """Return what `worker_processes auto` stands for."""
    return os.sysconf("SC_NPROCESSORS_ONLN")


def level_of(info: KnobInfo, text: str) -> Level | None:
    """Return the level that a text of nginx stands for; None where it is none of this knob's."""
    if info.kind == "boolean":
        return {"on": True, "off": False}.get(text)
    if info.kind in {"choice", "text"}:
        return text
    if text == "auto":
        return n_processors()
    if info.unit == "s":
        seconds = time_s(text)
        return seconds if seconds is None or seconds != int(seconds) else int(seconds)
    return size_bytes(text) if info.unit == "bytes" else _number(text)


def text_of(info: KnobInfo, level: Level, like: str = "") -> str:
    """Return a level as nginx takes it, written like the one that it replaces."""
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, str):
        return level
    if info.unit == "s":
        return time_text(level, like)
    return size_text(int(level)) if info.unit == "bytes" else str(level)


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
