import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.errors import AdapterError
from httpdyno.model import Edit
from httpdyno.servers.stack.snapshot import edited, edited_files, unified_diff

FILE = "/etc/some.conf"


@st.composite
def texts_and_edits(draw):
    text = draw(st.binary(max_size=60))
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    spans = list(zip(cuts[::2], cuts[1::2], strict=False))
    words = draw(st.lists(st.text(max_size=5), min_size=len(spans), max_size=len(spans)))
    edits = [
        Edit(file=FILE, start=a, end=b, text=word)
        for (a, b), word in zip(spans, words, strict=True)
    ]
    return text, draw(st.permutations(edits)), spans


@given(texts_and_edits())
def test_every_byte_that_no_edit_names_stays_in_its_order(drawn):
    text, edits, spans = drawn
    outside, reached = [], 0
    for start, end in spans:
        outside.append(text[reached:start])
        reached = end
    outside.append(text[reached:])
    new = edited(text, edits)
    assert len(new) == sum(map(len, outside)) + sum(len(e.text.encode()) for e in edits)
    rest = new
    for piece in outside:
        at = rest.find(piece)
        assert at >= 0
        rest = rest[at + len(piece) :]


@each_row(
    ("text", "edits", "expected"),
    [
        (b"a 1;\nb 2;\n", [(2, 3, "10")], b"a 10;\nb 2;\n"),
        (b"a 1;\nb 2;\n", [(7, 8, ""), (2, 3, "")], b"a ;\nb ;\n"),
        (b"a\n", [(2, 2, "b\n"), (2, 2, "c\n")], b"a\nb\nc\n"),
        (b"", [(0, 0, "x")], b"x"),
        (b"\xff\xfe 1", [(3, 4, "é")], b"\xff\xfe \xc3\xa9"),
    ],
)
def test_spans_are_replaced(text, edits, expected):
    assert edited(text, [Edit(file=FILE, start=a, end=b, text=t) for a, b, t in edits]) == expected


@each_row("spans", [[(0, 2), (1, 3)], [(0, 9)], [(2, 1)], [(-1, 1)]])
def test_spans_that_cannot_be_are_refused(spans):
    with pytest.raises(AdapterError, match=r"some\.conf"):
        edited(b"abc", [Edit(file=FILE, start=a, end=b, text="") for a, b in spans])


def test_only_files_with_edits_come_out():
    texts = {"/a": b"1", "/b": b"2"}
    assert edited_files(texts, [Edit(file="/b", start=0, end=1, text="3")]) == {"/b": b"3"}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a 1;\nb 2;\n", b"a 1;\nb 3;\n"),
        (b"a 1;\nno end", b"a 1;\nanother end"),
        (b"latin \xe9\n1\n", b"latin \xe9\n2\n"),
        (b"crlf\r\n1\r\n", b"crlf\r\n2\r\n"),
    ],
)
def test_patch_applies_the_diff(before, after, tmp_path):
    file = tmp_path / "some.conf"
    file.write_bytes(before)
    diff = unified_diff({str(file): before}, {str(file): after})
    subprocess.run(
        ["patch", "-p0", "--binary", str(file)],
        input=diff.encode("utf-8", errors="surrogateescape"),
        check=True,
        capture_output=True,
        timeout=10,
    )
    assert file.read_bytes() == after
