from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from httpdyno.errors import UsageError
from httpdyno.report.shared.message import hint_text
from httpdyno.servers.discover.source import (
    AddressSource,
    CommandSource,
    FileSource,
    GroupSource,
    KindSource,
    ProcessSource,
    ProcfileSource,
    UnitSource,
    parse_source,
)

HERE = Path("/srv/shop")


@each_row(
    ("words", "source"),
    [
        (["nginx"], KindSource("nginx")),
        (["apache2"], KindSource("apache")),
        (["httpd"], KindSource("apache")),
        (["php8.2-fpm"], KindSource("php-fpm")),
        (["php-fpm8.2"], KindSource("php-fpm")),
        (["/etc/nginx/nginx.conf"], FileSource(Path("/etc/nginx/nginx.conf"))),
        (["./conf/nginx.conf"], FileSource(HERE / "conf/nginx.conf")),
        (["unit:shop"], UnitSource("shop.service")),
        (["unit:shop.service"], UnitSource("shop.service")),
        (["unit:gunicorn@shop.example"], UnitSource("gunicorn@shop.example.service")),
        (["shop.service"], UnitSource("shop.service")),
        (["cgroup:/system.slice/shop.service"], GroupSource("/system.slice/shop.service")),
        (["cgroup:/docker/a b/"], GroupSource("/docker/a b")),
        (["pid:1234"], ProcessSource(1234)),
        ([":8080"], AddressSource("", 8080)),
        (["*:8080"], AddressSource("", 8080)),
        (["127.0.0.1:8080"], AddressSource("127.0.0.1", 8080)),
        (["[::1]:8080"], AddressSource("::1", 8080)),
        (["localhost:80"], AddressSource("localhost", 80)),
        (["unix:/run/shop.sock"], AddressSource("/run/shop.sock", 0)),
        (["node", "server.js"], CommandSource(("node", "server.js"), HERE)),
        (["pid:1", "x"], CommandSource(("pid:1", "x"), HERE)),
        *(
            ([text], FileSource(HERE / text, CommandSource(words, HERE)))
            for text, words in [
                ("node server.js", ("node", "server.js")),
                (
                    "venv/bin/gunicorn 'shop:create_app()'",
                    ("venv/bin/gunicorn", "shop:create_app()"),
                ),
                (
                    "gunicorn -b tcp://127.0.0.1:80 a:b",
                    ("gunicorn", "-b", "tcp://127.0.0.1:80", "a:b"),
                ),
            ]
        ),
        (["node 'x"], FileSource(HERE / "node 'x")),
        (["a b/Procfile:worker"], ProcfileSource(HERE / "a b/Procfile", "worker")),
        (["Procfile"], ProcfileSource(HERE / "Procfile", "")),
        (["/srv/api/Procfile.dev:worker"], ProcfileSource(Path("/srv/api/Procfile.dev"), "worker")),
    ],
)
def test_what_words_mean(words, source):
    assert parse_source(words, HERE) == source


@each_row(
    ("word", "hint"),
    [
        ("", "a kind such as"),
        ("8080", "`pid:8080` is a process, `:8080` whoever listens there"),
        ("http://127.0.0.1:80/", "`httpdyno load` takes URLs"),
        ("pid:x", "such as"),
        ("pid:0", "such as"),
        ("pid:99999999999", "such as"),
        (":0", "1 to 65535"),
        (":65536", "1 to 65535"),
        ("unit:../x", "such as"),
        ("unit:", "such as"),
        ("unix:shop.sock", "such as"),
        *((f"cgroup:{path}", "such as") for path in ("", "/", "shop", "/a/../b", "/a//b")),
    ],
)
def test_words_that_mean_nothing_say_what_they_could_be(word, hint):
    with pytest.raises(UsageError) as caught:
        parse_source([word], HERE)
    assert hint in hint_text(caught.value)


@given(st.lists(st.text(max_size=12), max_size=3))
def test_any_words_are_a_source_or_refused_by_name(words):
    with suppress(UsageError):
        parse_source(words, HERE)


@given(st.ip_addresses(), st.integers(1, 65535))
def test_an_address_is_read_back_as_it_is_written(host, port):
    source = AddressSource(str(host), port)
    if not host.is_unspecified:
        assert parse_source([str(source)], HERE) == source
