import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.host.foreign_files import opened_regular, read_regular
from httpdyno.host.foreign_text import kept_bytes, kept_text, reason, visible


@each_row(
    ("text", "shown"),
    [
        ("plain é ✓ \t and\nlines", "plain é ✓ \t and\nlines"),
        ("\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"),
        ("over\rwritten", "over\\u000dwritten"),
        ("\x9b2J", "\\u009b2J"),
        ("del\x7f", "del\\u007f"),
        ("abc\u202efdp.exe", "abc\\u202efdp.exe"),
        ("\udcff", "\\udcff"),
    ],
)
def test_what_would_steer_a_terminal_is_written_out(text, shown):
    assert visible(text) == shown
    assert visible(shown) == shown


def test_json_text_means_the_same_afterwards():
    document = {"a": "\x9b\u202e\x7f\x1b\n\t"}
    text = visible(json.dumps(document, ensure_ascii=False))
    assert "\x9b" not in text
    assert json.loads(text) == document


@each_row("data", [b"", b"plain", b"caf\xe9 \xff\r\n\x0c", "ä\uf7e9".encode()])
def test_bytes_that_are_no_text_are_kept_in_one(data):
    text = kept_text(data)
    assert kept_bytes(text) == data
    assert json.loads(json.dumps(text)) == text
    text.encode()  # a store takes no lone halves of characters


@given(st.binary() | st.text(st.sampled_from("a\n\uf77f\uf780\uf7ff\uf800ä")).map(str.encode))
def test_all_bytes_are_kept(data):
    assert kept_bytes(kept_text(data)) == data


def test_text_that_is_utf_8_is_itself():
    assert kept_text("größer ✓\n".encode()) == "größer ✓\n"
    assert kept_bytes("größer ✓\n") == "größer ✓\n".encode()


def test_what_is_no_regular_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path, words in (
        (tmp_path / "fifo", "it is a FIFO"),
        ("/dev/zero", "it is a device"),
        ("/dev/full", "it is a device"),
        (tmp_path, "it is a folder"),
        ("a\0b", "no file can have such a name"),
        ("x" * 5000, "file name too long"),
    ):
        with pytest.raises(OSError) as caught:  # noqa: PT011 - the words are looked at
            opened_regular(path)
        assert words in reason(caught.value)


def test_a_file_beyond_the_limit_is_refused(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"x" * 2048)
    assert read_regular(file, limit_bytes=2048) == b"x" * 2048
    with pytest.raises(OSError, match="larger than 1 KiB"):
        read_regular(file, limit_bytes=1024)
