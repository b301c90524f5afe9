"""nginx's words, each with the bytes that it stands in. Nothing of a text is lost.

The rules are those of `ngx_conf_read_token` (nginx 1.22, src/core/ngx_conf_file.c): a quote or a
comment begins only where a word may begin, `${` does not open a block, a backslash takes the next
byte with it, and after a quoted word there has to be white space, `;`, `{` or `)`. Lua blocks
(OpenResty's `…_by_lua_block {…}`) are one raw word, whose end their own lexer finds: braces count
only outside of Lua's strings and comments.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from httpdyno.errors import AdapterError

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
