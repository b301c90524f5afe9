"""Requests as lines."""

import os
from pathlib import Path

import pytest
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.load.url_file import (
    RequestLine,
    first_line,
    page_line,
    read_url_file,
    request_line,
)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("/", RequestLine(url="/")),
        ("8 /cart", RequestLine(url="/cart", weight=8.0)),
        ("0.5 HEAD /cart", RequestLine(url="/cart", weight=0.5, method="HEAD")),
        ("POST /login name=joe", RequestLine(url="/login", method="POST", body="name=joe")),
        ("PUT /login a b  c", RequestLine(url="/login", method="PUT", body="a b  c")),
        ("/login POST user=joe", RequestLine(url="/login", method="POST", body="user=joe")),
        ("2 /x DELETE", RequestLine(url="/x", method="DELETE", weight=2.0)),
        ("/x POST a -> 302", RequestLine(url="/x", method="POST", body="a", expect_status="302")),
        ("/to?u=http://h/x", RequestLine(url="/to?u=http://h/x")),
        ("HTTP://h/x", RequestLine(url="HTTP://h/x")),
        ("2   GET\t/a?b=c", RequestLine(url="/a?b=c", weight=2.0, method="GET")),
        ("http://localhost:8000/x", RequestLine(url="http://localhost:8000/x")),
        ("M-SEARCH *", RequestLine(url="*", method="M-SEARCH")),
        ("0 /never", RequestLine(url="/never", weight=0.0)),
        ("8 /gone -> 404", RequestLine(url="/gone", weight=8.0, expect_status="404")),
        ("/any  ->ok", RequestLine(url="/any", expect_status="ok")),
        (
            "POST /login name=joe -> 302",
            RequestLine(url="/login", method="POST", body="name=joe", expect_status="302"),
        ),
        ("POST /x a -> b", RequestLine(url="/x", method="POST", body="a -> b")),
        ("/a->302", RequestLine(url="/a->302")),
        ('PUT /j {"n": {n}}', RequestLine(url="/j", method="PUT", body='{"n": {n}}')),
    ],
)
def test_a_line_is_weight_method_url_and_body(text, line, tmp_path):
    assert request_line(text, tmp_path) == line


@pytest.mark.parametrize(
    "text", ["", "-3 /cart", "8", "GET", "8 GET", "1,5 /x", "localhost:8000/x", "get /x", "cart"]
)
def test_what_is_no_request_is_quoted(text, tmp_path):
    with pytest.raises(UsageError, match=f"`{text}` is not a request") as caught:
        request_line(text, tmp_path)
    assert "2 POST /login" in caught.value.hint


def test_a_body_can_be_in_a_file_beside_the_list(tmp_path):
    (tmp_path / "login.json").write_text("{}")
    (tmp_path / "urls.txt").write_text("POST /login @login.json\n")
    [line] = read_url_file(tmp_path / "urls.txt")
    assert (line.body, line.body_file) == ("", str(tmp_path / "login.json"))


@pytest.mark.parametrize("line", ["/login POST <login.json", "/login POST < login.json"])
def test_a_body_can_be_in_a_file_as_siege_names_it(line, tmp_path):
    (tmp_path / "login.json").write_text("{}")
    found = request_line(line, tmp_path)
    assert (found.method, found.body) == ("POST", "")
    assert found.body_file == str(tmp_path / "login.json")


@pytest.mark.parametrize(
    "text", ["/search?q=red shoes", "/login name=joe", "/a POSTER", "/a post b"]
)
def test_a_body_without_a_method_is_refused(text, tmp_path):
    with pytest.raises(UsageError, match="a body without a method") as caught:
        request_line(text, tmp_path)
    assert f"`POST {text}`" in caught.value.hint
    assert "%20" in caught.value.hint


def test_a_byte_order_mark_is_skipped(tmp_path):
    (tmp_path / "urls.txt").write_bytes(b"\xef\xbb\xbf/a\r\n/b\r\n")
    assert [line.url for line in read_url_file(tmp_path / "urls.txt")] == ["/a", "/b"]


def test_comments_and_blank_lines_are_skipped(tmp_path):
    file = tmp_path / "urls.txt"
    file.write_text("# the shop\n\n  8 /list\n\t\n   # no\n1 /a#b\r\n", encoding="utf-8")
    assert [(line.weight, line.url) for line in read_url_file(file)] == [(8, "/list"), (1, "/a#b")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds no requests"),
        (b"# nothing\n\n", "holds no requests"),
        (b"/ok\n/a b\n", "line 2 of `{file}`: `/a` is followed by `b`, a body without a method"),
        (b"/ok\n\n-1 /x\n", "line 3 of `{file}`: `-1 /x` is not a request"),
        (b"POST / @none.txt\n", "line 1 of `{file}`: the body `@none.txt` cannot be read: no such"),
        (b"\xff\xfe/\n", "is not text in UTF-8"),
    ],
)
def test_what_is_wrong_with_a_file_is_told_with_its_line(tmp_path, content, words):
    file = tmp_path / "urls.txt"
    file.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        read_url_file(file)
    assert words.format(file=file) in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(UsageError, match="cannot be read: no such file"):
        read_url_file(tmp_path / "none")
    with pytest.raises(UsageError, match="cannot be read: it is a folder"):
        read_url_file(Path(tmp_path))


@each_row(
    ("text", "line"),
    [
        ("/i: /a.css /b.js", RequestLine(url="/i", objects=("/a.css", "/b.js"))),
        (
            "/i?u=http://h: /a?v=http://x",
            RequestLine(url="/i?u=http://h", objects=("/a?v=http://x",)),
        ),
        ("3 /i:   /a.css", RequestLine(url="/i", weight=3.0, objects=("/a.css",))),
        (
            "http://h:80/i: http://h:80/a /b",
            RequestLine(url="http://h:80/i", objects=("http://h:80/a", "/b")),
        ),
    ],
)
def test_a_page_is_a_document_and_its_objects(text, line):
    assert page_line(text) == line


@each_row(
    ("text", "words"),
    [
        ("/index.html", "names no objects"),
        ("/index.html:", "names no objects"),
        ("", "names no objects"),
        (": /a.css", "is not a page"),
        ("-1 /i: /a", "is not a page"),
        ("/i:/a.css", "is not a page"),
    ],
)
def test_a_page_without_objects_is_none(text, words):
    with pytest.raises(UsageError, match=words) as caught:
        page_line(text)
    assert f"`{text}`" in str(caught.value)
    assert "/index.html: /a.css" in caught.value.hint


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/full", "fifo", "a\0b", "x" * 5000])
def test_what_is_no_file_is_neither_read_nor_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(UsageError, match="cannot be read"):
        read_url_file(tmp_path / name)
    with pytest.raises(UsageError, match="cannot be read"):
        request_line(f"POST / @{name}", tmp_path)


def test_a_weight_of_hundreds_of_digits_is_none(tmp_path):
    with pytest.raises(UsageError, match="a weight of 400 digits"):
        request_line(f"{'9' * 400} /", tmp_path)


@pytest.mark.parametrize("text", ["/x -> 30", "/x -> 3000", "POST /x -> found"])
def test_a_status_that_is_none_is_no_body(text, tmp_path):
    with pytest.raises(UsageError, match="expects no status that there is"):
        request_line(text, tmp_path)


def test_a_first_step_is_a_line_without_a_weight(tmp_path):
    line = first_line("POST /login name=user{user} -> 302", tmp_path)
    assert (line.method, line.body, line.expect_status) == ("POST", "name=user{user}", "302")
    with pytest.raises(UsageError, match="has a weight, but each user does it once"):
        first_line("2 /login", tmp_path)
    with pytest.raises(UsageError, match="`login` is not a request") as caught:
        first_line("login", tmp_path)
    assert "-> 302" in caught.value.hint
