import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row
from tests.servers.nginx.layouts import LAYOUTS

from httpdyno.errors import AdapterError
from httpdyno.servers.nginx.text import parsed, tokens, walk

GAPS = st.sampled_from([" ", "\t", "\n", "\r\n", ' # a ; { } " comment\n', "  "])
MARKS = st.sampled_from([";", "{", "}"])


def quoted(word, quote):
    return quote + word.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote


def bare(word):
    escaped = "".join("\\" + c if c in " \t\r\n;{}#\"'\\" else c for c in word)
    return escaped.replace("$\\{", "${")


@st.composite
def configurations(draw):
    """Return a text, and the words and marks that are in it."""
    wanted, text = [], draw(st.sampled_from(["", "\ufeff", " \n"]))
    for _ in range(draw(st.integers(0, 12))):
        if draw(st.booleans()):
            mark = draw(MARKS)
            wanted.append(("mark", mark))
            text += mark + draw(st.just("") | GAPS)
            continue
        style = draw(st.sampled_from(['"', "'", "bare"]))
        # A backslash before these stays in the value outside of quotes, so bare words have none.
        letters = "ab01./:=~$é\u00a0" if style == "bare" else "ab; {}#'\"\\\n$é"
        word = draw(st.text(letters, min_size=style == "bare", max_size=8))
        wanted.append(("word", word))
        written = bare(word) if style == "bare" else quoted(word, style)
        text += written + draw(GAPS)
    return text.encode(), wanted


@given(configurations())
def test_words_come_out_as_they_went_in_and_all_else_is_gaps(drawn):
    text, wanted = drawn
    found = list(tokens(text, "f"))
    assert [(token.kind, token.value) for token in found] == wanted
    reached = 3 if text.startswith(b"\xef\xbb\xbf") else 0
    for token in found:
        gap = text[reached : token.start]
        assert not gap.strip() or gap.lstrip().startswith(b"#")
        assert token.line == 1 + text.count(b"\n", 0, token.start)
        reached = token.end
    assert not text[reached:].strip() or text[reached:].lstrip().startswith(b"#")


@each_row(
    ("text", "values"),
    [
        (b"a ${uri}x;", ["a", "${uri}x", ";"]),
        (b"a $${b}{", ["a", "$${b}", "{"]),
        (b'if ($x = "a"){}', ["if", "($x", "=", "a", ")", "{", "}"]),
        (b'a b"c d";', ["a", 'b"c', 'd"', ";"]),
        (b"a b#c;", ["a", "b#c", ";"]),
        (b"a b}c;", ["a", "b}c", ";"]),
        (rb"a \"b\" \.php$;", ["a", '"b"', r"\.php$", ";"]),
        (rb'a "\t\q";', ["a", "\t\\q", ";"]),
        (b"a \xff;", ["a", "\udcff", ";"]),
        (b"x_by_lua_block { s = '}' --[[ } ]] -- }\n y = {} }b;", None),
    ],
)
def test_words_are_cut_as_nginx_cuts_them(text, values):
    found = list(tokens(text, "f"))
    if values is None:
        values = ["x_by_lua_block", "{", " s = '}' --[[ } ]] -- }\n y = {} ", "}", "b", ";"]
    assert [token.value for token in found] == values


@each_row(
    ("text", "line"),
    [
        (b'a;\nb "c;\n', 2),
        (b"a 'b'c;", 1),
        (b"\n\na \\", 3),
        (b"a;\n}\n", 2),
        (b"a {\nb;\n", 1),
        (b"a;\nb {", 2),
        (b"\n;", 2),
        (b"a;\nb", 2),
        (b"a b }", 1),
        (b"x_by_lua_block { '}' ", 1),
        (b'a "b"', 1),
    ],
)
def test_what_is_no_configuration_is_refused_with_its_line(text, line):
    with pytest.raises(AdapterError, match=rf"`/a/b\.conf` was not understood at line {line}\b"):
        parsed(text, "/a/b.conf")


@each_row("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_each_directive_stands_in_the_bytes_that_it_names(layout):
    for path, text in layout.texts().items():
        for directive in walk(parsed(text, path)):
            raw = text[directive.start : directive.end]
            assert raw.startswith(directive.name.encode())
            assert raw.endswith(b"}" if directive.is_block else b";")
            for word in directive.args:
                span = text[word.start : word.end].decode()
                unquoted = span[1:-1] if span[:1] in "\"'" else span
                assert unquoted == word.text or "\\" in span
            if directive.inner:
                start, end = directive.inner
                assert (text[start - 1 : start], text[end : end + 1]) == (b"{", b"}")
